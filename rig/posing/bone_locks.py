"""Put bones back to rest, except for their locked channels."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from .. import rotation_channels

if TYPE_CHECKING:
    from bpy.types import PoseBone

Floats = NDArray[np.float64]

REST = {"QUATERNION": (1.0, 0.0, 0.0, 0.0), "AXIS_ANGLE": (0.0, 0.0, 1.0, 0.0)}
"""Rotation mode -> its values at rest; Euler angles are zero."""


def with_locked_channels(bone: "PoseBone", values: Floats) -> Floats:
    """Return a rotation (4,) or (3,) in a bone's own mode, with the locked components at their current values.

    In modes with four numbers Blender locks the XYZ angles, or with *4D* the components of the quaternion. The free
    components are then scaled so that the quaternion has unit length.
    """
    mode, locked = bone.rotation_mode, np.array(bone.lock_rotation)
    whole = bone.lock_rotation_w if bone.lock_rotations_4d else False
    if not locked.any() and not whole:
        return values
    present = np.array(getattr(bone, rotation_channels.channel(mode)))
    if mode in rotation_channels.EULER_ORDERS:
        return _with_locked(present, values, locked)
    before, target = _unit_quaternion(present, mode), _unit_quaternion(values, mode)
    if bone.lock_rotations_4d:
        # At rest, the axis of an axis-angle rotation is Y, so a locked Y constrains nothing.
        merged = _merged(before, target, np.array([whole, locked[0], locked[1] and mode == "QUATERNION", locked[2]]))
    else:
        current_angles = rotation_channels.smallest_eulers(rot.to_matrix(before[None]), "XYZ")
        target_angles = rotation_channels.eulers(rot.to_matrix(target[None]), "XYZ", current_angles[0])
        merged = rot.from_matrix(rotation_channels.from_eulers(np.where(locked, current_angles, target_angles), "XYZ"))[
            0
        ]
    return rotation_channels.nearest_values(merged, mode, present)


def to_rest(bone: "PoseBone") -> None:
    """Put a bone back to rest, as Blender's Clear Transforms does."""
    mode = bone.rotation_mode
    bone.location = _with_locked(bone.location, np.zeros(3), bone.lock_location).tolist()
    bone.scale = _with_locked(bone.scale, np.ones(3), bone.lock_scale).tolist()
    setattr(
        bone, rotation_channels.channel(mode), with_locked_channels(bone, np.array(REST.get(mode, (0.0, 0.0, 0.0))))
    )


def _with_locked(present: Any, values: Floats, locked: Any) -> Floats:
    result: Floats = np.where(np.array(locked), np.array(present), values)
    return result


def _merged(before: Floats, target: Floats, locked: NDArray[np.bool_]) -> Floats:
    """Return a unit quaternion (4,): locked components are those of `before`, the others in the ratio of `target`."""
    target = target * (-1.0 if target @ before < 0 else 1.0)
    free = np.where(locked, 0.0, target)
    size, free_norm_squared = np.linalg.norm(free), 1.0 - float(np.sum(before[locked] ** 2))
    if not size > 1e-9 or not free_norm_squared > 0:
        return before
    return _with_locked(before, free * (np.sqrt(free_norm_squared) / size), locked)


def _unit_quaternion(values: Floats, mode: str) -> Floats:
    """Return the unit quaternion (4,) of a quaternion or an angle and axis (4,)."""
    if mode == "AXIS_ANGLE":
        angle, axis = values[0], values[1:] / max(float(np.linalg.norm(values[1:])), 1e-9)
        return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])
    size = float(np.linalg.norm(values))
    return values / size if size > 0 else np.array(rot.IDENTITY)
