"""Add a hand's limits to bones as Limit Rotation constraints, exact on Knuckle's own hand, approximate on others."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...hand.model import AXES, HandModel
from ..binding import RigBinding
from ..rotation_channels import EULER_ORDERS, smallest_eulers
from .joint_ranges import KeyedJoint, keyed_joints

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

Floats = NDArray[np.float64]

CONSTRAINT_NAME = "Knuckle Limit"

_AXES = [int(np.argmax(np.abs(axis))) for axis in AXES.values()]
EULER_ORDER = "".join("XYZ"[axis] for axis in reversed(_AXES))
"""Euler order of HandModel's R = R_abduction · R_twist · R_flexion. Blender names the first rotation first."""
SAMPLES = 15
"""Number of angles of each range that are tried."""
MARGIN = np.deg2rad(0.5)
"""rad, margin for rotations between the angles that are tried."""


def add_limits(armature: "Object", binding: RigBinding, hand: HandModel) -> None:
    """Add the limits of each joint except the wrist to its bone as a constraint, and lock the axes that do not rotate.

    The bones' rest frames must be the joint frames, as in add_hand. Earlier limits are replaced.
    """
    for joint in binding.mapped[1:]:
        bone = armature.pose.bones[str(binding.bones[joint])]
        ranges = np.zeros((3, 2))
        for d in np.flatnonzero(hand.axis_joint == joint):
            axis = int(np.argmax(np.abs(hand.axes[d])))
            ranges[axis] = np.sort(hand.limits[d] * hand.axes[d, axis])
        _lock(bone, ranges)
        remove_limit(bone)
        if ranges.any():
            _constrain(bone, ranges, EULER_ORDER)


def suggest_limits(armature: "Object", binding: RigBinding, hand: HandModel) -> int:
    """Add the hand's limits as a constraint to each bone without limits. Return the number of these bones.

    The constraints change no pose within the hand's limits. If a bone's axes are not those of its joint, they also
    allow poses outside the limits. Locks stay as they are.
    """
    joints = keyed_joints(binding, hand, np.array(armature.matrix_world))
    unlimited = [joint for joint in joints.values() if not joint.limits.parts]
    for joint in unlimited:
        ranges, order = _ranges_around(joint)
        _constrain(armature.pose.bones[joint.limits.bone], ranges, order)
    return len(unlimited)


def _ranges_around(joint: KeyedJoint) -> tuple[Floats, str]:
    """Return ranges (3, 2) rad of X, Y and Z that contain all rotations of a joint, and the order of least volume."""
    columns = [np.linspace(low, high, SAMPLES) for low, high in joint.own_limits]
    angles = np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, len(columns))
    bases = joint.bases(angles)
    ranges_by_order: dict[str, Floats] = {}
    for order in EULER_ORDERS:
        eulers = smallest_eulers(bases, order)
        ranges_by_order[order] = np.stack([eulers.min(axis=0) - MARGIN, eulers.max(axis=0) + MARGIN], axis=1)
    best = min(EULER_ORDERS, key=lambda order: float(np.ptp(ranges_by_order[order], axis=1).prod()))
    return ranges_by_order[best], best


def remove_limit(bone: "PoseBone") -> bool:
    """Remove Knuckle's limit from a bone, and no other constraint. Return whether it had one."""
    constraint: Any = bone.constraints.get(CONSTRAINT_NAME)
    if constraint is not None:
        bone.constraints.remove(constraint)
    return constraint is not None


def _lock(bone: "PoseBone", ranges: Floats) -> None:
    bone.lock_rotation = [not axis.any() for axis in ranges]
    # Lock Euler angles, as the constraint does: a joint with two axes changes all components of a quaternion.
    bone.lock_rotations_4d = False
    bone.lock_location = [True] * 3


def _constrain(bone: "PoseBone", ranges: Floats, order: str) -> None:
    constraint = bone.constraints.new("LIMIT_ROTATION")
    constraint.name = CONSTRAINT_NAME
    constraint.owner_space = "LOCAL"
    constraint.euler_order = order
    for axis, (lowest, highest) in zip("xyz", ranges, strict=True):
        setattr(constraint, f"use_limit_{axis}", True)
        setattr(constraint, f"min_{axis}", lowest)
        setattr(constraint, f"max_{axis}", highest)
