"""The limits of a hand, shown on the bones that they belong to: Limit Rotation constraints and locks."""

from typing import TYPE_CHECKING

import numpy as np

from ..hand.model import AXES, HandModel
from .binding import RigBinding

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

NAME = "Knuckle Limit"

_TURNS = [int(np.argmax(np.abs(axis))) for axis in AXES.values()]
EULER_ORDER = "".join("XYZ"[axis] for axis in reversed(_TURNS))
"""HandModel's R = R_abduction · R_twist · R_flexion: Blender names the turn that is applied first first."""


def add_limits(armature: "Object", binding: RigBinding, hand: HandModel) -> None:
    """Gives each bone of the hand but the wrist its limits as a constraint, and locks the turns that it does not make.

    The bones must stand in their joints' own frames, as those of add_hand do; limits of before are replaced.
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
            _constrain(bone, ranges)


def remove_limit(bone: "PoseBone") -> None:
    """Takes Knuckle's limit from a bone and leaves all other constraints."""
    if NAME in bone.constraints:
        bone.constraints.remove(bone.constraints[NAME])


def _lock(bone: "PoseBone", ranges: np.ndarray) -> None:
    bone.lock_rotation = [not axis.any() for axis in ranges]
    # By Euler angles, which are those of the constraint: a joint of two axes turns every part of a quaternion.
    bone.lock_rotations_4d = False
    bone.lock_location = [True] * 3


def _constrain(bone: "PoseBone", ranges: np.ndarray) -> None:
    constraint = bone.constraints.new("LIMIT_ROTATION")
    constraint.name = NAME
    constraint.owner_space = "LOCAL"
    constraint.euler_order = EULER_ORDER
    for axis, (lowest, highest) in zip("xyz", ranges, strict=True):
        setattr(constraint, f"use_limit_{axis}", True)
        setattr(constraint, f"min_{axis}", lowest)
        setattr(constraint, f"max_{axis}", highest)
