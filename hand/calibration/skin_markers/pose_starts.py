"""Where the search for a hand's pose starts: typical poses, fitted rigidly to the markers, and chosen for each digit.

A finger that points while the others are a fist would otherwise start from a fist, too, and stay bent the wrong way
where a marker is hidden.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .chain import MarkerPositions, marker_positions
from .pose_fit import PoseModel, Poses, VisibleMarkers, costs_at, whitened_residuals
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
    left, _, right = np.linalg.svd(products)
    left[..., 2] *= np.linalg.det(left @ right)[:, None]
    rotations = left @ right
    return Poses(rotations, target_mean - np.einsum("fij,fj->fi", rotations, mean), angles)


def best_start(model: PoseModel, starts: Iterable[Floats], seen: VisibleMarkers, counting: Bools) -> Poses:
    """Choose for each frame the best of several starts, fitted rigidly to the markers, and then for each digit.

    Args:
        model: the hand, its noise and prior.
        starts: angles rad, (D,) or (F, D) each.
        seen: the markers.
        counting: (M,) the markers to fit.
    """
    tried = [np.clip(np.atleast_2d(start), *model.limits.T) for start in starts]
    posed = [marker_positions(model.shape, angles) for angles in tried]
    best: Poses | None = None
    least = np.full(len(seen), np.inf)
    for angles, markers in zip(tried, posed, strict=True):
        trial = align_to_markers(np.broadcast_to(angles, (len(seen), DOFS)).copy(), markers, seen, counting)
        cost = costs_at(model, trial, seen, markers)
        if best is None:
            best, least = trial, cost
            continue
        better = np.flatnonzero(cost < least)
        best.assign(better, trial.select(better))
        least = np.minimum(least, cost)
    assert best is not None
    angles = _best_digits(model, best, tried, posed, seen)
    return align_to_markers(angles, marker_positions(model.shape, angles), seen, counting)


def _best_digits(
    model: PoseModel, poses: Poses, tried: list[Floats], posed: list[MarkerPositions], seen: VisibleMarkers
) -> Floats:
    """Return angles (F, D) with each digit as in that start whose markers it shows best, the wrist being as in `poses`.

    tried: angles (1 or F, D) of the starts; `posed` are their markers.
    """
    angles = poses.angles.copy()
    squares = np.stack([np.sum(whitened_residuals(model, poses, seen, markers) ** 2, axis=0) for markers in posed])
    for digit, (columns, has) in enumerate(zip(COLUMNS, HAS, strict=True)):
        cost = squares[:, model.shape.digits == digit].sum(axis=1)
        best, own = cost.argmin(axis=0), columns[has]
        for number, start in enumerate(tried):
            frames = np.flatnonzero((best == number) & (cost[number] < cost.max(axis=0)))
            angles[np.ix_(frames, own)] = np.broadcast_to(start, angles.shape)[np.ix_(frames, own)]
    return angles
