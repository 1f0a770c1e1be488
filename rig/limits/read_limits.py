"""Read a rig's own limits on bone rotations: constraints, IK limits and locks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ..rotation_channels import EULER_ORDERS
from .bone_limits import AxisRanges, BoneLimits, Order, locked_ranges, merged

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

Floats = NDArray[np.float64]

HALF_TURN = np.pi - 1e-4
"""rad, slightly less than pi: a rotation by exactly pi may be read as −pi."""


def read_limits(armature: "Object", bones: Iterable[str]) -> dict[str, BoneLimits]:
    """Return bone -> limits for the bones that have limits.

    Raises RigError for a constraint whose minimum is above its maximum.
    """
    bone_limits = (_bone_limits(armature, armature.pose.bones[name]) for name in bones)
    return {limits.bone: limits for limits in bone_limits if limits.parts}


def _bone_limits(armature: "Object", bone: "PoseBone") -> BoneLimits:
    where = f"armature '{armature.name}', bone '{bone.name}'"
    parts = [
        _constraint_ranges(constraint, _euler_order(bone), where)
        for constraint in bone.constraints
        if _is_local_limit(constraint)
    ]
    if any(getattr(bone, f"lock_ik_{axis}") or getattr(bone, f"use_ik_limit_{axis}") for axis in "xyz"):
        parts.append(_ik_ranges(bone))
    if any(bone.lock_rotation) or bone.lock_rotation_w:
        parts.append(_lock_ranges(bone))
    return BoneLimits(bone.name, merged([part for part in parts if np.isfinite(part.half).any()]))


def _is_local_limit(constraint: Any) -> bool:
    """Return whether a constraint is an active Limit Rotation in the bone's local space."""
    is_active = constraint.type == "LIMIT_ROTATION" and constraint.enabled and not constraint.mute
    return bool(is_active and constraint.influence > 0 and constraint.owner_space == "LOCAL")


def limited_in_other_space(armature: "Object", bones: Iterable[str]) -> list[str]:
    """Return the bones with limits in a space other than local space, which do not limit a single joint."""
    return [
        name
        for name in bones
        for constraint in armature.pose.bones[name].constraints
        if constraint.type == "LIMIT_ROTATION"
        and constraint.enabled
        and constraint.influence > 0
        and constraint.owner_space != "LOCAL"
    ]


def with_driven_rotation(armature: "Object", bones: Iterable[str]) -> list[str]:
    """Return the bones whose rotation has a driver, which overrides keys."""
    return with_driven_channel(armature, bones, ".rotation_")


def with_driven_channel(armature: "Object", bones: Iterable[str], channel: str) -> list[str]:
    """Return the bones with a driver on a data path that contains `channel`."""
    animation = armature.animation_data
    paths = {driver.data_path for driver in animation.drivers if not driver.mute} if animation else set()
    bone_paths = {path.rsplit(".", 1)[0] for path in paths if channel in path}
    return [name for name in bones if armature.pose.bones[name].path_from_id() in bone_paths]


def _euler_order(bone: "PoseBone") -> Order:
    """Return the Euler order in which Blender decomposes a bone's rotation. It is XYZ if its mode has no order."""
    mode: Any = bone.rotation_mode
    return mode if mode in EULER_ORDERS else "XYZ"


def _constraint_ranges(constraint: Any, order: Order, where: str) -> AxisRanges:
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    for axis, name in enumerate("xyz"):
        if not getattr(constraint, f"use_limit_{name}"):
            continue
        bounds = getattr(constraint, f"min_{name}"), getattr(constraint, f"max_{name}")
        if bounds[0] > bounds[1]:
            raise RigError(
                f"{where}: its constraint '{constraint.name}' limits {name.upper()} to "
                f"{np.degrees(bounds[0]):.0f}..{np.degrees(bounds[1]):.0f} degrees, expected the lower limit first"
            )
        low[axis], high[axis] = _legacy_range(*bounds) if constraint.use_legacy_behavior else bounds
    constraint_order = constraint.euler_order
    return AxisRanges.between(order if constraint_order == "AUTO" else constraint_order, low, high)


def _legacy_range(low: float, high: float) -> tuple[float, float]:
    """Return the effective range of a constraint with Legacy Behavior, which does not wrap angles beyond pi."""
    if low > HALF_TURN:
        return low, low
    if high < -HALF_TURN:
        return high, high
    return max(low, -HALF_TURN), min(high, HALF_TURN)


def _ik_ranges(bone: "PoseBone") -> AxisRanges:
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    for axis, name in enumerate("xyz"):
        if getattr(bone, f"lock_ik_{name}"):
            low[axis] = high[axis] = 0.0
        elif getattr(bone, f"use_ik_limit_{name}"):
            low[axis], high[axis] = getattr(bone, f"ik_min_{name}"), getattr(bone, f"ik_max_{name}")
    return AxisRanges.between("SWING", low, high)


def _lock_ranges(bone: "PoseBone") -> AxisRanges:
    """Return the ranges of a bone's rotation locks, with which locked axes stay at rest.

    Quaternions and axis-angle rotations are locked by Euler angles, unless Lock Rotations 4D is on. The axis of an
    axis-angle rotation points along Y at rest, so a lock of its Y has no effect.
    """
    locked = list(bone.lock_rotation)
    if bone.rotation_mode in EULER_ORDERS or not bone.lock_rotations_4d:
        return locked_ranges(_euler_order(bone), locked)
    if bone.lock_rotation_w:
        return locked_ranges("QUATERNION", [True] * 3)
    if bone.rotation_mode == "AXIS_ANGLE":
        return locked_ranges("QUATERNION", [locked[0], False, locked[2]])
    # With Y locked, the quaternion has no twist, so the remaining locks limit the swing.
    return locked_ranges("SWING" if locked[1] else "QUATERNION", locked)
