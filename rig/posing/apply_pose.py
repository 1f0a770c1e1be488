"""Pose hands of rigs without keys, as live solving does."""

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
from ..keys.drive import driven
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

    found: the detected hand; None for an armature that add_hand built. Raises RigError as bound_hand does, and if the
    rig does not support `drive`.
    """
    binding = bound_hand(armature, found, hand, limited=limited) if found else default_binding(armature, hand)
    keyed = KeyedHand(binding, hand, Pose(hand, np.eye(4)[None], hand.neutral[None]))
    keyed = driven(armature, found, keyed, drive, digits)
    rig_hand = make_bound_hand(armature, keyed.binding, hand)
    arm = {name: armature.pose.bones[name].matrix_basis.copy() for name in keyed.arm_bones}
    return replace(rig_hand, before=rig_hand.before | arm, mover=HandMover(armature, keyed))


def make_bound_hand(
    armature: "Object", binding: RigBinding, hand: HandModel, digits: tuple[str, ...] = DIGITS
) -> RigHand:
    """Return a hand of an armature from its binding. Raises RigError if a bone is the child of a more distal one."""
    names = [str(binding.bones[joint]) for joint in binding.mapped]
    return RigHand(
        armature=DataReference.of(armature),
        binding=binding,
        hand=hand,
        before={name: armature.pose.bones[name].matrix_basis.copy() for name in names},
        wiring=rig_hierarchy(binding, hand),
        hanging=bones_with_outside_parents(armature, binding),
        between=bones_between(armature, binding),
        posed=binding.mapped,
        digits=digits,
    )


@dataclass(frozen=True, slots=True, eq=False)
class RigHandPose:
    """A hand of an armature, and the pose that it takes: one frame in the world."""

    rig_hand: RigHand
    pose: Pose
    forearm: Forearm | None = None
    """The performer's forearm, relative to which the hand is rotated; None if it was not captured."""


def pose(hands: Sequence[RigHandPose]) -> bool:
    """Pose the bones of hands. Return whether any hand was posed.

    Everything is read before anything is written, since reading makes Blender evaluate the keys written before.
    """
    motions = []
    for hand in hands:
        armature = hand.rig_hand.find_armature()
        # In Edit Mode Blender shows no pose.
        if armature is not None and not armature.data.is_editmode:
            motions.append((armature, _values(armature, hand)))
    for armature, values in motions:
        for bone_values in values:
            location = None if bone_values.locations is None else bone_values.locations[0]
            write_basis(armature.pose.bones[bone_values.bone], location, bone_values.rotations[0])
    return bool(motions)


def _values(armature: "Object", hand: RigHandPose) -> list[BoneValues]:
    mover = hand.rig_hand.mover
    assert mover is not None, "make_driven_hand made it"
    mover.set_pose(hand.pose, hand.forearm)
    world, rests = parent_motion.parents_on_current_frame(armature, mover.evaluated_bones)
    (posed,) = poses_on_forearms(armature, [mover], slice(0, 1), world, rests)
    return list(mover.values(armature, posed, world, rests))


def state(posed: RigHand) -> Literal["there", "edited", "gone"]:
    """Return whether the armature and all bones of the hand exist, and whether they are in Edit Mode."""
    armature = posed.find_armature()
    if armature is None:
        return "gone"
    return "edited" if armature.data.is_editmode else "there"


def recentred(poses: Mapping[Side, Pose], rests: Mapping[Side, Floats]) -> Floats:
    """Return the transform (4, 4) that takes the performer's hands to the rest position of a rig's hands.

    It rotates about the vertical only. poses: one frame of each hand. rests: (4, 4) T_world_wrist of each hand at rest.
    """
    sides = [side for side in poses if side in rests]
    roots = {side: pose.root[0] for side, pose in poses.items()}
    captured_mean = np.mean([roots[side][:3, 3] for side in sides], axis=0)
    rest_mean = np.mean([rests[side][:3, 3] for side in sides], axis=0)
    forward = [np.sum([frames[side][:2, 1] for side in sides], axis=0) for frames in (rests, roots)]
    angle = np.arctan2(forward[0][1], forward[0][0]) - np.arctan2(forward[1][1], forward[1][0])
    transform = np.eye(4)
    transform[:3, :3] = rot.to_matrix(rot.from_axis_angle(np.array([0.0, 0.0, 1.0]), angle))
    transform[:3, 3] = rest_mean - transform[:3, :3] @ captured_mean
    return transform
