"""A hand of an armature: what it is, how it stands now, how it shall stand."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import joint_rotations
from ...hand import rotations as rot
from ...hand.joints import DIGITS, JOINTS, Side
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from .. import rotation_channels
from ..binding import RigBinding, is_armature, posed_frames
from ..data_reference import DataReference
from ..intermediate_bones import rests_between
from ..keys import parent_motion
from ..pose_transfer import BoneMotion, RigHierarchy, transfer

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

Floats = NDArray[np.float64]

BasisOf = dict[str, Matrix]
"""Bone -> how it stands against its rest."""


@dataclass(frozen=True, slots=True, eq=False)
class HandState:
    """How a hand stands."""

    pose: Pose
    """One frame: where the wrist is in the world, and the angles nearest to how the bones stand."""
    beyond: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """joint -> (3,) and (4,) wxyz, how its bone is moved and turned on top of that: a person may pose bones as no hand
    moves."""

    def toward(self, angles: Floats, factor: float, joints: Collection[int]) -> "HandState":
        """A part 0..1 of the way of these joints to angles (D,) with nothing on top."""
        pose = self.pose
        ways = np.where(np.isin(pose.hand.axis_joint, list(joints)), factor, 0.0)
        beyond = dict(self.beyond)
        for joint in set(joints) & set(beyond):
            moved, turned = beyond[joint]
            beyond[joint] = (1 - factor) * moved, rot.slerp(turned, rot.IDENTITY, np.array(factor))
        return HandState(Pose(pose.hand, pose.root, pose.angles + ways * (angles - pose.angles)), beyond)


@dataclass(frozen=True, slots=True, eq=False)
class RigHand:
    """A hand of an armature that is posed. Holds names and numbers, so that it outlives undo."""

    armature: DataReference
    binding: RigBinding
    hand: HandModel
    """As large as the rig's, with its palm, its lengths and its limits."""
    before: BasisOf
    """How its bones stood when it began."""
    wiring: RigHierarchy
    hanging: dict[int, str]
    """joint -> its bone, for bones that hang on bones which are not the hand's."""
    between: dict[int, tuple[str, str]]
    """See bones_between."""
    digits: tuple[str, ...] = DIGITS
    """Those that the rig has, thumb first."""

    @property
    def side(self) -> Side:
        """Which hand it is."""
        return self.binding.side

    def find_armature(self) -> "Object | None":
        """Its armature; None where that or a bone of the hand is gone."""
        armature: Object | None = self.armature.among(bpy.data.objects)
        if not is_armature(armature) or any(name not in armature.pose.bones for name in self.before):
            return None
        return armature

    def armature_object(self) -> "Object":
        """Its armature. Raises RigError where that or a bone of the hand is gone."""
        armature: Object | None = self.find_armature()
        if armature is None:
            raise RigError(f"armature '{self.binding.armature}' or bones of its hand are gone, detect the hand again")
        return armature

    def read(self) -> HandState:
        """How the hand stands, as Blender evaluated it last. Raises RigError where it is gone."""
        pose = self.read_pose()
        return HandState(pose, self.beyond(pose))

    def read_pose(self) -> Pose:
        """Of `read` the pose alone, which is quicker."""
        frames = self.seen_frames()
        moving = {0, *self.hand.axis_joint.tolist()}
        known = np.array([joint in moving and bool(np.isfinite(frames[joint]).all()) for joint in range(len(JOINTS))])
        turned = np.tile(rot.IDENTITY, (len(JOINTS), 1))
        turned[known] = rot.from_matrix(frames[known, :3, :3])
        found = joint_rotations.angles_from_rotations(self.hand, turned[None], known)
        return Pose(self.hand, frames[:1], np.where(np.isfinite(found), found, self.hand.neutral))

    def seen_frames(self) -> Floats:
        """(J, 4, 4) T_world_joint as Blender evaluated the bones last, NaN where there is no joint. Raises RigError."""
        armature = self.armature_object()
        evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        frames: Floats = np.array(evaluated.matrix_world) @ posed_frames(evaluated, self.binding)
        known = np.isfinite(frames).all(axis=(1, 2))
        # Where the armature is stretched or mirrored, frames are those of the hand that is seen.
        frames[known, :3, :3] = rot.frame_from_yz(frames[known, :3, 1], frames[known, :3, 2])
        return frames

    def beyond(self, pose: Pose) -> dict[int, tuple[Floats, Floats]]:
        """What the bones stand beyond a pose, see HandState. Raises RigError where the hand is gone."""
        armature, binding = self.armature_object(), self.binding
        motion = self.motion(armature, pose)
        result = {}
        for joint in binding.mapped:
            place, turn, _ = _basis(armature.pose.bones[str(binding.bones[joint])], joint in binding.limits).decompose()
            further = rot.multiply(rot.conjugate(motion.rotations[0, joint]), np.array(turn))
            result[joint] = np.array(place) - motion.locations[0, joint], further
        return result

    def write(self, state: HandState, joints: Collection[int] | None = None) -> None:
        """Poses the bones without keys; joints: only the bones of these, see reached. Raises RigError where the hand is
        gone.
        """
        armature = self.armature_object()
        wanted = self.binding.mapped if joints is None else self.reached(joints)
        further = {joint: state.beyond[joint] for joint in wanted if joint in state.beyond}
        motion = self.motion(armature, state.pose).with_beyond(further)
        self.write_motion(armature, motion, wanted)

    def reached(self, joints: Collection[int]) -> list[int]:
        """The joints whose bones are posed to move joints: also those further out that no bone carries along."""
        binding, follows = self.binding, self.wiring.follows
        loose = binding.placed | ~binding.inherits | (binding.holders != follows)
        result: list[int] = []
        for joint in binding.mapped:
            if joint in joints or (follows[joint] in result and loose[joint]):
                result.append(joint)
        return result

    def motion(self, armature: "Object", pose: Pose) -> BoneMotion:
        """How the bones are to stand for a pose in the world of one frame, on the armature as it is evaluated now."""
        inner = [name for pair in self.between.values() for name in pair]
        world, carried = parent_motion.standing_now(armature, [*self.hanging.values(), *inner])
        above = {joint: carried[name] for joint, name in self.hanging.items()}
        held = above | rests_between(armature, self.between, carried)
        return transfer(self.binding, self.hand, pose, world, held, wiring=self.wiring)

    def write_motion(self, armature: "Object", motion: BoneMotion, joints: Iterable[int]) -> None:
        """Poses the bones of mapped joints, without keys."""
        bones = armature.pose.bones
        for joint in joints:
            bone = bones[str(self.binding.bones[joint])]
            if self.binding.placed[joint]:
                bone.location = motion.locations[0, joint]
            channel = rotation_channels.channel(bone.rotation_mode)
            now = np.array(getattr(bone, channel))
            setattr(bone, channel, rotation_channels.nearest(motion.rotations[0, joint], bone.rotation_mode, now))

    def put_back(self) -> None:
        """The bones as they stood before, where they are still there."""
        armature = self.find_armature()
        if armature is not None:
            for name, basis in self.before.items():
                armature.pose.bones[name].matrix_basis = basis


def _basis(bone: "PoseBone", limited: bool) -> Matrix:
    """How a bone stands against its rest; of one with limits without what they hold back, for that is not seen."""
    if not limited:
        return bone.matrix_basis
    seen: Matrix = bone.id_data.convert_space(pose_bone=bone, matrix=bone.matrix, from_space="POSE", to_space="LOCAL")
    return seen
