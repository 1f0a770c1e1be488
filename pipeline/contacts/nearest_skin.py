"""Find the points of a moving skin that are nearest to a surface, without measuring all points in all frames.

A point's distance changes by no more than the point moves. Distances measured in some frames therefore bound those in
the frames between, where only points that may be among the nearest are measured.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contact_surface import ContactSurface

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FRAME_STEP = 16
"""Frames between measurements of all points."""
MAX_POINTS = 48
"""Number of skin points that are constrained in one batch, those nearest to the surface."""
POINTS_PER_DIGIT = 16
"""Minimum number of constrained points of each digit."""


@dataclass(frozen=True, slots=True, eq=False)
class NearSkin:
    """The points of a skin that are nearest to a surface, in F frames."""

    columns: Ints
    """(C,) indices of the points in the skin."""
    feet: Floats
    """(F, C, 3) m, the nearest points of the surface."""
    outwards: Floats
    """(F, C, 3) unit, outward directions of the surface at its nearest points."""
    distances: Floats
    """(F, C) m, negative inside."""


def nearest_skin(surface: ContactSurface, points: Floats, is_held: Bools, digit: Ints, within: float) -> NearSkin:
    """Return the points of a skin that are nearest to a surface.

    Args:
        surface: the surface.
        points: (F, V, 3) m, relative to the surface. is_held: (F,) the frames in which distances are compared. digit:
            (V,) digit of each point. within: m, maximum distance from the surface in some of these frames.
    """
    held_points = points[is_held]
    if not len(held_points):
        nothing = np.empty((len(points), 0, 3))
        return NearSkin(np.empty(0, int), nothing, nothing, nothing[..., 0])
    low, high = _bounds(surface, held_points)
    columns = np.flatnonzero(low <= np.minimum(_nearest_limits(high, digit), within))
    nearest_points, outwards, distances = _measured(surface, points[:, columns])
    min_distances = distances[is_held].min(axis=0)
    order = np.argsort(min_distances, kind="stable")
    per_digit = [order[digit[columns[order]] == number][:POINTS_PER_DIGIT] for number in np.unique(digit)]
    indices = order[np.isin(order, np.concatenate([order[:MAX_POINTS], *per_digit]))]
    indices = indices[min_distances[indices] < within]
    return NearSkin(columns[indices], nearest_points[:, indices], outwards[:, indices], distances[:, indices])


def min_distance(surface: ContactSurface, points: Floats) -> float:
    """Return the minimum distance (m) of points (F, V, 3) m from a surface, negative inside; 0 if there are no
    points."""
    if not points.size:
        return 0.0
    low, high = _bounds(surface, points)
    return float(_measured(surface, points[:, low <= high.min()])[2].min())


def _bounds(surface: ContactSurface, points: Floats) -> tuple[Floats, Floats]:
    """Return lower and upper bounds (V,) m on the distance of points (F, V, 3) from a surface."""
    keys = np.unique([*range(FRAME_STEP // 2, len(points), FRAME_STEP), len(points) - 1])
    nearest = np.abs(np.arange(len(points))[:, None] - keys).argmin(axis=1)
    distances = _measured(surface, points[keys])[2]
    movement = np.linalg.norm(points - points[keys][nearest], axis=-1)
    return (distances[nearest] - movement).min(axis=0), distances.min(axis=0)


def _nearest_limits(distances: Floats, digit: Ints) -> Floats:
    """Return the maximum distance (V,) from a surface at which a point is one of the nearest."""
    max_distances = np.full(len(distances), np.sort(distances)[:MAX_POINTS][-1])
    for number in np.unique(digit):
        digit_points = np.flatnonzero(digit == number)
        max_distances[digit_points] = np.maximum(
            max_distances[digit_points], np.sort(distances[digit_points])[:POINTS_PER_DIGIT][-1]
        )
    return max_distances


def _measured(surface: ContactSurface, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Apply ContactSurface.nearest to points (F, V, 3); results have shapes (F, V, ...)."""
    nearest_points, outwards, distances = surface.nearest(points.reshape(-1, 3))
    return nearest_points.reshape(points.shape), outwards.reshape(points.shape), distances.reshape(points.shape[:2])
