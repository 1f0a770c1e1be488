"""A hand of a rig posed as it is now, without keys: what live solving shows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.joints import Side
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from .. import rotation_channels
from ..armature_hands import FoundHand
from ..binding import RigBinding, default_binding, is_armature
from ..bound_hand import bound_hand
from ..data_reference import DataReference
from ..intermediate_bones import bones_between, rests_between
from ..keys import parent_motion
from ..keys.keyframes import hanging_bones
from ..pose_transfer import BoneMotion, RigHierarchy, transfer, wire

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

BasisOf = dict[str, Matrix]
"""Bone -> how it stands against its rest."""


@dataclass(frozen=True, slots=True, eq=False)
class PosedHand:
    """One hand of an armature that is posed frame by frame. Holds names, so that it outlives undo."""

    armature: DataReference
    binding: RigBinding
    hand: HandModel
    before: BasisOf
    """How its bones stood when it began."""
    wiring: RigHierarchy
    hanging: dict[int, str]
    """joint -> its bone, for bones that hang on bones which are not the hand's."""
    between: dict[int, tuple[str, str]]
    """See bones_between."""

    @property
    def side(self) -> Side:
        """Which hand it is."""
        return self.binding.side


def begin(armature: "Object", found: FoundHand | None, hand: HandModel, *, limited: bool = True) -> PosedHand:
    """A hand of an armature; found is None for one that add_hand built. Raises RigError as bound_hand does."""
    binding = bound_hand(armature, found, hand, limited=limited) if found else default_binding(armature, hand)
    return begin_bound(armature, binding, hand)


def begin_bound(armature: "Object", binding: RigBinding, hand: HandModel) -> PosedHand:
    """A hand of an armature that is bound already. Raises RigError where a bone hangs on a bone further out."""
    names = [str(binding.bones[joint]) for joint in binding.mapped]
    return PosedHand(
        armature=DataReference.of(armature),
        binding=binding,
        hand=hand,
        before={name: armature.pose.bones[name].matrix_basis.copy() for name in names},
        wiring=wire(binding, hand),
        hanging=hanging_bones(armature, binding),
        between=bones_between(armature, binding),
    )


def pose(hands: Sequence[tuple[PosedHand, Pose]]) -> bool:
    """Poses the bones of hands as their poses of one frame, in the scene's world, say; whether there was any to pose.

    All is read before anything is moved: Blender evaluates
    what was moved when it is asked next.
    """
    motions = []
    for posed, solved in hands:
        armature = armature_of(posed)
        # While bones are edited, Blender shows none as posed.
        if armature is not None and not armature.data.is_editmode:
            motions.append((armature, posed.binding, motion_of(armature, posed, solved)))
    for armature, binding, motion in motions:
        show_motion(armature, binding, motion, binding.mapped)
    return bool(motions)


def motion_of(armature: "Object", posed: PosedHand, pose: Pose) -> BoneMotion:
    """How the bones are to stand for a pose in the world of one frame, on the armature as it is evaluated now."""
    inner = [name for pair in posed.between.values() for name in pair]
    world, carried = parent_motion.standing_now(armature, [*posed.hanging.values(), *inner])
    above = {joint: carried[name] for joint, name in posed.hanging.items()}
    held = above | rests_between(armature, posed.between, carried)
    return transfer(posed.binding, posed.hand, pose, world, held, wiring=posed.wiring)


def show_motion(armature: "Object", binding: RigBinding, motion: BoneMotion, joints: Iterable[int]) -> None:
    """Poses the bones of mapped joints, without keys."""
    bones = armature.pose.bones
    for joint in joints:
        bone = bones[str(binding.bones[joint])]
        if binding.placed[joint]:
            bone.location = motion.locations[0, joint]
        channel = rotation_channels.channel(bone.rotation_mode)
        now = np.array(getattr(bone, channel))
        setattr(bone, channel, rotation_channels.nearest(motion.rotations[0, joint], bone.rotation_mode, now))


def state(posed: PosedHand) -> Literal["there", "edited", "gone"]:
    """Whether the armature and all bones of the hand are there, and whether they are being edited."""
    armature = armature_of(posed)
    if armature is None:
        return "gone"
    return "edited" if armature.data.is_editmode else "there"


def put_back(posed: PosedHand) -> None:
    """The bones as they stood before, where they are still there."""
    armature = armature_of(posed)
    if armature is not None:
        for name, basis in posed.before.items():
            armature.pose.bones[name].matrix_basis = basis


def armature_of(posed: PosedHand) -> "Object | None":
    """Its armature; None where that or a bone of the hand is gone."""
    armature: Object | None = posed.armature.among(bpy.data.objects)
    if not is_armature(armature) or any(name not in armature.pose.bones for name in posed.before):
        return None
    return armature


def recentred(poses: Mapping[Side, Pose], rests: Mapping[Side, Floats]) -> Floats:
    """(4, 4) what moves the performer's hands to where a rig's hands are at rest, turned about the vertical only.

    poses: one frame of each hand; rests: (4, 4) of each wrist in the world at rest, of the same hands.
    """
    sides = [side for side in poses if side in rests]
    own = np.mean([poses[side].root[0, :3, 3] for side in sides], axis=0)
    theirs = np.mean([rests[side][:3, 3] for side in sides], axis=0)
    ahead = [np.sum([frames[side][:2, 1] for side in sides], axis=0) for frames in (rests, _roots(poses))]
    angle = np.arctan2(ahead[0][1], ahead[0][0]) - np.arctan2(ahead[1][1], ahead[1][0])
    place = np.eye(4)
    place[:3, :3] = rot.to_matrix(rot.about(np.array([0.0, 0.0, 1.0]), angle))
    place[:3, 3] = theirs - place[:3, :3] @ own
    return place


def _roots(poses: Mapping[Side, Pose]) -> dict[Side, Floats]:
    return {side: pose.root[0] for side, pose in poses.items()}
