"""A joint that is known from both sides: where two spheres meet. FABRIK-CGA 3.3, and 3.4.2.2 for the nearest point."""

import numpy as np
from numpy.typing import NDArray

from . import limits

Floats = NDArray[np.float64]


def between(one: Floats, radius: float | Floats, other: Floats, other_radius: float | Floats, near: Floats) -> Floats:
    """(R, 3) the point at `radius` from `one` and `other_radius` from `other`, all (R, 3) m, that is nearest to `near`.

    The spheres meet in a circle, or touch in a point. Where they do not meet it is the mid-point of the two centres.
    """
    way = other - one
    distance = np.linalg.norm(way, axis=-1, keepdims=True)
    axis = way / np.maximum(distance, 1e-300)
    radius, other_radius = np.broadcast_to(radius, distance.shape), np.broadcast_to(other_radius, distance.shape)
    meet = (distance <= radius + other_radius) & (distance >= np.abs(radius - other_radius)) & (distance > 1e-12)
    # d² + r² − s² over 2d: how far along the centres the circle's plane is.
    along = (distance**2 + radius**2 - other_radius**2) / np.maximum(2 * distance, 1e-300)
    size = np.sqrt(np.maximum(radius**2 - along**2, 0.0))
    aside = near - one
    aside = aside - (aside * axis).sum(-1, keepdims=True) * axis
    length = np.linalg.norm(aside, axis=-1, keepdims=True)
    # On the axis every point of the circle is as near: one is chosen by the axis alone.
    other_way = limits.cross(axis, np.eye(3)[np.abs(axis).argmin(-1)])
    other_way = other_way / np.maximum(np.linalg.norm(other_way, axis=-1, keepdims=True), 1e-300)
    aside = np.where(length > 1e-9 * radius, aside / np.maximum(length, 1e-300), other_way)
    return np.where(meet, one + along * axis + size * aside, (one + other) / 2)
