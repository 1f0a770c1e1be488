"""A hand of an armature: its model, and how its state is read and written."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
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
from ..binding import RigBinding, posed_frames
from ..data_reference import DataReference
from ..keys import parent_motion
from ..keys.hand_motion import HandMover
from ..pose_transfer import BoneMotion, RigHierarchy, transfer

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone

Floats = NDArray[np.float64]

BasisOf = dict[str, Matrix]
"""Bone -> its transform relative to its rest, Blender's matrix_basis."""


@dataclass(frozen=True, slots=True, eq=False)
class HandState:
    """The state of a rig's hand."""

    pose: Pose
    """One frame: the wrist in the world, and the angles nearest to the bones' rotations."""
    beyond: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """Joint -> (3,) and (4,) wxyz, the translation and rotation of its bone on top of the pose: a person may pose bones
    in ways in which no hand moves."""

    def toward(self, angles: Floats, factor: float, joints: Collection[int]) -> "HandState":
        """Return the state with some joints moved by a factor 0..1 towards angles (D,) with nothing on top."""
        pose = self.pose
        factors = np.where(np.isin(pose.hand.axis_joint, list(joints)), factor, 0.0)
        beyond = dict(self.beyond)
        for joint in set(joints) & set(beyond):
            translation, rotation = beyond[joint]
            beyond[joint] = (1 - factor) * translation, rot.slerp(rotation, rot.IDENTITY, np.array(factor))
        return HandState(Pose(pose.hand, pose.root, pose.angles + factors * (angles - pose.angles)), beyond)


@dataclass(frozen=True, slots=True, eq=False)
class ParentFrames:
    """The transforms that carry the bones of a hand, as Blender evaluated them last."""

    world: Floats
    """(4, 4) T_world_armature."""
    rests: dict[int, Floats]
    """Joint -> (4, 4) the rest of its bone as carried by bones that are not the hand's, see pose_transfer.transfer."""


@dataclass(frozen=True, slots=True, eq=False)
class RigHand:
    """A hand of an armature. It holds only names and numbers, so it stays valid after undo."""

    armature: DataReference
    binding: RigBinding
    hand: HandModel
    """The hand model with the rig's size, palm, bone lengths and limits."""
    initial_basis: BasisOf
    """The transforms of its bones when this object was made, for `restore_pose`."""
    hierarchy: RigHierarchy
    outside_parented: dict[int, str]
    """Joint -> its bone, for bones whose parent is not a bone of the hand."""
    intermediate_bones: dict[int, tuple[str, str]]
    """See bones_between."""
    posed_joints: tuple[int, ...]
    """The joints whose bones `write` poses, parents first."""
    digits: tuple[str, ...] = DIGITS
    """The digits that the rig has, thumb first."""
    mover: HandMover | None = None
    """Moves the bones of a hand that a device drives; None for other hands."""

    @property
    def side(self) -> Side:
        """The side of the hand."""
        return self.binding.side

    def find_armature(self) -> "Object | None":
        """Return the armature; None if it or a bone of the hand no longer exists."""
        armature: Object | None = bpy.data.objects.get(self.armature.name)
        if armature is None or armature.session_uid != self.armature.uid:
            # It was renamed or deleted.
            armature = self.armature.find_in(bpy.data.objects)
        if armature is None or any(name not in armature.pose.bones for name in self.initial_basis):
            return None
        return armature

    def armature_object(self) -> "Object":
        """Return the armature. Raises RigError if it or a bone of the hand no longer exists."""
        armature: Object | None = self.find_armature()
        if armature is None:
            raise RigError(f"armature '{self.binding.armature}' or bones of its hand are gone, detect the hand again")
        return armature

    def read(self) -> HandState:
        """Return the state as Blender evaluated it last. Raises RigError if the hand no longer exists."""
        pose = self.read_pose()
        return HandState(pose, self.beyond(pose))

    def read_pose(self) -> Pose:
        """Return only the pose of `read`, which is quicker."""
        frames = self.evaluated_frames()
        moving = {0, *self.hand.axis_joint.tolist()}
        known = np.array([joint in moving and bool(np.isfinite(frames[joint]).all()) for joint in range(len(JOINTS))])
        rotations = np.tile(rot.IDENTITY, (len(JOINTS), 1))
        rotations[known] = rot.from_matrix(frames[known, :3, :3])
        angles = joint_rotations.angles_from_rotations(self.hand, rotations[None], known)
        return Pose(self.hand, frames[:1], np.where(np.isfinite(angles), angles, self.hand.neutral))

    def evaluated_frames(self) -> Floats:
        """Return (J, 4, 4) T_world_joint as Blender evaluated the bones last, NaN for missing joints.

        Raises RigError if the hand no longer exists.
        """
        armature = self.armature_object()
        evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        frames: Floats = np.array(evaluated.matrix_world) @ posed_frames(evaluated, self.binding)
        known = np.isfinite(frames).all(axis=(1, 2))
        # For a stretched or mirrored armature these are the frames of the hand as it is displayed.
        frames[known, :3, :3] = rot.orthonormal(frames[known, :3, :3])
        return frames

    def beyond(self, pose: Pose) -> dict[int, tuple[Floats, Floats]]:
        """Return translations and rotations on top of a pose, see HandState. Raises RigError as `read` does."""
        armature, binding = self.armature_object(), self.binding
        motion = self.motion(armature, pose)
        result = {}
        for joint in binding.mapped:
            basis = _evaluated_basis(armature.pose.bones[str(binding.bones[joint])], joint in binding.limits)
            location, rotation, _ = basis.decompose()
            further = rot.multiply(rot.conjugate(motion.rotations[0, joint]), np.array(rotation))
            result[joint] = np.array(location) - motion.locations[0, joint], further
        return result

    def write(self, state: HandState, parents: ParentFrames | None = None) -> None:
        """Pose the bones of `posed_joints`, without keys.

        parents: the result of `parent_frames`, read now by default. Raises RigError if the hand no longer exists.
        """
        armature = self.armature_object()
        beyond = {joint: state.beyond[joint] for joint in self.posed_joints if joint in state.beyond}
        motion = self.motion(armature, state.pose, parents).with_offsets(beyond)
        self.write_motion(armature, motion, self.posed_joints)

    def only(self, joints: Collection[int]) -> "RigHand":
        """Return the same hand with a `write` that poses only the bones of some joints, see `dependent_joints`."""
        posed = self.dependent_joints(joints)
        needed: set[int] = set()
        waiting = list(posed)
        while waiting:
            joint = waiting.pop()
            if joint not in needed:
                needed.add(joint)
                above = int(self.binding.mapped_parents[joint]), self.hierarchy.hand_parents[joint]
                waiting += [joint for joint in above if joint >= 0]
        return replace(
            self,
            hierarchy=replace(self.hierarchy, order=[joint for joint in self.hierarchy.order if joint in needed]),
            outside_parented={joint: name for joint, name in self.outside_parented.items() if joint in needed},
            intermediate_bones={joint: names for joint, names in self.intermediate_bones.items() if joint in needed},
            posed_joints=tuple(posed),
        )

    def dependent_joints(self, joints: Collection[int]) -> list[int]:
        """Return the joints whose bones are posed to move `joints`: these, and distal ones that no bone carries."""
        binding, follows = self.binding, self.hierarchy.hand_parents
        loose = binding.location_keyed | ~binding.inherits_rotation | (binding.mapped_parents != follows)
        result: list[int] = []
        for joint in binding.mapped:
            if joint in joints or (follows[joint] in result and loose[joint]):
                result.append(joint)
        return result

    def parent_frames(self, armature: "Object") -> ParentFrames:
        """Return the transforms that carry the bones, as Blender evaluated the armature last."""
        inner = [name for pair in self.intermediate_bones.values() for name in pair]
        world, carried_rests = parent_motion.parents_on_current_frame(
            armature, [*self.outside_parented.values(), *inner]
        )
        rests = {joint: carried_rests[name] for joint, name in self.outside_parented.items()}
        return ParentFrames(
            world, rests | parent_motion.rests_between(armature, self.intermediate_bones, carried_rests)
        )

    def motion(self, armature: "Object", pose: Pose, parents: ParentFrames | None = None) -> BoneMotion:
        """Return the motion of the bones for a pose of one frame in the world. parents: see `write`."""
        parents = parents or self.parent_frames(armature)
        return transfer(self.binding, self.hand, pose, parents.world, parents.rests, hierarchy=self.hierarchy)

    def write_motion(self, armature: "Object", motion: BoneMotion, joints: Iterable[int]) -> None:
        """Pose the bones of mapped joints, without keys."""
        bones = armature.pose.bones
        for joint in joints:
            location = motion.locations[0, joint] if self.binding.location_keyed[joint] else None
            write_basis(bones[str(self.binding.bones[joint])], location, motion.rotations[0, joint])

    def restore_pose(self) -> None:
        """Restore the bones to the transforms that they had when this object was made, if they still exist."""
        armature = self.find_armature()
        if armature is not None:
            for name, basis in self.initial_basis.items():
                armature.pose.bones[name].matrix_basis = basis


def write_basis(bone: "PoseBone", location: Floats | None, rotation: Floats) -> None:
    """Pose a bone without keys, by its location (3,), unless None, and its rotation (4,) wxyz."""
    if location is not None:
        bone.location = location.tolist()
    channel = rotation_channels.channel(bone.rotation_mode)
    present = np.array(getattr(bone, channel))
    setattr(bone, channel, rotation_channels.nearest_values(rotation, bone.rotation_mode, present))


def _evaluated_basis(bone: "PoseBone", limited: bool) -> Matrix:
    """Return the transform of a bone relative to its rest, after its limit constraints if `limited`."""
    if not limited:
        return bone.matrix_basis
    basis: Matrix = bone.id_data.convert_space(pose_bone=bone, matrix=bone.matrix, from_space="POSE", to_space="LOCAL")
    return basis
