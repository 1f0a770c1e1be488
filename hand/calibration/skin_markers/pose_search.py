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
from .skin_fit import COLUMNS, HAS

Floats = NDArray[np.float64]

CLEARLY_BETTER = CAUCHY_THRESHOLD_SQUARED * np.log(2.0)
"""Cost of a marker that has lost half of its weight: another pose is taken if it costs less by more than this."""


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
    candidates = [poses.select(doubtful)]
    for start in starts:
        start_poses, _ = begin_at(model, start if start.ndim == 1 else start[doubtful], seen, counting)
        candidates.append(fit_poses(model, start_poses, seen, passes, tolerance)[0])
    losses = np.log1p(
        np.stack([marker_squares(model, candidate, seen) for candidate in candidates]) / CAUCHY_THRESHOLD_SQUARED
    )
    composed = replace(candidates[0], angles=best_digits(model, candidates[0], candidates, losses))
    candidates.append(fit_poses(model, composed, seen, passes, tolerance)[0])
    best = np.argmin([costs(model, candidate, seen) for candidate in candidates], axis=0)
    for number, candidate in enumerate(candidates):
        rows = np.flatnonzero(best == number)
        poses.assign(doubtful[rows], candidate.select(rows))
    return poses


def search_digit(
    model: PoseModel,
    digit: int,
    pose: Poses,
    seen: VisibleMarkers,
    *,
    starts: Sequence[Floats],
    passes: int,
    tolerance: float = 1e-4,
) -> Poses | None:
    """Search one frame from other poses of a digit.

    Args:
        model: the hand, its noise and prior.
        digit: row in DIGITS.
        pose: the pose of the frame so far.
        seen: the markers of the frame.
        starts: angles rad, (D,) each, of which the digit's are taken.
        passes: most steps of a search.
        tolerance: relative decrease of the cost below which a search ends.

    Returns:
        A pose that is clearly better than `pose`; None if there is none.
    """
    count, digit_columns = 1 + len(starts), COLUMNS[digit, HAS[digit]]
    candidates = pose.select(np.zeros(count, np.intp))
    candidates.angles[1:, digit_columns] = np.clip(np.stack(starts), *model.limits.T)[:, digit_columns]
    fitted, cost = fit_poses(model, candidates, seen.select(np.zeros(count, np.intp)), passes, tolerance)
    best = int(cost.argmin())
    gain = costs(model, pose, seen)[0] - cost[best]
    return fitted.select(slice(best, best + 1)) if gain > CLEARLY_BETTER else None
