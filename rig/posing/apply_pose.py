"""Pose the hands of rigs in the current frame without inserting keys, as live solving does."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.forearm import Forearm
from ...hand.joints import DIGITS, Side
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...pipeline.recipe import DriveChoice
from ..armature_hands import FoundHand
from ..binding import RigBinding, default_binding
from ..bound_hand import bound_hand
from ..data_reference import DataReference
from ..intermediate_bones import bones_between
from ..keys import parent_motion
from ..keys.drive import with_driven_parts
from ..keys.hand_motion import BoneValues, HandMover, KeyedHand, bones_with_outside_parents, poses_on_forearms
from ..pose_transfer import rig_hierarchy
from .rig_hand import RigHand, write_basis

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]


def make_driven_hand(
    armature: "Object",
    found: FoundHand | None,
    hand: HandModel,
    *,
    limited: bool = True,
    drive: DriveChoice = "wrist",
    digits: Collection[str] | None = None,
) -> RigHand:
    """Return a hand of an armature that a device drives.

    found: the detected hand; None for an armature that default_hand.add_hand built. Raises RigError as bound_hand does,
    and if the rig does not support `drive`.
    """
    binding = bound_hand(armature, found, hand, limited=limited) if found else default_binding(armature, hand)
    keyed = KeyedHand(binding, hand, Pose(hand, np.eye(4)[None], hand.neutral[None]))
    keyed = with_driven_parts(armature, found, keyed, drive, digits)
    rig_hand = make_bound_hand(armature, keyed.binding, hand)
    arm = {name: armature.pose.bones[name].matrix_basis.copy() for name in keyed.arm_bones}
    return replace(rig_hand, initial_basis=rig_hand.initial_basis | arm, mover=HandMover(armature, keyed))


def make_bound_hand(
    armature: "Object", binding: RigBinding, hand: HandModel, digits: tuple[str, ...] = DIGITS
) -> RigHand:
    """Return a hand of an armature from its binding. Raises RigError if a bone is the child of a more distal one."""
    names = [str(binding.bones[joint]) for joint in binding.mapped]
    return RigHand(
        armature=DataReference.of(armature),
        binding=binding,
        hand=hand,
        initial_basis={name: armature.pose.bones[name].matrix_basis.copy() for name in names},
        hierarchy=rig_hierarchy(binding, hand),
        outside_parented=bones_with_outside_parents(armature, binding),
        intermediate_bones=bones_between(armature, binding),
        posed_joints=binding.mapped,
        digits=digits,
    )


@dataclass(frozen=True, slots=True, eq=False)
class RigHandPose:
    """A hand of an armature and the pose to give it: one frame, in world space."""

    rig_hand: RigHand
    pose: Pose
    forearm: Forearm | None = None
    """The performer's forearm, relative to which the hand is rotated; None if it was not captured."""


def pose_hands(hands: Sequence[RigHandPose]) -> bool:
    """Pose the bones of hands. Return whether any hand was posed.

    Everything is read before anything is written, since reading makes Blender evaluate the keys written before.
    """
    motions = []
    for posed in hands:
        armature = posed.rig_hand.find_armature()
        # Blender shows the rest position in Edit Mode.
        if armature is not None and not armature.data.is_editmode:
            motions.append((armature, _bone_values(armature, posed)))
    for armature, values in motions:
        for bone_values in values:
            location = None if bone_values.locations is None else bone_values.locations[0]
            write_basis(armature.pose.bones[bone_values.bone], location, bone_values.rotations[0])
    return bool(motions)


def _bone_values(armature: "Object", posed: RigHandPose) -> list[BoneValues]:
    """Return the values that pose the bones of a hand and its arm."""
    mover = posed.rig_hand.mover
    assert mover is not None, "make_driven_hand sets it"
    mover.set_pose(posed.pose, posed.forearm)
    # T_world_armature, and the rest transform of each bone as moved by its parent.
    world, rests = parent_motion.parents_on_current_frame(armature, mover.evaluated_bones)
    (pose,) = poses_on_forearms(armature, [mover], slice(0, 1), world, rests)
    return list(mover.values(armature, pose, world, rests))


def availability(rig_hand: RigHand) -> Literal["available", "in Edit Mode", "gone"]:
    """Return whether a hand can be posed; it is gone if its armature or one of its bones no longer exists."""
    armature = rig_hand.find_armature()
    if armature is None:
        return "gone"
    return "in Edit Mode" if armature.data.is_editmode else "available"


def recentring_transform(poses: Mapping[Side, Pose], rests: Mapping[Side, Floats]) -> Floats:
    """Return the transform (4, 4) that moves the performer's hands to where a rig's hands are at rest.

    It rotates about the vertical axis only. poses: one frame of each hand. rests: T_world_wrist (4, 4) of each hand at
    rest.
    """
    sides = [side for side in poses if side in rests]
    roots = {side: pose.root[0] for side, pose in poses.items()}
    captured_mean = np.mean([roots[side][:3, 3] for side in sides], axis=0)
    rest_mean = np.mean([rests[side][:3, 3] for side in sides], axis=0)
    rest_forward, captured_forward = (
        np.sum([frames[side][:2, 1] for side in sides], axis=0) for frames in (rests, roots)
    )
    angle = np.arctan2(*rest_forward[::-1]) - np.arctan2(*captured_forward[::-1])
    transform = np.eye(4)
    transform[:3, :3] = rot.to_matrix(rot.from_axis_angle(np.array([0.0, 0.0, 1.0]), angle))
    transform[:3, 3] = rest_mean - transform[:3, :3] @ captured_mean
    return transform
