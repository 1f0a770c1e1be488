"""Find the most likely pose of each frame from several starts.

The start that shows the markers best is not always in the valley of the best pose: a little finger's tip can be left
beside a straight finger as a marker that slipped. Frames in which a marker lost half of its weight are therefore
searched from every start, each digit is taken from the search that shows its markers best, and the hand is searched
once more from there.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .chain import marker_positions
from .pose_fit import (
    CAUCHY_THRESHOLD_SQUARED,
    PoseModel,
    Poses,
    VisibleMarkers,
    costs,
    fit_poses,
    marker_squares,
)
from .pose_starts import align_to_markers, best_start
from .skin_fit import COLUMNS, HAS

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
        angles = np.clip(np.broadcast_to(start, poses.angles.shape)[doubtful], *model.limits.T)
        aligned = align_to_markers(angles, marker_positions(model.shape, angles), seen, counting)
        found.append(fit_poses(model, aligned, seen, passes, tolerance)[0])
    found.append(fit_poses(model, _best_digits(model, found, seen), seen, passes, tolerance)[0])
    best = np.argmin([costs(model, each, seen) for each in found], axis=0)
    for number, each in enumerate(found):
        chosen = np.flatnonzero(best == number)
        poses.assign(doubtful[chosen], each.select(chosen))
    return poses


def _best_digits(model: PoseModel, found: Sequence[Poses], seen: VisibleMarkers) -> Poses:
    """Return the poses (F) with each digit from those that show its markers best; the wrist is that of the first."""
    costs_of_markers = np.log1p(
        np.stack([marker_squares(model, poses, seen) for poses in found]) / CAUCHY_THRESHOLD_SQUARED
    )
    angles = found[0].angles.copy()
    for digit, (columns, has) in enumerate(zip(COLUMNS, HAS, strict=True)):
        best = costs_of_markers[:, model.shape.digits == digit].sum(axis=1).argmin(axis=0)
        own = columns[has]
        angles[:, own] = np.stack([poses.angles[:, own] for poses in found])[best, np.arange(len(angles))]
    return Poses(found[0].rotations, found[0].positions, angles)
