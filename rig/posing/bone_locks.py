"""Bones put back to rest; what a person has locked of them stays."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from .. import rotation_channels

if TYPE_CHECKING:
    from bpy.types import PoseBone

Floats = NDArray[np.float64]

REST = {"QUATERNION": (1.0, 0.0, 0.0, 0.0), "AXIS_ANGLE": (0.0, 0.0, 1.0, 0.0)}
"""Of a rotation mode; Euler angles are zero."""


def turn(bone: "PoseBone", values: Floats) -> Floats:
    """What to set a bone's rotation to, of values (4,) or (3,) in its own mode: all but what is locked.

    Blender locks modes of four numbers by their XYZ angles, or with *4D* the parts of the quaternion, of which the
    others then make the whole one long.
    """
    mode, locked = bone.rotation_mode, np.array(bone.lock_rotation)
    whole = bone.lock_rotation_w if bone.lock_rotations_4d else False
    if not locked.any() and not whole:
        return values
    now = np.array(getattr(bone, rotation_channels.channel(mode)))
    if mode in rotation_channels.EULER_ORDERS:
        return _kept(now, values, locked)
    before, wanted = _turn(now, mode), _turn(values, mode)
    if bone.lock_rotations_4d:
        # The axis of axis and angle points along Y at rest: its Y says nothing.
        merged = _merged(before, wanted, np.array([whole, locked[0], locked[1] and mode == "QUATERNION", locked[2]]))
    else:
        turned = rotation_channels.least_eulers(rot.to_matrix(before[None]), "XYZ")
        meant = rotation_channels.eulers(rot.to_matrix(wanted[None]), "XYZ", turned[0])
        merged = rot.from_matrix(rotation_channels.of_eulers(np.where(locked, turned, meant), "XYZ"))[0]
    return rotation_channels.nearest(merged, mode, now)


def to_rest(bone: "PoseBone") -> None:
    """Puts a bone back to rest, as Blender's Clear Transforms does."""
    mode = bone.rotation_mode
    bone.location = _kept(bone.location, np.zeros(3), bone.lock_location).tolist()
    bone.scale = _kept(bone.scale, np.ones(3), bone.lock_scale).tolist()
    setattr(bone, rotation_channels.channel(mode), turn(bone, np.array(REST.get(mode, (0.0, 0.0, 0.0)))))


def _kept(now: Any, values: Floats, locked: Any) -> Floats:
    result: Floats = np.where(np.array(locked), np.array(now), values)
    return result


def _merged(before: Floats, wanted: Floats, locked: NDArray[np.bool_]) -> Floats:
    """(4,) a unit quaternion with the locked parts of one, and the others in the proportions of another."""
    wanted = wanted * (-1.0 if wanted @ before < 0 else 1.0)
    free = np.where(locked, 0.0, wanted)
    size, left = np.linalg.norm(free), 1.0 - float(np.sum(before[locked] ** 2))
    if not size > 1e-9 or not left > 0:
        return before
    return _kept(before, free * (np.sqrt(left) / size), locked)


def _turn(values: Floats, mode: str) -> Floats:
    """(4,) a unit quaternion, of a quaternion or an angle and its axis (4,)."""
    if mode == "AXIS_ANGLE":
        angle, axis = values[0], values[1:] / max(float(np.linalg.norm(values[1:])), 1e-9)
        return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])
    size = float(np.linalg.norm(values))
    return values / size if size > 0 else np.array(rot.IDENTITY)
