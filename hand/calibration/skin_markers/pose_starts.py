"""Where the search for a hand's pose starts: typical poses, fitted rigidly to the markers, and chosen for each digit.

A finger that points while the others are a fist would otherwise start from a fist, too, and stay bent the wrong way
where a marker is hidden.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .chain import MarkerPositions, marker_positions
from .pose_fit import PoseModel, Poses, VisibleMarkers, costs_at, squared, whitened_residuals
from .skin_fit import COLUMNS, DOFS, HAS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def align_to_markers(angles: Floats, markers: MarkerPositions, seen: VisibleMarkers, counting: Bools) -> Poses:
    """Fit a hand at angles (F, D) rigidly to its markers in each frame (Kabsch).

    Those in `counting` (M,) have equal weights, the others none. markers: as in whitened_residuals.
    """
    positions = markers.positions.transpose(2, 1, 0)
    weights = (seen.visible & counting)[..., None].astype(float)
    total = np.maximum(weights.sum(axis=1), 1.0)
    mean, target_mean = (positions * weights).sum(axis=1) / total, (seen.positions * weights).sum(axis=1) / total
    products = ((seen.positions - target_mean[:, None]) * weights).swapaxes(1, 2) @ (positions - mean[:, None])
    u, _, vt = np.linalg.svd(products)
    u[..., 2] *= np.linalg.det(u @ vt)[:, None]
    rotations = u @ vt
    return Poses(rotations, target_mean - np.einsum("fij,fj->fi", rotations, mean), angles)


def best_start(model: PoseModel, starts: Iterable[Floats], seen: VisibleMarkers, counting: Bools) -> Poses:
    """Choose for each frame the best of several starts, fitted rigidly to the markers, and then for each digit.

    Args:
        model: the hand, its noise and prior.
        starts: angles rad, (D,) or (F, D) each.
        seen: the markers.
        counting: (M,) the markers to fit.
    """
    placed_starts = [begin_at(model, start, seen, counting) for start in starts]
    best = placed_starts[0][0].copy()
    least = costs_at(model, best, seen, placed_starts[0][1])
    for trial, markers in placed_starts[1:]:
        cost = costs_at(model, trial, seen, markers)
        better = np.flatnonzero(cost < least)
        best.assign(better, trial.select(better))
        least = np.minimum(least, cost)
    squares = np.stack([squared(whitened_residuals(model, best, seen, markers)) for _, markers in placed_starts])
    angles = best_digits(model, best, [trial for trial, _ in placed_starts], squares)
    return align_to_markers(angles, marker_positions(model.shape, angles), seen, counting)


def begin_at(model: PoseModel, start: Floats, seen: VisibleMarkers, counting: Bools) -> tuple[Poses, MarkerPositions]:
    """Fit a hand at a start's angles (D,) or (F, D) rad rigidly to the markers.

    Returns:
        The poses of F frames, and the markers of the start, of one frame or F.
    """
    angles = np.clip(np.atleast_2d(start), *model.limits.T)
    markers = marker_positions(model.shape, angles)
    return align_to_markers(np.broadcast_to(angles, (len(seen), DOFS)).copy(), markers, seen, counting), markers


def best_digits(model: PoseModel, poses: Poses, candidates: Sequence[Poses], costs: Floats) -> Floats:
    """Return angles (F, D) with each digit from that of K poses in which its markers cost least.

    A digit whose markers cost the same in all of them, such as one that is not seen, stays as it is in `poses`.

    costs: (K, M, F) of the markers.
    """
    angles, candidate_angles = poses.angles.copy(), np.stack([candidate.angles for candidate in candidates])
    for digit, (columns, has) in enumerate(zip(COLUMNS, HAS, strict=True)):
        cost = costs[:, model.shape.digits == digit].sum(axis=1)
        frames = np.flatnonzero(cost.min(axis=0) < cost.max(axis=0))
        digit_columns = columns[has]
        angles[np.ix_(frames, digit_columns)] = candidate_angles[cost.argmin(axis=0)[frames], frames][:, digit_columns]
    return angles
