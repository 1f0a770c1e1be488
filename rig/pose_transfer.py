"""From a solved pose to what the bones of a rig are keyed with. Directions are kept: each bone points where the
performer's points, and the rig keeps its own lengths.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand import kinematics
from ..hand import rotations as rot
from ..hand.kinematics import Pose
from ..hand.model import HandModel
from .binding import RigBinding, into_armature

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class BoneMotion:
    """What to key, relative to the bones' rest: Blender's matrix_basis of each bone."""

    locations: Floats
    """(F, J, 3) in the armature's unit; of use where the binding places the bone."""
    rotations: Floats
    """(F, J, 4) unit wxyz, continuous over the frames."""
    still: Bools
    """(J,) True where a bone stands still in the bone that holds it."""

    def with_beyond(self, beyond: Mapping[int, tuple[Floats, Floats]]) -> "BoneMotion":
        """With bones moved (3,) and turned (4,) wxyz on top of that: joint -> by how much."""
        locations, rotations = self.locations.copy(), self.rotations.copy()
        for joint, (way, turn) in beyond.items():
            locations[:, joint] += way
            rotations[:, joint] = rot.multiply(rotations[:, joint], turn)
        return BoneMotion(locations, rotations, self.still)


@dataclass(frozen=True, slots=True, eq=False)
class RigHierarchy:
    """How a hand hangs together on a rig: what is the same for every frame. In armature space."""

    follows: list[int]
    """(J,) the nearest mapped joint before each joint in the hand, −1 for the first."""
    order: list[int]
    """The mapped joints, each after the one that it is placed by or held by."""
    bone_rest: Floats
    """(J, 4, 4) T_armature_bone at rest."""
    unrest: Floats
    """(J, 4, 4) its inverse."""
    in_holder: Floats
    """(J, 4, 4) T_holder_bone at rest, of bones that a mapped one holds."""
    offsets: Floats
    """(J, 3) from the joint before to each joint, in the first one's rest frame."""
    carried_turns: tuple[tuple[int, int, Floats], ...]
    """(joint, the one before, (3, 3) T_before_joint at rest) of joints that do not move: the palm's, and tips."""
    still: Bools
    """(J,) True where a bone stands still in the bone that holds it."""


def wire(binding: RigBinding, hand: HandModel) -> RigHierarchy:
    """The wiring of a binding for hands of a model's shape.

    Raises RigError where a bone hangs on a bone further out.
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
    """The motion of the binding's bones.

    `matrix_world` (4, 4) is the armature object's; `held` gives, for the joints that no mapped bone holds, where
    the bone's rest is carried to by what is above it (4, 4, armature space), its own rest if it is not named; and for
    one that a mapped bone holds, where it would be with that one at rest, see rests_between. Both are (F, 4, 4) where
    they change. `wiring` is wire(binding, hand), where many poses are moved one by one.

    In armature space, with J the joint's rotation, G its rest and B the bone's rest:
        bone pose  P = J · (G^-1 · B)          as J turns the joint's rest G into J, it turns the bone's B into P
        carried    C = P_holder · (B_holder^-1 · B)
        basis        = C^-1 · P
    What a bone's limits do not let it do it is not keyed with; what hangs on it makes up for that as far as it may. A
    bone that the hand hangs on takes the whole hand along.
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
    """Of `transfer`: (F, J, 4, 4) where the bones then are in armature space, (F, J, 4, 4) the basis of each, and (J,)
    which stand still."""
    wired = wiring or wire(binding, hand)
    solved = kinematics.joint_frames(hand, pose)[..., :3, :3]
    turned = into_armature(matrix_world[..., None, :, :], solved)
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
    """(F, 3) in armature space, of points (F, 3) in the world."""
    back = np.linalg.inv(matrix_world)
    moved: Floats = (back[..., :3, :3] @ points[..., None])[..., 0] + back[..., :3, 3]
    return moved


def _follows(binding: RigBinding, hand: HandModel) -> list[int]:
    """(J,) the nearest mapped joint before each joint in the hand, −1 for the first."""
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
    """The mapped joints, each after the one that it is placed by or held by.

    Raises RigError where a bone hangs on a bone further out.
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
