"""Transfer of a solved pose to a rig's bones: each bone points where the performer's does, at the rig's own length."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand import kinematics
from ..hand import rotations as rot
from ..hand.kinematics import Pose
from ..hand.model import HandModel
from .binding import RigBinding

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class BoneMotion:
    """Values to key, relative to the bones' rest: the parts of Blender's matrix_basis."""

    locations: Floats
    """(F, J, 3) in the armature's unit; meaningful for bones that the binding places."""
    rotations: Floats
    """(F, J, 4) unit quaternions wxyz, continuous over the frames."""
    static: Bools
    """(J,) True where a bone does not move relative to its mapped parent."""

    def with_offsets(self, offsets: Mapping[int, tuple[Floats, Floats]]) -> "BoneMotion":
        """Return the motion with further locations (3,) and rotations (4,) wxyz on top; offsets: joint -> both."""
        if not offsets:
            return self
        locations, rotations = self.locations.copy(), self.rotations.copy()
        for joint, (location, rotation) in offsets.items():
            locations[:, joint] += location
            rotations[:, joint] = rot.multiply(rotations[:, joint], rotation)
        return BoneMotion(locations, rotations, self.static)


@dataclass(frozen=True, slots=True, eq=False)
class RigHierarchy:
    """A hand's hierarchy on a rig in armature space: everything that is constant over frames."""

    hand_parents: list[int]
    """(J,) the nearest mapped joint before each joint in the hand, −1 for the first."""
    order: list[int]
    """The mapped joints, each after the joint that determines its position."""
    bone_rest: Floats
    """(J, 4, 4) T_armature_bone at rest."""
    bone_rest_inverse: Floats
    """(J, 4, 4) inverse of bone_rest."""
    rest_in_parent: Floats
    """(J, 4, 4) T_parent_bone at rest, for bones with a mapped parent."""
    offsets: Floats
    """(J, 3) from the joint before to each joint, in the rest frame of the joint before."""
    fixed_rotations: tuple[tuple[int, int, Floats], ...]
    """(joint, joint before, (3, 3) T_before_joint at rest) of joints that do not move: the palm's, and tips."""
    static: Bools
    """(J,) True where a bone does not move relative to its mapped parent."""


def rig_hierarchy(binding: RigBinding, hand: HandModel) -> RigHierarchy:
    """Return the hierarchy of a binding for hands of a model's structure.

    Raises RigError if a bone is a child of a bone further out.
    """
    hand_parents = _hand_parents(binding, hand)
    bone_rest = binding.bone_rest()
    bone_rest_inverse: Floats = np.asarray(np.linalg.inv(bone_rest), float)
    moving, rest = _moving_joints(hand), binding.rest
    offsets = np.zeros((len(hand_parents), 3))
    for joint, before in enumerate(hand_parents):
        if before >= 0:
            offsets[joint] = rest[before, :3, :3].T @ (rest[joint, :3, 3] - rest[before, :3, 3])
    return RigHierarchy(
        hand_parents=hand_parents,
        order=_joint_order(binding, hand_parents),
        bone_rest=bone_rest,
        bone_rest_inverse=bone_rest_inverse,
        rest_in_parent=bone_rest_inverse[binding.mapped_parents] @ bone_rest,
        offsets=offsets,
        fixed_rotations=tuple(
            (joint, before, rest[before, :3, :3].T @ rest[joint, :3, :3])
            for joint, before in enumerate(hand_parents)
            if joint not in moving and before >= 0
        ),
        static=_static(binding, hand, hand_parents),
    )


def transfer(
    binding: RigBinding,
    hand: HandModel,
    pose: Pose,
    matrix_world: Floats,
    held_rests: Mapping[int, Floats],
    *,
    hierarchy: RigHierarchy | None = None,
) -> BoneMotion:
    """Return the motion of the binding's bones for a pose.

    matrix_world: T_world_armature. held_rests: joint -> the bone's rest matrix in armature space as moved by its
    ancestors; for joints without a mapped parent, by all ancestors (default: its own rest); for others, with that
    parent at rest, see rests_between. Both are (4, 4), or (F, 4, 4) if they change over time. hierarchy:
    rig_hierarchy(binding, hand), computed once for many poses.

    In armature space, with J the joint's rotation, G its rest rotation and B the bone's rest matrix:
        bone pose  P = J · (G^-1 · B)          the rotation from G to J, applied to B
        carried    C = P_parent · (B_parent^-1 · B)
        basis        = C^-1 · P
    Rotations are clipped to the bones' limits; descendants compensate as far as their own limits allow. Limits of a
    bone without a mapped parent move the whole hand.
    """
    _, bases, static = bone_poses(binding, hand, pose, matrix_world, held_rests, hierarchy=hierarchy)
    return BoneMotion(
        locations=bases[..., :3, 3],
        rotations=rot.make_continuous(rot.from_matrix(bases[..., :3, :3])),
        static=static,
    )


def bone_poses(
    binding: RigBinding,
    hand: HandModel,
    pose: Pose,
    matrix_world: Floats,
    held_rests: Mapping[int, Floats],
    *,
    hierarchy: RigHierarchy | None = None,
) -> tuple[Floats, Floats, Bools]:
    """Return bone poses in armature space (F, J, 4, 4), their bases (F, J, 4, 4), and (J,) which do not move.

    Arguments: see transfer.
    """
    rig = hierarchy or rig_hierarchy(binding, hand)
    solved = kinematics.joint_frames(hand, pose)[..., :3, :3]
    rotations = rot.transform_frames(np.asarray(np.linalg.inv(matrix_world[..., None, :3, :3]), float), solved)
    for joint, before, rest_rotation in rig.fixed_rotations:
        rotations[:, joint] = rotations[:, before] @ rest_rotation
    wrist = points_to_armature(matrix_world, pose.root[:, :3, 3])
    bone_rotations = rotations @ binding.rest_to_bone[:, :3, :3]
    poses = np.tile(np.eye(4), (len(pose), len(binding.bones), 1, 1))
    bases = poses.copy()
    for joint in rig.order:
        parent, before = int(binding.mapped_parents[joint]), rig.hand_parents[joint]
        if parent < 0:
            rest_posed = np.broadcast_to(held_rests.get(joint, rig.bone_rest[joint]), (len(pose), 4, 4))
        elif joint in held_rests:
            rest_posed = poses[:, parent] @ rig.bone_rest_inverse[parent] @ held_rests[joint]
        else:
            rest_posed = poses[:, parent] @ rig.rest_in_parent[joint]
        poses[:, joint, :3, :3] = bone_rotations[:, joint]
        carried_rotation = rest_posed[:, :3, :3] if binding.inherits_rotation[joint] else rig.bone_rest[joint, :3, :3]
        bases[:, joint, :3, :3] = np.swapaxes(carried_rotation, -1, -2) @ poses[:, joint, :3, :3]
        if rig.static[joint] and parent >= 0:
            poses[:, joint, :3, :3], bases[:, joint, :3, :3] = carried_rotation, np.eye(3)
        if joint in binding.limits:
            bases[:, joint, :3, :3] = binding.limits[joint].clipped(bases[:, joint, :3, :3])
            if parent >= 0:
                poses[:, joint, :3, :3] = carried_rotation @ bases[:, joint, :3, :3]
        if not binding.location_keyed[joint]:
            poses[:, joint, :3, 3] = rest_posed[:, :3, 3]
            continue
        offset = rotations[:, before] @ rig.offsets[joint]
        poses[:, joint, :3, 3] = wrist if before < 0 else poses[:, before, :3, 3] + offset
        displacement = poses[:, joint, :3, 3] - rest_posed[:, :3, 3]
        bases[:, joint, :3, 3] = np.einsum(
            "fji,fj->fi", rest_posed[:, :3, :3] @ binding.location_axes[joint], displacement
        )
    return poses, bases, rig.static


def resting_wrist(binding: RigBinding, matrix_world: Floats) -> Floats:
    """Return T_world_wrist (..., 4, 4) at rest of an armature with T_world_armature (..., 4, 4)."""
    wrist = np.array(matrix_world @ binding.rest[0])
    wrist[..., :3, :3] = rot.transform_frames(matrix_world[..., :3, :3], binding.rest[0, :3, :3])
    return wrist


def points_to_armature(matrix_world: Floats, points: Floats) -> Floats:
    """Map points (F, 3) from the world to armature space."""
    to_armature = np.linalg.inv(matrix_world)
    mapped: Floats = (to_armature[..., :3, :3] @ points[..., None])[..., 0] + to_armature[..., :3, 3]
    return mapped


def _hand_parents(binding: RigBinding, hand: HandModel) -> list[int]:
    """Return the nearest mapped joint before each joint in the hand, (J,); −1 for the first."""
    result: list[int] = []
    for parent in hand.parents:
        result.append(parent if parent < 0 or binding.bones[parent] else result[parent])
    return result


def _moving_joints(hand: HandModel) -> set[int]:
    return {0, *hand.axis_joint.tolist()}


def _static(binding: RigBinding, hand: HandModel, hand_parents: list[int]) -> Bools:
    moving = _moving_joints(hand)
    is_child = (binding.mapped_parents == hand_parents) & ~binding.location_keyed & binding.inherits_rotation
    return np.array([joint not in moving and is_child[joint] for joint in range(len(hand_parents))])


def _joint_order(binding: RigBinding, hand_parents: list[int]) -> list[int]:
    """Return the mapped joints, each after the joint that determines its position.

    Raises RigError if a bone is a child of a bone further out.
    """
    order: list[int] = []
    remaining = list(binding.mapped)
    while remaining:
        needs = {
            joint: hand_parents[joint] if binding.location_keyed[joint] else binding.mapped_parents[joint]
            for joint in remaining
        }
        ready = [joint for joint in remaining if needs[joint] not in remaining]
        if not ready:
            raise RigError(
                f"armature '{binding.armature}': bone '{binding.bones[remaining[0]]}' is a child of a bone further out "
                "on its finger, correct the mapping of the hand"
            )
        order += ready
        remaining = [joint for joint in remaining if joint not in ready]
    return order
