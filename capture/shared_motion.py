"""A marker's path without the motion that the markers around it share.

A hand that flips over between two frames moves all of its markers far from their paths. Relative to the hand, whose
motion the markers around it show, each marker stays on its path.
"""

import numpy as np

from ..hand import rotations as rot
from .markers import Floats

NEIGHBOURS, MIN_NEIGHBOURS, NEIGHBOUR_DISTANCE_M = 8, 4, 0.15
"""Maximum and minimum markers that determine the motion around a marker, and their maximum distance from it."""
REST_M = 0.001
"""m, weight against rotation: markers determine a rotation only if their extent is larger than about this. Collinear
markers do not determine it fully."""
OUTLIER = 2.0
"""Neighbours whose distance from the shared motion is more than this many times the median are left out."""


def path_in_hand(positions: Floats, column: int, at: int) -> Floats | None:
    """Return a marker's path (W, 3) m relative to its hand, which is held at its pose in one of the frames.

    None if fewer than MIN_NEIGHBOURS are near and seen in all frames.

    Args:
        positions: (W, M, 3) m of all markers, NaN where one was not seen.
        column: column of the marker, which is seen in all frames. at: row of the frame in which the hand stays.
    """
    distances = np.median(np.linalg.norm(positions - positions[:, [column]], axis=-1), axis=0)
    distances[column] = np.nan
    near = np.flatnonzero(distances < NEIGHBOUR_DISTANCE_M)
    if len(near) < MIN_NEIGHBOURS:
        return None
    near = near[np.argsort(distances[near], kind="stable")[:NEIGHBOURS]]
    before = positions[:, near]
    after = np.broadcast_to(before[at], before.shape)
    deviations = np.linalg.norm(after - _moved(before, after, np.ones(before.shape[:2]), before), axis=-1)
    inliers = (deviations <= OUTLIER * np.median(deviations, axis=1, keepdims=True)).astype(float)
    return _moved(before, after, inliers, positions[:, [column]])[:, 0]


def _moved(before: Floats, after: Floats, weights: Floats, points: Floats) -> Floats:
    """Return points (W, N, 3) m moved by the motion from points before (W, K, 3) to points after, weighted by weights
    (W, K).

    The least-squares rigid motion, Kabsch 1976, with a weight against rotation.
    """
    normalised = (weights / weights.sum(axis=1, keepdims=True))[..., None]
    start, end = ((normalised * positions).sum(axis=1, keepdims=True) for positions in (before, after))
    moments = (normalised * (after - end)).swapaxes(1, 2) @ (before - start) + REST_M**2 * np.eye(3)
    moved: Floats = (points - start) @ rot.nearest_rotation(moments).swapaxes(1, 2) + end
    return moved
