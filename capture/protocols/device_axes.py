"""Conversion of devices' axes to Blender's: right-handed, Z up, quaternions wxyz.

With a matrix M that maps the device's vectors v to M · v in Blender's axes, a rotation R becomes M · R · Mᵀ. This also
holds for left-handed devices, for which M is a reflection.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def unity_points(points: Floats) -> Floats:
    """Return (..., 3) from Unity's axes, left-handed, Y up: (x, y, z) becomes (−x, −z, y)."""
    result: Floats = np.stack([-points[..., 0], -points[..., 2], points[..., 1]], axis=-1)
    return result


def unity_rotations(xyzw: Floats) -> Floats:
    """Return (..., 4) wxyz from Unity's xyzw: the vector part is mapped like points, and negated for the reflection."""
    x, y, z, w = np.moveaxis(xyzw, -1, 0)
    result: Floats = np.stack([w, x, z, -y], axis=-1)
    return result


def to_unity_points(points: Floats) -> Floats:
    """Convert points (..., 3) to Unity's axes: the inverse of unity_points."""
    result: Floats = np.stack([-points[..., 0], points[..., 2], -points[..., 1]], axis=-1)
    return result


def to_unity_rotations(wxyz: Floats) -> Floats:
    """Convert rotations (..., 4) wxyz to Unity's xyzw: the inverse of unity_rotations."""
    w, x, y, z = np.moveaxis(wxyz, -1, 0)
    result: Floats = np.stack([x, -z, y, w], axis=-1)
    return result


def y_up_points(points: Floats) -> Floats:
    """Return (..., 3) from right-handed axes, Y up: (x, y, z) becomes (x, −z, y)."""
    result: Floats = np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)
    return result


def y_up_rotations(xyzw: Floats) -> Floats:
    """Return (..., 4) wxyz from xyzw in right-handed axes, Y up."""
    x, y, z, w = np.moveaxis(xyzw, -1, 0)
    result: Floats = np.stack([w, x, -z, y], axis=-1)
    return result


def to_y_up_points(points: Floats) -> Floats:
    """Convert points (..., 3) to right-handed axes, Y up: the inverse of y_up_points."""
    result: Floats = np.stack([points[..., 0], points[..., 2], -points[..., 1]], axis=-1)
    return result


def to_y_up_rotations(wxyz: Floats) -> Floats:
    """Convert rotations (..., 4) wxyz to xyzw in right-handed axes, Y up: the inverse of y_up_rotations."""
    w, x, y, z = np.moveaxis(wxyz, -1, 0)
    result: Floats = np.stack([x, z, -y, w], axis=-1)
    return result
