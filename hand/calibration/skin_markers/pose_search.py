"""Find the most likely pose of each frame from several starts.

The start that shows the markers best is not always in the valley of the best pose: a little finger's tip can be left
beside a straight finger as a marker that slipped. Frames in which a marker lost half of its weight are therefore
searched from every start, each digit is taken from the search that shows its markers best, and the hand is searched
once more from there.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .pose_fit import (
    CAUCHY_THRESHOLD_SQUARED,
    PoseModel,
    Poses,
    VisibleMarkers,
    costs,
    fit_poses,
    marker_squares,
)
from .pose_starts import begin_at, best_digits, best_start

Floats = NDArray[np.float64]


def search_poses(
    model: PoseModel, starts: Sequence[Floats], seen: VisibleMarkers, passes: int, tolerance: float = 1e-4
) -> Poses:
    """Return the poses of F frames.

    Args:
        model: the hand, its noise and prior.
        starts: angles rad, (D,) or (F, D) each.
        seen: the markers.
        passes: most steps of a search.
        tolerance: relative decrease of a frame's cost below which its search ends.
    """
    counting = np.ones(len(model.sharpness), bool)
    poses, _ = fit_poses(model, best_start(model, starts, seen, counting), seen, passes, tolerance)
    doubtful = np.flatnonzero((marker_squares(model, poses, seen) > CAUCHY_THRESHOLD_SQUARED).any(axis=0))
    if not len(doubtful):
        return poses
    seen = seen.select(doubtful)
    found = [poses.select(doubtful)]
    for start in starts:
        begun, _ = begin_at(model, start if start.ndim == 1 else start[doubtful], seen, counting)
        found.append(fit_poses(model, begun, seen, passes, tolerance)[0])
    losses = np.log1p(np.stack([marker_squares(model, each, seen) for each in found]) / CAUCHY_THRESHOLD_SQUARED)
    composed = replace(found[0], angles=best_digits(model, found[0], found, losses))
    found.append(fit_poses(model, composed, seen, passes, tolerance)[0])
    best = np.argmin([costs(model, each, seen) for each in found], axis=0)
    for number, each in enumerate(found):
        chosen = np.flatnonzero(best == number)
        poses.assign(doubtful[chosen], each.select(chosen))
    return poses
