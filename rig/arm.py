"""The arm that a rig's hand hangs on, keyed so that the wrist comes to where the capture has it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import RigError
from ..hand import rotations as rot
from ..hand.kinematics import Pose
from ..solvers import arm as arms
from .binding import RigBinding, into_armature
from .transfer import into_points

if TYPE_CHECKING:
    from bpy.types import Bone, Object

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ArmBones:
    """The names of the two bones that an arm is posed by: those that begin at the shoulder and at the elbow."""

    upper: str
    fore: str


@dataclass(frozen=True, slots=True, eq=False)
class ArmMotion:
    """What to key, and what the hand then hangs on."""

    rotations: Mapping[str, Floats]
    """Bone -> (F, 4) unit wxyz relative to its rest."""
    forearm: Floats
    """(F, 4, 4) in armature space, from where the forearm is at rest to where it is."""


def find_arm(armature: "Object", wrist: str) -> ArmBones | None:
    """The arm above a wrist's bone by the names that rigs give; None if there is none, or it does not turn as a whole.

    Where upper arm or forearm are of several bones, those nearest to the shoulder and to the elbow are taken.
    """
    above = list(armature.data.bones[wrist].parent_recursive)
    fore = [bone for bone in above if _is_forearm(bone)]
    upper = [bone for bone in above if _is_upper_arm(bone)]
    if not fore or not upper or upper[-1] not in fore[-1].parent_recursive:
        return None
    below_shoulder = [armature.data.bones[wrist], *above][: above.index(upper[-1]) + 1]
    if not all(bone.use_inherit_rotation for bone in below_shoulder):
        return None
    return ArmBones(upper[-1].name, fore[-1].name)


def _letters(bone: "Bone") -> str:
    return re.sub(r"[^a-z]", "", bone.name.lower())


def _is_forearm(bone: "Bone") -> bool:
    return any(word in _letters(bone) for word in ("forearm", "lowerarm"))


def _is_upper_arm(bone: "Bone") -> bool:
    """Mixamo's is LeftArm."""
    letters = _letters(bone)
    return not _is_forearm(bone) and ("upperarm" in letters or letters.endswith(("leftarm", "rightarm")))


def move_arm(
    armature: "Object", bones: ArmBones, binding: RigBinding, pose: Pose, *, world: Floats, carried: Floats
) -> ArmMotion:
    """The motion of an arm that brings its hand's wrist to where `pose` has it, or straight towards it.

    world: T_world_armature, carried: where the upper arm's rest is carried to by what is above it, in armature space;
    each (4, 4) or (F, 4, 4). Bones between shoulder, elbow and wrist stay at rest. The elbow points down, and to the
    side on which the little finger is at rest. Raises RigError for an arm whose bones have no length.

    With U and E the rests of the two bones, and A how the arm's own frame moves each:
        bone pose    P = A · E            as the arm's frame is moved from its rest, so is the bone
        carried      C = P_upper · (U^-1 · E)
        basis          = C^-1 · P
    """
    upper, fore = (np.array(armature.data.bones[name].matrix_local) for name in (bones.upper, bones.fore))
    fitted = _fitted(bones, binding, upper[:3, 3], fore[:3, 3], world)
    goal = np.tile(np.eye(4), (len(pose), 1, 1))
    goal[:, :3, :3] = into_armature(world, pose.root[:, :3, :3])
    goal[:, :3, 3] = into_points(world, pose.root[:, :3, 3])
    base = np.broadcast_to(carried @ np.linalg.inv(upper) @ fitted.base, goal.shape)
    posed, _ = arms.solve(fitted.arm, goal, base)
    moves = arms.frames(fitted.arm, posed, base) @ np.linalg.inv(fitted.rest)
    upper_pose, fore_pose = moves[:, 0] @ upper, moves[:, 1] @ fore
    held = upper_pose @ np.linalg.inv(upper) @ fore
    bases = {bones.upper: np.linalg.inv(carried) @ upper_pose, bones.fore: np.linalg.inv(held) @ fore_pose}
    turned = {name: rot.from_matrix(basis[:, :3, :3]) for name, basis in bases.items()}
    return ArmMotion(turned, moves[:, 1])


def _fitted(bones: ArmBones, binding: RigBinding, shoulder: Floats, elbow: Floats, world: Floats) -> arms.RestArm:
    """The arm of a rig at rest, in armature space."""
    wrist = binding.rest[0]
    little = wrist[:3, 0] if binding.side == "right" else -wrist[:3, 0]
    # Down where the take begins: an armature that is tipped over in it takes its elbow along.
    down = -np.linalg.inv(world.reshape(-1, 4, 4)[0, :3, :3])[:, 2]
    try:
        places = np.stack([shoulder, elbow, wrist[:3, 3]])
        return arms.from_rest(places, wrist[:3, :3], little, down / np.linalg.norm(down) + little / 2)
    except arms.SkeletonError as error:
        raise RigError(
            f"armature '{binding.armature}': '{bones.upper}' and '{bones.fore}' make no arm ({error}), choose others"
        ) from error
