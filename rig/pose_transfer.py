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
    still: Bools
    """(J,) True where a bone does not move relative to its holder."""

    def with_beyond(self, beyond: Mapping[int, tuple[Floats, Floats]]) -> "BoneMotion":
        """Return the motion with further locations (3,) and rotations (4,) wxyz on top; beyond: joint -> both."""
        if not beyond:
            return self
        locations, rotations = self.locations.copy(), self.rotations.copy()
        for joint, (way, turn) in beyond.items():
            locations[:, joint] += way
            rotations[:, joint] = rot.multiply(rotations[:, joint], turn)
        return BoneMotion(locations, rotations, self.still)


@dataclass(frozen=True, slots=True, eq=False)
class RigHierarchy:
    """A hand's hierarchy on a rig in armature space: everything that is constant over frames."""

    follows: list[int]
    """(J,) the nearest mapped joint before each joint in the hand, −1 for the first."""
    order: list[int]
    """The mapped joints, each after the joint that determines its position."""
    bone_rest: Floats
    """(J, 4, 4) T_armature_bone at rest."""
    unrest: Floats
    """(J, 4, 4) inverse of bone_rest."""
    in_holder: Floats
    """(J, 4, 4) T_holder_bone at rest, for bones with a holder."""
    offsets: Floats
    """(J, 3) from the joint before to each joint, in the rest frame of the joint before."""
    carried_turns: tuple[tuple[int, int, Floats], ...]
    """(joint, joint before, (3, 3) T_before_joint at rest) of joints that do not move: the palm's, and tips."""
    still: Bools
    """(J,) True where a bone does not move relative to its holder."""


def wire(binding: RigBinding, hand: HandModel) -> RigHierarchy:
    """Return the hierarchy of a binding for hands of a model's structure.

    Raises RigError if a bone is a child of a bone further out.
    """
    follows = _follows(binding, hand)
    bone_rest = binding.bone_rest()
    unrest: Floats = np.asarray(np.linalg.inv(bone_rest), float)
    moving, rest = _moving(hand), binding.rest
    offsets = np.zeros((len(follows), 3))
    for joint, before in enumerate(follows):
        if before >= 0:
            offsets[joint] = rest[before, :3, :3].T @ (rest[joint, :3, 3] - rest[before, :3, 3])
    return RigHierarchy(
        follows=follows,
        order=_order(binding, follows),
        bone_rest=bone_rest,
        unrest=unrest,
        in_holder=unrest[binding.holders] @ bone_rest,
        offsets=offsets,
        carried_turns=tuple(
            (joint, before, rest[before, :3, :3].T @ rest[joint, :3, :3])
            for joint, before in enumerate(follows)
            if joint not in moving and before >= 0
        ),
        still=_still(binding, hand, follows),
    )


def transfer(
    binding: RigBinding,
    hand: HandModel,
    pose: Pose,
    matrix_world: Floats,
    held: Mapping[int, Floats],
    *,
    wiring: RigHierarchy | None = None,
) -> BoneMotion:
    """Return the motion of the binding's bones for a pose.

    matrix_world: T_world_armature. held: joint -> the bone's rest matrix in armature space as moved by its ancestors;
    for joints without a holder, by all ancestors (default: its own rest); for others, with the holder at rest, see
    rests_between. Both are (4, 4), or (F, 4, 4) if they change over time. wiring: wire(binding, hand), computed once
    for many poses.

    In armature space, with J the joint's rotation, G its rest rotation and B the bone's rest matrix:
        bone pose  P = J · (G^-1 · B)          the rotation from G to J, applied to B
        carried    C = P_holder · (B_holder^-1 · B)
        basis        = C^-1 · P
    Rotations are clipped to the bones' limits; descendants compensate as far as their own limits allow. Limits of a
    bone without a holder move the whole hand.
    """
    _, bases, still = moved(binding, hand, pose, matrix_world, held, wiring=wiring)
    return BoneMotion(
        locations=bases[..., :3, 3],
        rotations=rot.continuous(rot.from_matrix(bases[..., :3, :3])),
        still=still,
    )


def moved(
    binding: RigBinding,
    hand: HandModel,
    pose: Pose,
    matrix_world: Floats,
    held: Mapping[int, Floats],
    *,
    wiring: RigHierarchy | None = None,
) -> tuple[Floats, Floats, Bools]:
    """Return bone poses in armature space (F, J, 4, 4), their bases (F, J, 4, 4), and (J,) which do not move.

    Arguments: see transfer.
    """
    wired = wiring or wire(binding, hand)
    solved = kinematics.joint_frames(hand, pose)[..., :3, :3]
    turned = rot.transformed(np.linalg.inv(matrix_world[..., None, :3, :3]), solved)
    for joint, before, turn in wired.carried_turns:
        turned[:, joint] = turned[:, before] @ turn
    wrist = into_points(matrix_world, pose.root[:, :3, 3])
    turns = turned @ binding.rest_to_bone[:, :3, :3]
    poses = np.tile(np.eye(4), (len(pose), len(binding.bones), 1, 1))
    bases = poses.copy()
    for joint in wired.order:
        holder, before = int(binding.holders[joint]), wired.follows[joint]
        if holder < 0:
            carried = np.broadcast_to(held.get(joint, wired.bone_rest[joint]), (len(pose), 4, 4))
        elif joint in held:
            carried = poses[:, holder] @ wired.unrest[holder] @ held[joint]
        else:
            carried = poses[:, holder] @ wired.in_holder[joint]
        poses[:, joint, :3, :3] = turns[:, joint]
        carried_turn = carried[:, :3, :3] if binding.inherits[joint] else wired.bone_rest[joint, :3, :3]
        bases[:, joint, :3, :3] = np.swapaxes(carried_turn, -1, -2) @ poses[:, joint, :3, :3]
        if wired.still[joint] and holder >= 0:
            poses[:, joint, :3, :3], bases[:, joint, :3, :3] = carried_turn, np.eye(3)
        if joint in binding.limits:
            bases[:, joint, :3, :3] = binding.limits[joint].held(bases[:, joint, :3, :3])
            if holder >= 0:
                poses[:, joint, :3, :3] = carried_turn @ bases[:, joint, :3, :3]
        if not binding.placed[joint]:
            poses[:, joint, :3, 3] = carried[:, :3, 3]
            continue
        along = turned[:, before] @ wired.offsets[joint]
        poses[:, joint, :3, 3] = wrist if before < 0 else poses[:, before, :3, 3] + along
        away = poses[:, joint, :3, 3] - carried[:, :3, 3]
        bases[:, joint, :3, 3] = np.einsum("fji,fj->fi", carried[:, :3, :3] @ binding.location_axes[joint], away)
    return poses, bases, wired.still


def into_points(matrix_world: Floats, points: Floats) -> Floats:
    """Map points (F, 3) from the world to armature space."""
    back = np.linalg.inv(matrix_world)
    moved: Floats = (back[..., :3, :3] @ points[..., None])[..., 0] + back[..., :3, 3]
    return moved


def _follows(binding: RigBinding, hand: HandModel) -> list[int]:
    """Return the nearest mapped joint before each joint in the hand, (J,); −1 for the first."""
    result: list[int] = []
    for parent in hand.parents:
        result.append(parent if parent < 0 or binding.bones[parent] else result[parent])
    return result


def _moving(hand: HandModel) -> set[int]:
    return {0, *hand.axis_joint.tolist()}


def _still(binding: RigBinding, hand: HandModel, follows: list[int]) -> Bools:
    moving = _moving(hand)
    held = (binding.holders == follows) & ~binding.placed & binding.inherits
    return np.array([joint not in moving and held[joint] for joint in range(len(follows))])


def _order(binding: RigBinding, follows: list[int]) -> list[int]:
    """Return the mapped joints, each after the joint that determines its position.

    Raises RigError if a bone is a child of a bone further out.
    """
    order: list[int] = []
    left = list(binding.mapped)
    while left:
        needs = {joint: follows[joint] if binding.placed[joint] else binding.holders[joint] for joint in left}
        ready = [joint for joint in left if needs[joint] not in left]
        if not ready:
            raise RigError(
                f"armature '{binding.armature}': bone '{binding.bones[left[0]]}' hangs on a bone further out on its "
                "finger, correct the mapping of the hand"
            )
        order += ready
        left = [joint for joint in left if joint not in ready]
    return order
