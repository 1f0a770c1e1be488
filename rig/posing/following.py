"""Move a rig's hand so that its wrist or a fingertip touches a point or follows a course, by its arm."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import rotations as rot
from ...hand.joints import JOINT_INDEX, digit_of
from ...hand.kinematics import Pose, joint_position
from ...posing.following import Course, End, FollowedCourse, Shoulder, Tool, reach_with_digit, solve_course
from ...solvers import arm as arms
from .. import rotation_channels
from ..armature_hands import FoundHand
from ..binding import posed_frames
from ..keys import parent_motion
from ..keys.arm_keys import ArmBones, find_arm, move_arm, rest_arm
from ..keys.hand_motion import KeyedHand
from ..keys.keyframes import key_hands
from .posable_hand import make_rig_hand
from .rig_hand import HandState, RigHand

if TYPE_CHECKING:
    from bpy.types import Action, Object

Floats = NDArray[np.float64]
Courses = Callable[[Tool], Course]
"""Makes the course of a hand from its present pose."""

AS_IT_IS: Mapping[str, Floats] = MappingProxyType({})
ROUNDS = 3
"""Iterations of posing an arm in which other bones than shoulder and elbow shift the wrist."""
NEAR = 1e-5
"""m between a wrist and its goal at which it is reached."""
BENT = 0.01
"""Arm lengths from the line between shoulder and wrist within which an elbow has no side."""
FAR = 20.0
"""Arm lengths from the shoulder to the pole."""


@dataclass(frozen=True, slots=True)
class Follower:
    """A hand of an armature with its arm. Holds names and numbers, so that it stays valid after undo."""

    rig_hand: RigHand
    arm: ArmBones | None
    """The arm that carries its wrist; None without one that keys move."""
    fixed: str
    """Why its wrist cannot be moved, a sentence; empty if it can."""


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """A hand's poses on its course."""

    brought: FollowedCourse
    state: HandState
    """The state before."""


def follower(
    armature: "Object", found: FoundHand, *, limited: bool = True, rig_hand: RigHand | None = None
) -> Follower:
    """Return a detected hand with its arm; held: its RigHand, if there is one already.

    Raises RigError and HandError as make_rig_hand does.
    """
    rig_hand = rig_hand or make_rig_hand(armature, found, limited=limited)
    try:
        arm = find_arm(armature, found)
    except RigError as error:
        return Follower(rig_hand, None, "" if rig_hand.binding.location_keyed[0] else str(error))
    if arm is None:
        binding = rig_hand.binding
        placed = binding.location_keyed.copy()
        placed[JOINT_INDEX["wrist"]] = True
        rig_hand = replace(rig_hand, binding=replace(binding, location_keyed=placed))
    return Follower(rig_hand, arm, "")


def follow_course(
    who: Follower, joint: str, course: Courses, frames: Floats | None = None, *, alone: bool = False
) -> Followed:
    """Return the poses of a hand whose wrist or tip follows a course.

    Args:
        who: the hand.
        joint: the wrist, or a tip.
        course: the course.
        frames: (N,) scene frames; by default the present one.
        alone: whether only the digit moves.

    Raises:
        RigError: the hand is gone, lacks the digit, or has a wrist that cannot be moved.
        SolverError, HandError: as courses and solvers do.
    """
    rig_hand, digit = who.rig_hand, digit_of(joint)
    if digit is not None and digit not in rig_hand.digits:
        raise RigError(f"armature '{rig_hand.binding.armature}' has no {joint} on this hand, choose another digit")
    state = rig_hand.read()
    root, angles = state.pose.root[0], state.pose.angles[0]
    tool, end = _as_seen(rig_hand, state, joint)
    way = course(tool)
    if digit is not None and (alone or who.fixed):
        return Followed(reach_with_digit(rig_hand.hand, root, angles, end, way.ends), state)
    if who.fixed:
        raise RigError(who.fixed)
    return Followed(solve_course(rig_hand.hand, angles, end, way, shoulder(who, frames)), state)


def standing_arm(who: Follower) -> tuple[arms.Arm, Floats, Floats] | None:
    """Return the arm in world size, and its shoulder and elbow (3,) m; None without an arm."""
    carried = shoulder(who, None)
    if carried is None:
        return None
    return carried.arm, carried.base, elbow(who)[1]


def pose(who: Follower, followed: Followed) -> None:
    """Pose arm and hand at the first step, without keys. Raises RigError where the hand is gone."""
    rig_hand, first = who.rig_hand, followed.brought.pose
    wanted = Pose(rig_hand.hand, first.root[:1], first.angles[:1])
    if who.arm:
        # The hand stays on the arm, even if that does not quite reach the goal.
        wanted = Pose(
            rig_hand.hand, _with_place(wanted.root, pose_arm(who, with_present_pole(who), wanted)), wanted.angles
        )
    rig_hand.write(HandState(wanted, followed.state.beyond))
    bpy.context.view_layer.update()


def posed_bones(who: Follower) -> list[tuple[str, bool]]:
    """Return the bones of hand and arm that `pose` poses, and whether their locations are posed too."""
    binding = who.rig_hand.binding
    bones = [(str(binding.bones[joint]), bool(binding.location_keyed[joint])) for joint in binding.mapped]
    return [*((name, False) for name in ((who.arm.upper, who.arm.fore) if who.arm else ())), *bones]


def key(who: Follower, followed: Followed, frames: Floats, name: str) -> "Action":
    """Key a course at scene frames (N,) in a new action, as key_hands does. Raises RigError."""
    rig_hand, arm = who.rig_hand, with_present_pole(who) if who.arm else None
    keyed = KeyedHand(rig_hand.binding, rig_hand.hand, followed.brought.pose, arm, followed.state.beyond)
    return key_hands(rig_hand.armature_object(), [keyed], frames, name)


def _as_seen(rig_hand: RigHand, state: HandState, joint: str) -> tuple[Tool, End]:
    """Return the hand as a tool in its present pose, and its end; a tip is the end of the rig's last bone."""
    root, angles = state.pose.root[0], state.pose.angles
    model = joint_position(Pose.at_origin(rig_hand.hand, angles), joint)[0]
    armature = rig_hand.armature_object()
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    seen = np.array(evaluated.matrix_world) @ posed_frames(evaluated, rig_hand.binding)[JOINT_INDEX[joint], :, 3]
    end = root[:3, :3].T @ (seen[:3] - root[:3, 3]) if joint != "wrist" else model
    return Tool(root, end), End(joint, end - model)


def shoulder(who: Follower, frames: Floats | None) -> Shoulder | None:
    """Return the arm in world size and its base, now or at scene frames (N,); None without an arm."""
    if who.arm is None:
        return None
    world, carried = _carried(who, frames)
    armature = who.rig_hand.armature_object()
    fitted = rest_arm(armature, who.arm, who.rig_hand.binding, world)
    size = float(np.cbrt(abs(np.linalg.det(world.reshape(-1, 4, 4)[0, :3, :3]))))
    arm = replace(fitted.arm, upper=size * fitted.arm.upper, fore=size * fitted.arm.fore)
    return Shoulder(arm, (world @ carried)[..., :3, 3])


def _carried(who: Follower, frames: Floats | None = None) -> tuple[Floats, Floats]:
    """Return T_world_armature and the upper arm's rest as its parents carry it: (4, 4), or (N, 4, 4) if they move."""
    assert who.arm is not None
    armature, name = who.rig_hand.armature_object(), who.arm.upper
    rest = np.array(armature.data.bones[name].matrix_local)
    if frames is None:
        world, carried = parent_motion.standing_now(armature, [name])
    else:
        world, carried = parent_motion.standing(armature, [name], frames)
    return world, carried.get(name, rest)


def with_present_pole(who: Follower) -> ArmBones:
    """Return the arm with a pole that keeps its elbow on the present side; a pole that is set stays.

    The arm's own pole points down and to the side of the little finger. It is rotated about the line from shoulder to
    wrist by the angle between its elbow and the present one, and moved far away, so that a natural elbow stays natural
    wherever the wrist goes. A straight arm keeps its own pole.
    """
    assert who.arm is not None
    if who.arm.pole is not None:
        return who.arm
    armature, (world, carried) = who.rig_hand.armature_object(), _carried(who)
    fitted = rest_arm(armature, who.arm, who.rig_hand.binding, world)
    unrest: Floats = np.linalg.inv(np.array(armature.data.bones[who.arm.upper].matrix_local, float))
    base = carried @ unrest @ fitted.base
    own: Floats = base[:3, :3] @ np.array(fitted.arm.pole, float)
    wrist = (np.linalg.inv(world) @ np.array([*_seen_wrist(who.rig_hand), 1.0]))[:3]
    way, out = rot.unit_vector(wrist - base[:3, 3]), elbow(who)[0] - base[:3, 3]
    aside, length = out - (out @ way) * way, fitted.arm.upper + fitted.arm.fore
    if np.linalg.norm(aside) > BENT * length:
        along = float(own @ way)
        own = along * way + np.sqrt(max(float(own @ own) - along * along, 0.0)) * rot.unit_vector(aside)
    x, y, z = (base[:3, 3] + FAR * length * rot.unit_vector(own)).tolist()
    return replace(who.arm, pole=(x, y, z))


def elbow(who: Follower) -> tuple[Floats, Floats]:
    """Return the present elbow (3,) in armature space, and (3,) m in the world."""
    assert who.arm is not None
    armature = who.rig_hand.armature_object()
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    place = evaluated.pose.bones[who.arm.fore].head
    return np.array(place), np.array(evaluated.matrix_world @ place)


def pose_arm(who: Follower, arm: ArmBones, wanted: Pose, beyond: Mapping[str, Floats] = AS_IT_IS) -> Floats:
    """Rotate the arm's bones so that the wrist reaches its position in a pose; return where it is, (3,) m in the world.

    beyond: bone -> (4,) wxyz, its rotation on top of that.
    """
    rig_hand, armature = who.rig_hand, who.rig_hand.armature_object()
    world, carried = _carried(who)
    goal = wanted.root[0, :3, 3].copy()
    for _ in range(ROUNDS):
        asked = Pose(rig_hand.hand, _with_place(wanted.root, goal), wanted.angles)
        motion = move_arm(armature, arm, rig_hand.binding, asked, world=world, shoulder_rest=carried)
        for name, rotations in motion.rotations.items():
            bone = armature.pose.bones[name]
            turned = rot.multiply(rotations, beyond.get(name, rot.IDENTITY))
            path = rotation_channels.channel(bone.rotation_mode)
            setattr(
                bone,
                path,
                rotation_channels.nearest_values(turned[0], bone.rotation_mode, np.array(getattr(bone, path))),
            )
        bpy.context.view_layer.update()
        seen = _seen_wrist(rig_hand)
        off = wanted.root[0, :3, 3] - seen
        if np.linalg.norm(off) < NEAR:
            break
        goal = goal + off
    return seen


def arm_beyond(who: Follower, arm: ArmBones, pose: Pose) -> dict[str, Floats]:
    """Return bone -> (4,) wxyz, the rotation of an arm's bone on top of what brings the wrist to a pose."""
    armature = who.rig_hand.armature_object()
    world, carried = _carried(who)
    motion = move_arm(armature, arm, who.rig_hand.binding, pose, world=world, shoulder_rest=carried)
    return {
        name: rot.multiply(rot.conjugate(turned[0]), np.array(armature.pose.bones[name].matrix_basis.to_quaternion()))
        for name, turned in motion.rotations.items()
    }


def _seen_wrist(rig_hand: RigHand) -> Floats:
    """Return the evaluated wrist (3,) m in the world."""
    armature = rig_hand.armature_object()
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    place: Floats = (np.array(evaluated.matrix_world) @ posed_frames(evaluated, rig_hand.binding)[0, :, 3])[:3]
    return place


def _with_place(roots: Floats, place: Floats) -> Floats:
    moved = roots.copy()
    moved[:, :3, 3] = place
    return moved
