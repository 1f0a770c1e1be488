"""A joint between two joints of known position: where two spheres intersect. FABRIK-CGA 3.3, nearest point 3.4.2.2."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def nearest_on_spheres(
    centre: Floats, radius: float, other_centre: Floats, other_radius: float, near: Floats, *, aside: Floats
) -> Floats:
    """Return the point (R, 3) m nearest to `near` on two spheres about `centre` and `other_centre`, all (R, 3) m.

    The spheres intersect in a circle, or touch in a point. If they do not, it is the midpoint of their centres. If
    `near` is on the circle's axis, all of the circle is equally near, and the direction `aside` (R, 3) decides.
    """
    between = other_centre - centre
    distance = _length(between)
    axis = between / np.maximum(distance, 1e-300)
    meet = (distance <= radius + other_radius) & (distance >= np.abs(radius - other_radius)) & (distance > 1e-12)
    # (d² + r² − s²) / 2d: the distance of the circle's plane from the first centre.
    along = (distance**2 + radius**2 - other_radius**2) / np.maximum(2 * distance, 1e-300)
    size = np.sqrt(np.maximum(radius**2 - along**2, 0.0))
    tolerance = 1e-9 * max(radius, 1e-300)
    direction = _perpendicular(near - centre, axis)
    length = _length(direction)
    fallback = _perpendicular(aside, axis)
    fallback = fallback / np.maximum(_length(fallback), 1e-300)
    direction = np.where(length > tolerance, direction / np.maximum(length, 1e-300), fallback)
    return np.where(meet, centre + along * axis + size * direction, (centre + other_centre) / 2)


def _length(vector: Floats) -> Floats:
    length: Floats = np.linalg.norm(vector, axis=-1, keepdims=True)
    return length


def _perpendicular(vector: Floats, axis: Floats) -> Floats:
    """Return the component of vectors (R, 3) perpendicular to unit axes (R, 3)."""
    part: Floats = vector - (vector * axis).sum(-1, keepdims=True) * axis
    return part
