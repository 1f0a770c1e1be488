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
from ..limits.read_limits import with_driven_rotation
from ..pose_transfer import points_to_armature

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
    fitted: arms.RestArm
    """The arm that was solved."""
    state: arms.ArmState
    """State for the following frames."""


def find_arm(armature: "Object", found: FoundHand) -> ArmBones | None:
    """Return the arm above a hand; None if the wrist's control moves the arm, as on a rig whose arm is in IK.

    The arm is detected among the ancestors of the wrist, with names as a hint (`detection/arms.py`). A control that is
    no descendant of the arm has its location keyed instead. Raises RigError if there is no arm, or if keys have no
    effect on it.
    """
    wrist = armature.data.bones[found.bones["wrist"]]
    if arm := arm_ending_at(armature, found.bones, wrist):
        _check_rotates(armature, wrist, arm)
        return arm
    if not arm_following(armature, found):
        raise RigError(
            f"armature '{armature.name}' has no arm above its {found.side} wrist, expected bones from shoulder to "
            "elbow and from there to the wrist, about as long as a person's: choose another armature, or leave the arm "
            "as it is"
        )
    if any(armature.pose.bones[wrist.name].lock_location):
        raise RigError(
            f"armature '{armature.name}': '{wrist.name}' brings the arm along and its location is locked, unlock its "
            "location, or leave the arm as it is"
        )
    return None


def arm_of(armature: "Object", found: FoundHand) -> ArmBones | None:
    """Return the arm above a hand, whether keys move it or it follows the wrist's control; None if there is none."""
    wrist = armature.data.bones[found.bones["wrist"]]
    return arm_ending_at(armature, found.bones, wrist) or arm_following(armature, found)


def arm_following(armature: "Object", found: FoundHand) -> ArmBones | None:
    """Return the arm that follows the wrist's control, as one in IK does; None if there is none."""
    if found.carrier is None or found.carrier == found.bones["wrist"]:
        return None
    return arm_ending_at(armature, found.bones, armature.data.bones[found.carrier])


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


def arm_ending_at(armature: "Object", hand: Mapping[str, str], wrist: "Bone") -> ArmBones | None:
    """Return the arm that ends at the bone `wrist`; hand: joint -> its bone."""
    chain = [wrist, *wrist.parent_recursive]
    heads = np.array([bone.head_local for bone in chain])
    rows = arm_above(heads, _hand_length(armature, hand), [arm_part(bone.name) for bone in chain])
    return ArmBones(chain[rows[1]].name, chain[rows[0]].name) if rows else None


def _hand_length(armature: "Object", hand: Mapping[str, str]) -> float:
    """Return the length from the wrist to the tip of the longest digit, along its joints."""
    points = joint_points(armature, hand)
    digits = ([JOINT_INDEX["wrist"], *map(JOINT_INDEX.__getitem__, joints)] for joints in DIGIT_JOINTS.values())
    chains = [points[digit][np.isfinite(points[digit]).all(axis=-1)] for digit in digits]
    return max(float(np.linalg.norm(np.diff(chain, axis=0), axis=-1).sum()) for chain in chains)


def _check_rotates(armature: "Object", wrist: "Bone", arm: ArmBones) -> None:
    """Raise RigError if a bone does not inherit the arm's rotation, or if keys do not rotate the arm."""
    names = [wrist.name, *(bone.name for bone in wrist.parent_recursive)]
    arm_bones = [armature.data.bones[name] for name in names[: names.index(arm.upper)]]
    detached = [bone.name for bone in arm_bones if not bone.use_inherit_rotation]
    if detached:
        raise RigError(
            f"armature '{armature.name}': bone '{detached[0]}' does not rotate with its arm, let it "
            "inherit its parent's rotation, or leave the arm as it is"
        )
    constrained = {bone.name for bone in plain_bones(armature) if bone.driven}
    uncontrollable = [name for name in (arm.upper, arm.fore) if name in constrained] + with_driven_rotation(
        armature, (arm.upper, arm.fore)
    )
    if uncontrollable:
        raise RigError(
            f"armature '{armature.name}': constraints or drivers rotate '{uncontrollable[0]}', so keys have no effect: "
            "switch the arm to FK or mute them, or leave the arm as it is"
        )


def move_arm(
    armature: "Object",
    bones: ArmBones,
    binding: RigBinding,
    pose: Pose,
    *,
    world: Floats,
    shoulder_rest: Floats,
    before: ArmMotion | None = None,
) -> ArmMotion:
    """Return the motion of an arm that brings the wrist to its position in `pose`, or straight towards it.

    world: T_world_armature. shoulder_rest: the upper arm's rest matrix as moved by its ancestors, in armature space.
    Each is (4, 4) or (F, 4, 4). before: the motion in the previous frames, which is continued as if all frames were
    solved together. Bones between shoulder, elbow and wrist stay at rest. The elbow points to the arm's pole; without a
    pole down, and to the side on which the little finger is at rest. Raises RigError if the arm's bones have no length.

    With U and E the rest matrices of upper arm and forearm, and A the motion of the solved arm's frame from its rest:
        bone pose    P = A · E            each bone moves with its frame
        carried      C = P_upper · (U^-1 · E)
        basis          = C^-1 · P
    """
    upper_bone_rest, fore_bone_rest = (
        np.array(armature.data.bones[name].matrix_local) for name in (bones.upper, bones.fore)
    )
    fitted = before.fitted if before else rest_arm(armature, bones, binding, world)
    wrist_goal = np.tile(np.eye(4), (len(pose), 1, 1))
    to_armature = np.asarray(np.linalg.inv(world[..., :3, :3]), float)
    wrist_goal[:, :3, :3] = rot.transform_frames(to_armature, pose.root[:, :3, :3])
    wrist_goal[:, :3, 3] = points_to_armature(world, pose.root[:, :3, 3])
    base = np.broadcast_to(shoulder_rest @ np.linalg.inv(upper_bone_rest) @ fitted.base, wrist_goal.shape)
    pole = np.array(bones.pole) if bones.pole else None
    posed, state = arms.solve(fitted.arm, wrist_goal, base, pole, before.state if before else None)
    motions = arms.frames(fitted.arm, posed, base) @ np.linalg.inv(fitted.rest)
    upper_pose, fore_pose = motions[:, 0] @ upper_bone_rest, motions[:, 1] @ fore_bone_rest
    fore_rest = upper_pose @ np.linalg.inv(upper_bone_rest) @ fore_bone_rest
    bases = {bones.upper: np.linalg.inv(shoulder_rest) @ upper_pose, bones.fore: np.linalg.inv(fore_rest) @ fore_pose}
    rotations = {name: rot.from_matrix(basis[:, :3, :3]) for name, basis in bases.items()}
    return ArmMotion(rotations, motions[:, 1], fitted, state)


def rest_arm(armature: "Object", bones: ArmBones, binding: RigBinding, world: Floats) -> arms.RestArm:
    """Return a rig's arm at rest in armature space; world: see move_arm. Raises RigError for bones without length."""
    shoulder, elbow = (np.array(armature.data.bones[name].head_local) for name in (bones.upper, bones.fore))
    wrist = binding.rest[0]
    little_side = wrist[:3, 0] if binding.side == "right" else -wrist[:3, 0]
    # Down in the first frame: if the armature tips over during the take, the elbow's direction tips with it.
    down = -np.linalg.inv(world.reshape(-1, 4, 4)[0, :3, :3])[:, 2]
    try:
        points = np.stack([shoulder, elbow, wrist[:3, 3]])
        return arms.from_rest(points, wrist[:3, :3], little_side, down / np.linalg.norm(down) + little_side / 2)
    except arms.SkeletonError as error:
        raise RigError(
            f"armature '{binding.armature}': '{bones.upper}' and '{bones.fore}' make no arm ({error}), choose others"
        ) from error
