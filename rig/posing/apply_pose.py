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


def begin(
    armature: "Object",
    found: FoundHand | None,
    hand: HandModel,
    *,
    limited: bool = True,
    drive: DriveChoice = "wrist",
    digits: Collection[str] | None = None,
) -> RigHand:
    """Return a hand of an armature that a device drives; found: None for one that add_hand built.

    Raises RigError as bound_hand does, and if the rig does not allow what is to be driven.
    """
    binding = bound_hand(armature, found, hand, limited=limited) if found else default_binding(armature, hand)
    keyed = KeyedHand(binding, hand, Pose(hand, np.eye(4)[None], hand.neutral[None]))
    keyed = driven(armature, found, keyed, drive, digits)
    begun = begin_bound(armature, keyed.binding, hand)
    arm = {name: armature.pose.bones[name].matrix_basis.copy() for name in keyed.arm_bones}
    return replace(begun, before=begun.before | arm, mover=HandMover(armature, keyed))


def begin_bound(armature: "Object", binding: RigBinding, hand: HandModel, digits: tuple[str, ...] = DIGITS) -> RigHand:
    """Return a hand of an armature from its binding. Raises RigError if a bone is a child of a bone further out."""
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
class ShownHand:
    """A hand of an armature, and what it is posed by: one frame in the world."""

    rig_hand: RigHand
    pose: Pose
    forearm: Forearm | None = None
    """The performer's, which tells how a hand at rest on it is rotated; None if it is not captured."""


def pose(hands: Sequence[ShownHand]) -> bool:
    """Pose the bones of hands; whether there was any to pose.

    Everything is read before anything is written, since reading makes Blender evaluate what was written.
    """
    motions = []
    for shown in hands:
        armature = shown.rig_hand.find_armature()
        # In Edit Mode Blender shows no pose.
        if armature is not None and not armature.data.is_editmode:
            motions.append((armature, _values(armature, shown)))
    for armature, values in motions:
        for of_bone in values:
            location = None if of_bone.locations is None else of_bone.locations[0]
            write_basis(armature.pose.bones[of_bone.bone], location, of_bone.rotations[0])
    return bool(motions)


def _values(armature: "Object", shown: ShownHand) -> list[BoneValues]:
    mover = shown.rig_hand.mover
    assert mover is not None, "begin made it"
    mover.show(shown.pose, shown.forearm)
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
    own = np.mean([poses[side].root[0, :3, 3] for side in sides], axis=0)
    theirs = np.mean([rests[side][:3, 3] for side in sides], axis=0)
    ahead = [np.sum([frames[side][:2, 1] for side in sides], axis=0) for frames in (rests, _roots(poses))]
    angle = np.arctan2(ahead[0][1], ahead[0][0]) - np.arctan2(ahead[1][1], ahead[1][0])
    place = np.eye(4)
    place[:3, :3] = rot.to_matrix(rot.from_axis_angle(np.array([0.0, 0.0, 1.0]), angle))
    place[:3, 3] = theirs - place[:3, :3] @ own
    return place


def _roots(poses: Mapping[Side, Pose]) -> dict[Side, Floats]:
    return {side: pose.root[0] for side, pose in poses.items()}
