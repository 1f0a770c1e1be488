"""The axes of devices, as Blender has them: right-handed, Z up, metres, quaternions wxyz.

A change of axes is a matrix M with M · v in Blender's axes; a rotation R of the device is M · R · Mᵀ in them, which for
a left-handed device holds as well: M mirrors, and mirrors back.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def unity_points(points: Floats) -> Floats:
    """(..., 3) of Unity's left-handed, Y up: (x, y, z) is (−x, −z, y)."""
    result: Floats = np.stack([-points[..., 0], -points[..., 2], points[..., 1]], axis=-1)
    return result


def unity_turns(xyzw: Floats) -> Floats:
    """(..., 4) wxyz of Unity's x, y, z, w: the vector part turns as points do, and once more for the mirror."""
    x, y, z, w = np.moveaxis(xyzw, -1, 0)
    result: Floats = np.stack([w, x, z, -y], axis=-1)
    return result


def to_unity_points(points: Floats) -> Floats:
    """(..., 3) the inverse of unity_points."""
    result: Floats = np.stack([-points[..., 0], points[..., 2], -points[..., 1]], axis=-1)
    return result


def to_unity_turns(wxyz: Floats) -> Floats:
    """(..., 4) x, y, z, w: the inverse of unity_turns."""
    w, x, y, z = np.moveaxis(wxyz, -1, 0)
    result: Floats = np.stack([x, -z, y, w], axis=-1)
    return result


def y_up_points(points: Floats) -> Floats:
    """(..., 3) of right-handed, Y up: (x, y, z) is (x, −z, y)."""
    result: Floats = np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)
    return result


def y_up_turns(xyzw: Floats) -> Floats:
    """(..., 4) wxyz of right-handed, Y up x, y, z, w."""
    x, y, z, w = np.moveaxis(xyzw, -1, 0)
    result: Floats = np.stack([w, x, -z, y], axis=-1)
    return result


def to_y_up_points(points: Floats) -> Floats:
    """(..., 3) the inverse of y_up_points."""
    result: Floats = np.stack([points[..., 0], points[..., 2], -points[..., 1]], axis=-1)
    return result


def to_y_up_turns(wxyz: Floats) -> Floats:
    """(..., 4) x, y, z, w: the inverse of y_up_turns."""
    w, x, y, z = np.moveaxis(wxyz, -1, 0)
    result: Floats = np.stack([x, z, -y, w], axis=-1)
    return result
