"""A joint that is known from both sides: where two spheres meet. FABRIK-CGA 3.3, and 3.4.2.2 for the nearest point."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def between(one: Floats, radius: float, other: Floats, other_radius: float, near: Floats, *, aside: Floats) -> Floats:
    """(R, 3) the point at `radius` from `one` and `other_radius` from `other`, all (R, 3) m, that is nearest to `near`.

    The spheres meet in a circle, or touch in a point. Where they do not meet it is the mid-point of the two centres.
    From the axis of the circle all of it is as near: then the direction `aside` (R, 3) chooses.
    """
    way = other - one
    distance = _length(way)
    axis = way / np.maximum(distance, 1e-300)
    meet = (distance <= radius + other_radius) & (distance >= np.abs(radius - other_radius)) & (distance > 1e-12)
    # d² + r² − s² over 2d: how far along the centres the circle's plane is.
    along = (distance**2 + radius**2 - other_radius**2) / np.maximum(2 * distance, 1e-300)
    size = np.sqrt(np.maximum(radius**2 - along**2, 0.0))
    reach = 1e-9 * max(radius, 1e-300)
    out = _square(near - one, axis)
    far = _length(out)
    spare = _square(aside, axis)
    out = np.where(far > reach, out / np.maximum(far, 1e-300), spare / np.maximum(_length(spare), 1e-300))
    return np.where(meet, one + along * axis + size * out, (one + other) / 2)


def _length(vector: Floats) -> Floats:
    length: Floats = np.linalg.norm(vector, axis=-1, keepdims=True)
    return length


def _square(vector: Floats, axis: Floats) -> Floats:
    """What of vectors (R, 3) is square on unit axes (R, 3)."""
    part: Floats = vector - (vector * axis).sum(-1, keepdims=True) * axis
    return part
