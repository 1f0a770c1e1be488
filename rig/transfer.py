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


def transfer(
    binding: RigBinding, hand: HandModel, pose: Pose, matrix_world: Floats, held: Mapping[int, Floats]
) -> BoneMotion:
    """The motion of the binding's bones.

    `matrix_world` (4, 4) is the armature object's; `held` gives, for the joints that no mapped bone holds, where
    the bone's rest is carried to by what is above it (4, 4, armature space), its own rest if it is not named; and for
    one that a mapped bone holds, where it would be with that one at rest, see rests_between. Both are (F, 4, 4) where
    they change.

    In armature space, with J the joint's rotation, G its rest and B the bone's rest:
        bone pose  P = J · (G^-1 · B)          as J turns the joint's rest G into J, it turns the bone's B into P
        carried    C = P_holder · (B_holder^-1 · B)
        basis        = C^-1 · P
    What a bone's limits do not let it do it is not keyed with; what hangs on it makes up for that as far as it may. A
    bone that the hand hangs on takes the whole hand along.
    """
    _, bases, still = moved(binding, hand, pose, matrix_world, held)
    return BoneMotion(
        locations=bases[..., :3, 3],
        rotations=rot.continuous(rot.from_matrix(bases[..., :3, :3])),
        still=still,
    )


def moved(
    binding: RigBinding, hand: HandModel, pose: Pose, matrix_world: Floats, held: Mapping[int, Floats]
) -> tuple[Floats, Floats, Bools]:
    """Of `transfer`: (F, J, 4, 4) where the bones then are in armature space, (F, J, 4, 4) the basis of each, and (J,)
    which stand still."""
    follows = _follows(binding, hand)
    solved = kinematics.joint_frames(hand, pose)[..., :3, :3]
    turned = _joint_turns(binding, hand, into_armature(matrix_world[..., None, :, :], solved), follows)
    wrist = into_points(matrix_world, pose.root[:, :3, 3])
    bone_rest = binding.bone_rest()
    poses = np.tile(np.eye(4), (len(pose), len(binding.bones), 1, 1))
    bases = poses.copy()
    still = _still(binding, hand, follows)
    for joint in _order(binding, follows):
        holder, before = int(binding.holders[joint]), follows[joint]
        if holder >= 0:
            carried = poses[:, holder] @ np.linalg.inv(bone_rest[holder]) @ held.get(joint, bone_rest[joint])
        else:
            carried = np.broadcast_to(held.get(joint, bone_rest[joint]), (len(pose), 4, 4))
        poses[:, joint, :3, :3] = turned[:, joint] @ binding.rest_to_bone[joint, :3, :3]
        if not binding.placed[joint]:
            poses[:, joint, :3, 3] = carried[:, :3, 3]
        elif before < 0:
            poses[:, joint, :3, 3] = wrist
        else:
            poses[:, joint, :3, 3] = poses[:, before, :3, 3] + turned[:, before] @ _offset(binding, before, joint)
        carried_turn = carried[:, :3, :3] if binding.inherits[joint] else bone_rest[joint, :3, :3]
        bases[:, joint, :3, :3] = np.swapaxes(carried_turn, -1, -2) @ poses[:, joint, :3, :3]
        if still[joint] and holder >= 0:
            poses[:, joint, :3, :3], bases[:, joint, :3, :3] = carried_turn, np.eye(3)
        if joint in binding.limits:
            bases[:, joint, :3, :3] = binding.limits[joint].held(bases[:, joint, :3, :3])
            if holder >= 0:
                poses[:, joint, :3, :3] = carried_turn @ bases[:, joint, :3, :3]
        away = poses[:, joint, :3, 3] - carried[:, :3, 3]
        bases[:, joint, :3, 3] = np.einsum("fji,fj->fi", carried[:, :3, :3] @ binding.location_axes[joint], away)
    return poses, bases, still


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


def _joint_turns(binding: RigBinding, hand: HandModel, solved: Floats, follows: list[int]) -> Floats:
    """(F, J, 3, 3) armature space: as solved where a joint moves; in the palm and at tips, as the rig was built."""
    turned = solved.copy()
    moving = _moving(hand)
    for joint, before in enumerate(follows):
        if joint not in moving and before >= 0:
            turned[:, joint] = turned[:, before] @ binding.rest[before, :3, :3].T @ binding.rest[joint, :3, :3]
    return turned


def _offset(binding: RigBinding, before: int, joint: int) -> Floats:
    """(3,) from one joint to another in the first one's rest frame."""
    rest = binding.rest[before]
    offset: Floats = rest[:3, :3].T @ (binding.rest[joint, :3, 3] - rest[:3, 3])
    return offset


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
