"""Keys for the arm of a rig's hand, so that the wrist reaches its captured position."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import rotations as rot
from ...hand.joints import DIGIT_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose
from ...solvers import arm as arms
from ..armature_data import plain_bones
from ..armature_hands import FoundHand
from ..binding import RigBinding, joint_points
from ..detection.arms import arm_above
from ..detection.name_hints import arm_part
from ..limits.read_limits import driven
from ..pose_transfer import into_points

if TYPE_CHECKING:
    from bpy.types import Bone, Object

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ArmBones:
    """The names of the two bones that pose an arm, which begin at the shoulder and at the elbow."""

    upper: str
    fore: str
    pole: tuple[float, float, float] | None = None
    """Direction in which the elbow points, in armature space; None: down, and to the side of the little finger."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmMotion:
    """The rotations to key on an arm, and the resulting motion of the forearm."""

    rotations: Mapping[str, Floats]
    """Bone -> (F, 4) unit quaternions wxyz relative to its rest."""
    forearm: Floats
    """(F, 4, 4) the forearm's transform from rest to pose, in armature space."""


def find_arm(armature: "Object", found: FoundHand) -> ArmBones | None:
    """Return the arm above a hand; None if the wrist's control moves the arm, as on a rig whose arm is in IK.

    The arm is detected among the ancestors of the wrist, with names as a hint (`detection/arms.py`). A control that is
    no descendant of the arm has its location keyed instead. Raises RigError if there is no arm, or if keys have no
    effect on it.
    """
    wrist = armature.data.bones[found.bones["wrist"]]
    if arm := _arm_of(armature, found, wrist):
        _check_turns(armature, wrist, arm)
        return arm
    if not arm_led(armature, found):
        raise RigError(
            f"armature '{armature.name}' has no arm above its {found.side} wrist, expected bones from shoulder to "
            "elbow and from there to the wrist, about as long as a person's: choose another armature, or leave the arm "
            "as it is"
        )
    if any(armature.pose.bones[wrist.name].lock_location):
        raise RigError(
            f"armature '{armature.name}': '{wrist.name}' brings the arm along and is locked in its place, unlock its "
            "location, or leave the arm as it is"
        )
    return None


def arm_led(armature: "Object", found: FoundHand) -> ArmBones | None:
    """Return the arm that follows the wrist's control, as one in IK does; None if there is none."""
    if found.carrier is None or found.carrier == found.bones["wrist"]:
        return None
    return _arm_of(armature, found, armature.data.bones[found.carrier])


def check_arms(armature: "Object", hands: Iterable[FoundHand]) -> None:
    """Raise RigError as find_arm does if none of the hands has an arm that can be keyed."""
    problem: RigError | None = None
    for hand in hands:
        try:
            find_arm(armature, hand)
        except RigError as error:
            problem = problem or error
        else:
            return
    if problem is not None:
        raise problem


def _arm_of(armature: "Object", found: FoundHand, wrist: "Bone") -> ArmBones | None:
    """Return the arm that ends at the bone `wrist`."""
    above = [wrist, *wrist.parent_recursive]
    heads = np.array([bone.head_local for bone in above])
    rows = arm_above(heads, _hand_length(armature, found), [arm_part(bone.name) for bone in above])
    return ArmBones(above[rows[1]].name, above[rows[0]].name) if rows else None


def _hand_length(armature: "Object", found: FoundHand) -> float:
    """Return the length from the wrist to the tip of the longest digit, along its joints."""
    points = joint_points(armature, found.bones)
    digits = ([JOINT_INDEX["wrist"], *map(JOINT_INDEX.__getitem__, joints)] for joints in DIGIT_JOINTS.values())
    chains = [points[digit][np.isfinite(points[digit]).all(axis=-1)] for digit in digits]
    return max(float(np.linalg.norm(np.diff(chain, axis=0), axis=-1).sum()) for chain in chains)


def _check_turns(armature: "Object", wrist: "Bone", arm: ArmBones) -> None:
    """Raise RigError if a bone does not inherit the arm's rotation, or if keys do not rotate the arm."""
    names = [wrist.name, *(bone.name for bone in wrist.parent_recursive)]
    below = [armature.data.bones[name] for name in names[: names.index(arm.upper)]]
    apart = [bone.name for bone in below if not bone.use_inherit_rotation]
    if apart:
        raise RigError(
            f"armature '{armature.name}': bone '{apart[0]}' does not turn with the arm that it hangs on, let it "
            "inherit its parent's rotation, or leave the arm as it is"
        )
    constrained = {bone.name for bone in plain_bones(armature) if bone.driven}
    held = [name for name in (arm.upper, arm.fore) if name in constrained] + driven(armature, (arm.upper, arm.fore))
    if held:
        raise RigError(
            f"armature '{armature.name}': constraints or drivers turn '{held[0]}', so that keys do not: switch the arm "
            "to FK or mute them, or leave the arm as it is"
        )


def move_arm(
    armature: "Object", bones: ArmBones, binding: RigBinding, pose: Pose, *, world: Floats, carried: Floats
) -> ArmMotion:
    """Return the motion of an arm that brings the wrist to its position in `pose`, or straight towards it.

    world: T_world_armature. carried: the upper arm's rest matrix as moved by its ancestors, in armature space. Each is
    (4, 4) or (F, 4, 4). Bones between shoulder, elbow and wrist stay at rest. The elbow points to the arm's pole;
    without a pole down, and to the side on which the little finger is at rest. Raises RigError if the arm's bones have
    no length.

    With U and E the rest matrices of upper arm and forearm, and A the motion of the solved arm's frame from its rest:
        bone pose    P = A · E            each bone moves with its frame
        carried      C = P_upper · (U^-1 · E)
        basis          = C^-1 · P
    """
    upper, fore = (np.array(armature.data.bones[name].matrix_local) for name in (bones.upper, bones.fore))
    fitted = fitted_arm(armature, bones, binding, world)
    goal = np.tile(np.eye(4), (len(pose), 1, 1))
    goal[:, :3, :3] = rot.transformed(np.linalg.inv(world[..., :3, :3]), pose.root[:, :3, :3])
    goal[:, :3, 3] = into_points(world, pose.root[:, :3, 3])
    base = np.broadcast_to(carried @ np.linalg.inv(upper) @ fitted.base, goal.shape)
    posed, _ = arms.solve(fitted.arm, goal, base, np.array(bones.pole) if bones.pole else None)
    moves = arms.frames(fitted.arm, posed, base) @ np.linalg.inv(fitted.rest)
    upper_pose, fore_pose = moves[:, 0] @ upper, moves[:, 1] @ fore
    held = upper_pose @ np.linalg.inv(upper) @ fore
    bases = {bones.upper: np.linalg.inv(carried) @ upper_pose, bones.fore: np.linalg.inv(held) @ fore_pose}
    turned = {name: rot.from_matrix(basis[:, :3, :3]) for name, basis in bases.items()}
    return ArmMotion(turned, moves[:, 1])


def fitted_arm(armature: "Object", bones: ArmBones, binding: RigBinding, world: Floats) -> arms.RestArm:
    """Return a rig's arm at rest in armature space; world: see move_arm. Raises RigError for bones without length."""
    shoulder, elbow = (np.array(armature.data.bones[name].head_local) for name in (bones.upper, bones.fore))
    wrist = binding.rest[0]
    little = wrist[:3, 0] if binding.side == "right" else -wrist[:3, 0]
    # Down at the first frame: if the armature tips over during the take, the elbow's direction tips with it.
    down = -np.linalg.inv(world.reshape(-1, 4, 4)[0, :3, :3])[:, 2]
    try:
        places = np.stack([shoulder, elbow, wrist[:3, 3]])
        return arms.from_rest(places, wrist[:3, :3], little, down / np.linalg.norm(down) + little / 2)
    except arms.SkeletonError as error:
        raise RigError(
            f"armature '{binding.armature}': '{bones.upper}' and '{bones.fore}' make no arm ({error}), choose others"
        ) from error
