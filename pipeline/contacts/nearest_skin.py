"""The points of a moving skin that are nearest to a surface, found without measuring all of them in all frames.

A distance changes by no more than a point moves. So what is measured in some frames bounds it in those between, and
only points that may be among the nearest are measured there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contact_surface import ContactSurface

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

EVERY = 16
"""Frames from one in which all points are measured to the next."""
MAX_POINTS = 48
"""Points of the skin that are bounded at once, those that are nearest to the surface,"""
POINTS_OF_EACH = 16
"""and at least so many of each digit."""


@dataclass(frozen=True, slots=True, eq=False)
class NearSkin:
    """The points of a skin that are nearest to a surface, in F frames."""

    columns: Ints
    """(C,) which of its points."""
    feet: Floats
    """(F, C, 3) m, where the surface is nearest to them."""
    outwards: Floats
    """(F, C, 3) unit, the directions out of it there."""
    far: Floats
    """(F, C) m, negative in it."""


def nearest_skin(surface: ContactSurface, points: Floats, counts: Bools, digit: Ints, within: float) -> NearSkin:
    """Return the points of a skin that are nearest to a surface.

    Args:
        surface: the surface.
        points: (F, V, 3) m, beside it.
        counts: (F,) the frames that decide which are the nearest.
        digit: (V,) of each point.
        within: m from the surface, in some of these frames.
    """
    own = points[counts]
    if not len(own):
        nothing = np.empty((len(points), 0, 3))
        return NearSkin(np.empty(0, int), nothing, nothing, nothing[..., 0])
    low, high = _bounds(surface, own)
    columns = np.flatnonzero(low <= np.minimum(_nth_of_nearest(high, digit), within))
    feet, outwards, far = _measured(surface, points[:, columns])
    least = far[counts].min(axis=0)
    order = np.argsort(least, kind="stable")
    of_each = [order[digit[columns[order]] == number][:POINTS_OF_EACH] for number in np.unique(digit)]
    chosen = order[np.isin(order, np.concatenate([order[:MAX_POINTS], *of_each]))]
    chosen = chosen[least[chosen] < within]
    return NearSkin(columns[chosen], feet[:, chosen], outwards[:, chosen], far[:, chosen])


def least_distance(surface: ContactSurface, points: Floats) -> float:
    """Return how near points (F, V, 3) m of a skin come to a surface, m, negative in it; 0 for none."""
    if not points.size:
        return 0.0
    low, high = _bounds(surface, points)
    return float(_measured(surface, points[:, low <= high.min()])[2].min())


def _bounds(surface: ContactSurface, points: Floats) -> tuple[Floats, Floats]:
    """Return the least and the greatest distance (V,) m that points (F, V, 3) may come to from a surface."""
    keys = np.unique([*range(EVERY // 2, len(points), EVERY), len(points) - 1])
    nearest = np.abs(np.arange(len(points))[:, None] - keys).argmin(axis=1)
    far = _measured(surface, points[keys])[2]
    moved = np.linalg.norm(points - points[keys][nearest], axis=-1)
    return (far[nearest] - moved).min(axis=0), far.min(axis=0)


def _nth_of_nearest(far: Floats, digit: Ints) -> Floats:
    """Return for each point (V,) how far it may be from a surface, at most, to be one of the nearest."""
    most = np.full(len(far), np.sort(far)[:MAX_POINTS][-1])
    for number in np.unique(digit):
        own = np.flatnonzero(digit == number)
        most[own] = np.maximum(most[own], np.sort(far[own])[:POINTS_OF_EACH][-1])
    return most


def _measured(surface: ContactSurface, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the same as ContactSurface.nearest for points (F, V, 3), of shapes (F, V, ...)."""
    feet, outwards, far = surface.nearest(points.reshape(-1, 3))
    return feet.reshape(points.shape), outwards.reshape(points.shape), far.reshape(points.shape[:2])
