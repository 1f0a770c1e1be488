"""A marker's path relative to its hand, whose motion is estimated from nearby markers.

If a hand flips over between two frames, all of its markers leave their paths, but not relative to the hand.
"""

import numpy as np

from ..hand import rotations as rot
from .markers import Floats

NEIGHBOURS, MIN_NEIGHBOURS, NEIGHBOUR_DISTANCE_M = 8, 4, 0.15
"""Maximum and minimum number of neighbours from which a marker's hand is estimated, and their maximum distance in m."""
ROTATION_REGULARISATION_M = 0.001
"""m, regularisation towards no rotation: neighbours determine a rotation only if their extent is larger than this."""
OUTLIER_RATIO = 2.0
"""Ratio of a neighbour's deviation from the shared motion to the median deviation above which it is excluded."""


def path_in_hand(positions: Floats, column: int, reference: int) -> Floats | None:
    """Return a marker's path (W, 3) m relative to its hand, which keeps its pose in one of the frames.

    None if fewer than MIN_NEIGHBOURS are near the marker and seen in all frames.

    Args:
        positions: (W, M, 3) m of all markers, NaN where not seen.
        column: column of the marker, which is seen in all frames.
        reference: row of the frame whose pose the hand keeps.
    """
    distances = np.median(np.linalg.norm(positions - positions[:, [column]], axis=-1), axis=0)
    distances[column] = np.nan
    neighbours = np.flatnonzero(distances < NEIGHBOUR_DISTANCE_M)
    if len(neighbours) < MIN_NEIGHBOURS:
        return None
    neighbours = neighbours[np.argsort(distances[neighbours], kind="stable")[:NEIGHBOURS]]
    source = positions[:, neighbours]
    target = np.broadcast_to(source[reference], source.shape)
    deviations = np.linalg.norm(target - _align(source, target, np.ones(source.shape[:2]), source), axis=-1)
    inliers = (deviations <= OUTLIER_RATIO * np.median(deviations, axis=1, keepdims=True)).astype(float)
    return _align(source, target, inliers, positions[:, [column]])[:, 0]


def _align(source: Floats, target: Floats, weights: Floats, points: Floats) -> Floats:
    """Transform points (W, N, 3) m by the rigid motion that brings `source` (W, K, 3) nearest to `target` (W, K, 3).

    Weighted least squares (Kabsch 1976), regularised towards no rotation. weights: (W, K).
    """
    normalised = (weights / weights.sum(axis=1, keepdims=True))[..., None]
    start, end = ((normalised * positions).sum(axis=1, keepdims=True) for positions in (source, target))
    moments = (normalised * (target - end)).swapaxes(1, 2) @ (source - start)
    rotations = rot.nearest_rotation(moments + ROTATION_REGULARISATION_M**2 * np.eye(3))
    aligned: Floats = (points - start) @ rotations.swapaxes(1, 2) + end
    return aligned
