"""A hand of an armature for corrections: joints relative to the wrist, independent of the rig."""

import zlib
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand import poses
from ....hand import rotations as rot
from ....hand.flesh import Flesh
from ....hand.joint_rotations import angles_from_rotations
from ....hand.joints import JOINT_INDEX, JOINTS, Side
from ....hand.kinematics import Pose
from ....hand.model import HandModel
from ....hand.value_equality import hashable_content
from ....posing.grasping.skin_samples import SkinPoints, thinned
from ....posing.sliders import ARCH
from ....solvers.pose_problem import relative_size
from ...armature_hands import FoundHand, find_hands
from ...binding import RigBinding
from ...limits.read_limits import read_limits
from ...modelled_skin import modelled_skin
from ...pose_transfer import resting_wrist, rig_hierarchy, transfer
from ...rig_hand_model import rig_hand_model
from ...skin_bones import skin_radii, skins
from ..bone_paths import bone_path
from .last_used import LastUsed

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]
WRIST = JOINT_INDEX["wrist"]
SPACING = 3e-3
"""m on a hand of the usual length, spacing of the skin points that are used."""


@dataclass(frozen=True, eq=False)
class HandToCorrect:
    """A hand of an armature. Holds names and numbers only."""

    binding: RigBinding
    hand: HandModel
    world: Floats
    """(4, 4) T_world_armature."""
    flesh: Flesh
    """The hand's flesh, as thick as its skin."""
    found: FoundHand
    """Its bones."""

    @cached_property
    def skin(self) -> SkinPoints:
        """Its skin at rest, relative to the wrist, thinned. Valid while the armature does not change.

        It is computed when contacts with objects first need it, which takes seconds for a large mesh.
        """
        armature = bpy.data.objects[self.binding.armature]
        modelled = modelled_skin(armature, self.found, self.binding, self.hand)
        return thinned(modelled, SPACING * relative_size(self.hand))

    @property
    def side(self) -> Side:
        """Which hand it is."""
        return self.binding.side

    @property
    def joints(self) -> tuple[int, ...]:
        """The joints that have a bone, parents first."""
        return tuple(self._hierarchy.order)

    def bone(self, joint: int) -> str:
        """Return the bone of a joint that has one."""
        return str(self.binding.bones[joint])

    @cached_property
    def _hierarchy(self) -> "_Hierarchy":
        return _Hierarchy.of(self.binding, self.hand)

    def with_rotation(self, rotations: Floats, joint: int, rotation: Floats) -> Floats:
        """Return a bone's rotations (F, 4) with a rotation (4,) of its joint added, given in the joint's own frame.

        With R the rotation from joint to bone, the bone's own is R^-1 · rotation · R.
        """
        to_bone = self._hierarchy.to_bone[joint]
        return rot.multiply(rotations, rot.multiply(rot.conjugate(to_bone), rot.multiply(rotation, to_bone)))

    def with_rotations(self, rotations: Floats, twists: Floats, moved: Iterable[int]) -> Floats:
        """Return bones' rotations (F, J, 4) with twists (F, J, 4) of some joints added, given in their own frames."""
        result = rotations.copy()
        for joint in moved:
            result[:, joint] = self.with_rotation(rotations[:, joint], joint, twists[:, joint])
        return result

    def rotation_between(self, joint: int, before: Floats, after: Floats) -> Floats:
        """Return the rotation (4,) of a joint, in its own frame, that takes a bone's rotation (4,) to another."""
        to_bone = self._hierarchy.to_bone[joint]
        of_bone = rot.multiply(rot.conjugate(before), after)
        rotation = rot.multiply(to_bone, rot.multiply(of_bone, rot.conjugate(to_bone)))
        return rotation if rotation[0] >= 0 else -rotation

    def relative_to_wrist(self, rotations: Floats) -> Floats:
        """Return the joints' rotations (F, J, 4) relative to the wrist for those of their bones (F, J, 4)."""
        joints: Floats = np.tile(rot.IDENTITY, (*rotations.shape[:2], 1))
        bones = joints.copy()
        for joint, from_parent, to_bone in self._steps(bones):
            bones[:, joint] = to_bone if joint == WRIST else rot.multiply(from_parent, rotations[:, joint])
            joints[:, joint] = rot.multiply(bones[:, joint], rot.conjugate(to_bone))
        return joints

    def with_joints(self, rotations: Floats, joints: Iterable[int], relative: Floats) -> Floats:
        """Return the bones' rotations (F, J, 4) with some joints as given relative to the wrist, (F, J, 4)."""
        result, bones, moved = rotations.copy(), np.tile(rot.IDENTITY, (*rotations.shape[:2], 1)), set(joints)
        for joint, from_parent, to_bone in self._steps(bones):
            if joint == WRIST:
                bones[:, joint] = to_bone
                continue
            if joint in moved:
                result[:, joint] = rot.multiply(rot.conjugate(from_parent), rot.multiply(relative[:, joint], to_bone))
            bones[:, joint] = rot.multiply(from_parent, result[:, joint])
        return result

    def _steps(self, bones: Floats) -> "Iterable[tuple[int, Floats, Floats]]":
        """Yield joints, parents first: the rotation (F, 4) that each inherits from its parent, and the rotation to its
        bone (4,).

        bones: (F, J, 4) rotations of the preceding joints, relative to the wrist's joint.
        """
        hierarchy = self._hierarchy
        for joint in hierarchy.order:
            parent = int(self.binding.mapped_parents[joint])
            from_parent = (
                rot.multiply(bones[:, parent], hierarchy.in_parent[joint]) if joint != WRIST else bones[:, joint]
            )
            yield joint, from_parent, hierarchy.to_bone[joint]

    def posed(self, rotations: Floats) -> tuple[Pose, Floats]:
        """Return the pose (F,) that reproduces bones' rotations (F, J, 4), and the remaining rotations (J, 4).

        The wrist is at the origin. Bones may have rotations that the model's joints cannot have. The remaining
        rotations are means over the frames, in the bones' own frames. The pose's hand includes them, so that its joints
        coincide with the rig's.
        """
        relative, known = self.relative_to_wrist(rotations), np.zeros(len(JOINTS), bool)
        known[[WRIST, *(joint for joint in self.joints if joint in self.posable)]] = True
        # A performer, or a user's pose, may exceed an adult's limits; keep that.
        boundless = replace(self.hand, limits=np.tile([-np.pi, np.pi], (self.hand.dofs, 1)))
        found = angles_from_rotations(boundless, relative, known)
        angles = np.where(np.isfinite(found), found, self.hand.neutral)
        low, high = self.hand.limits.T
        limits = np.stack([np.minimum(low, angles.min(axis=0)), np.maximum(high, angles.max(axis=0))], axis=1)
        # The rotation of a joint's bone beyond its angles, given its parent's rotation.
        resting, parents = rot.from_matrix(np.array(self.hand.rest)[:, :3, :3]), list(self.hand.parents)
        for joint in np.flatnonzero(~known).tolist():
            relative[:, joint] = rot.multiply(relative[:, parents[joint]], resting[joint])
        own, local = known & (np.arange(len(JOINTS)) != WRIST), Pose.at_origin(self.hand, angles).rotations
        posed = rot.multiply(rot.multiply(relative[:, parents], resting), local)
        beyond = rot.multiply(rot.conjugate(posed), relative)
        beyond = (beyond * np.where(beyond[..., :1] < 0, -1.0, 1.0)).mean(axis=0)
        beyond = np.where(own[:, None], beyond / np.linalg.norm(beyond, axis=1, keepdims=True), rot.IDENTITY)
        rest = np.array(self.hand.rest)
        for joint, parent in enumerate(parents):
            if parent >= 0 and own[parent]:
                transform = np.eye(4)
                transform[:3, :3] = rot.to_matrix(beyond[parent])
                rest[joint] = transform @ rest[joint]
        return Pose.at_origin(replace(self.hand, rest=rest, limits=limits), angles), beyond

    def pose(self, pose: str | poses.NamedPose) -> Floats:
        """Return the bones' rotations (J, 4) in a named pose. Raises HandError for an unknown one."""
        root = resting_wrist(self.binding, self.world)
        posed = Pose(self.hand, root[None], poses.angles(self.hand, pose)[None])
        rotations: Floats = transfer(self.binding, self.hand, posed, self.world, {}).rotations[0]
        return rotations

    @property
    def posable(self) -> frozenset[int]:
        """The joints that a named pose moves."""
        return frozenset(self.hand.axis_joint.tolist()) - {WRIST}


@dataclass(frozen=True, slots=True, eq=False)
class _Hierarchy:
    order: list[int]
    to_bone: Floats
    """(J, 4) the rotation from each joint to its bone."""
    in_parent: Floats
    """(J, 4) each bone's rotation at rest relative to its parent among the joints' bones."""

    @classmethod
    def of(cls, binding: RigBinding, hand: HandModel) -> "_Hierarchy":
        rig = rig_hierarchy(binding, hand)
        in_parent = rig.rest_in_parent[:, :3, :3]
        return cls(rig.order, rot.from_matrix(binding.rest_to_bone[:, :3, :3]), rot.from_matrix(in_parent))


_hands = LastUsed[HandToCorrect](8)


def hands_to_correct(armature: "Object", paths: Iterable[str]) -> list[HandToCorrect]:
    """Return the hands of an armature with a bone that curves with these data paths key.

    Raises RigError if it has none, and for a hand whose bones are not parented, since rotating one would not move the
    following ones.
    """
    keyed = {f"{path.rpartition('.')[0]}." for path in paths}
    found = [hand for hand in find_hands(armature, ()) if any(bone_path(bone) in keyed for bone in hand.bones.values())]
    if not found:
        raise RigError(f"the take of armature '{armature.name}' keys no hand, expected one to correct")
    return [_hand(armature, hand) for hand in found]


def _hand(armature: "Object", found: FoundHand) -> HandToCorrect:
    """Return a hand, cached as long as nothing that it depends on changes: each step of a slider requests it."""
    return _hands.get(tuple(_depends_on(armature, found)), lambda: _build(armature, found))


def _depends_on(armature: "Object", found: FoundHand) -> "Iterator[Hashable]":
    """Yield all that a hand depends on."""
    yield from (armature.name, found.side, found.carrier, *found.bones.items(), *found.curl_angles.items())
    yield np.array(armature.matrix_world).tobytes()
    for mesh in skins(armature):
        positions = np.empty(3 * len(mesh.data.vertices), np.float32)
        mesh.data.vertices.foreach_get("co", positions)
        yield mesh.name, zlib.crc32(positions.tobytes()), np.array(mesh.matrix_world).tobytes()
    for name in (*found.bones.values(), *filter(None, [found.carrier])):
        bone = armature.data.bones[name]
        yield tuple(each.name for each in bone.parent_recursive)
        yield np.array(bone.matrix_local).tobytes(), bone.length, bone.use_connect, bone.use_inherit_rotation
    for name, limits in read_limits(armature, found.bones.values()).items():
        yield name, hashable_content(limits.parts)


def _build(armature: "Object", found: FoundHand) -> HandToCorrect:
    model = rig_hand_model(armature, found, further=ARCH)
    binding = model.binding
    for joint in binding.mapped:
        hangs = binding.mapped_parents[joint] >= 0 and binding.inherits_rotation[joint]
        if joint != WRIST and (not hangs or binding.location_keyed[joint]):
            raise RigError(
                f"armature '{armature.name}': bone '{binding.bones[joint]}' for {JOINTS[joint]} does not follow the "
                f"{found.side} hand's other bones, so that no correction can rotate it with them"
            )
    flesh = Flesh.of(model.hand, skin_radii(armature, found), model.digits)
    return HandToCorrect(binding, model.hand, np.array(armature.matrix_world, float), flesh, found)
