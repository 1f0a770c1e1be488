"""A rig's hand that touches a point or follows a course with its wrist or a fingertip, by the arm that carries it."""

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
from ...posing.following import Brought, Course, End, Shoulder, Tool, bring, reach_out
from ...solvers import arm as arms
from .. import rotation_channels
from ..armature_hands import FoundHand
from ..binding import posed_frames
from ..keys import parent_motion
from ..keys.arm_keys import ArmBones, find_arm, fitted_arm, move_arm
from ..keys.keyframes import KeyedHand, key_hands
from .posable_hand import take
from .rig_hand import HandState, RigHand

if TYPE_CHECKING:
    from bpy.types import Action, Object

Floats = NDArray[np.float64]
Courses = Callable[[Tool], Course]
"""The course that a hand takes from where it stands."""

AS_IT_IS: Mapping[str, Floats] = MappingProxyType({})
ROUNDS = 3
"""Times that an arm is placed anew where bones in it that are no shoulder or elbow leave the wrist off its place."""
NEAR = 1e-5
"""m at which a wrist is there."""
BENT = 0.01
"""Of an arm's length: an elbow nearer than this to the line from shoulder to wrist says nothing of its side."""
FAR = 20.0
"""Of an arm's length, how far away its pole is."""


@dataclass(frozen=True, slots=True)
class Follower:
    """A hand of an armature that follows. Holds names and numbers, so that it outlives undo."""

    held: RigHand
    arm: ArmBones | None
    """What carries its wrist; None where it hangs on no arm that keys move."""
    fixed: str
    """Why its wrist stays where it is, a sentence; empty where it goes along."""


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """What a hand does on its course."""

    brought: Brought
    stands: HandState
    """How it stood before."""


def follower(armature: "Object", found: FoundHand, *, limited: bool = True, held: RigHand | None = None) -> Follower:
    """A hand that was found, and what carries it; held: the hand, where it is known already.

    Raises RigError and HandError as held.take does.
    """
    held = held or take(armature, found, limited=limited)
    try:
        arm = find_arm(armature, found)
    except RigError as error:
        return Follower(held, None, "" if held.binding.placed[0] else str(error))
    if arm is None:
        binding = held.binding
        placed = binding.placed.copy()
        placed[JOINT_INDEX["wrist"]] = True
        held = replace(held, binding=replace(binding, placed=placed))
    return Follower(held, arm, "")


def go(who: Follower, joint: str, course: Courses, frames: Floats | None = None, *, alone: bool = False) -> Followed:
    """The poses of a hand whose `joint`, the wrist or a tip, goes along a course, at scene frames (N,) or now.

    alone: only the digit moves. Raises RigError for a hand that is gone, a digit that the rig lacks and a wrist that
    stays where it is, SolverError and HandError as courses and solvers do.
    """
    held, digit = who.held, digit_of(joint)
    if digit is not None and digit not in held.digits:
        raise RigError(f"armature '{held.binding.armature}' has no {joint} on this hand, choose another digit")
    stands = held.read()
    root, angles = stands.pose.root[0], stands.pose.angles[0]
    tool, end = _as_seen(held, stands, joint)
    way = course(tool)
    if digit is not None and (alone or who.fixed):
        return Followed(reach_out(held.hand, root, angles, end, way.ends), stands)
    if who.fixed:
        raise RigError(who.fixed)
    return Followed(bring(held.hand, angles, end, way, shoulder(who, frames)), stands)


def standing_arm(who: Follower) -> tuple[arms.Arm, Floats, Floats] | None:
    """The arm as large as it is in the world, and where its shoulder and elbow (3,) m are; None for a hand without."""
    carried = shoulder(who, None)
    if carried is None:
        return None
    return carried.arm, carried.base, elbow(who)[1]


def pose(who: Follower, followed: Followed) -> None:
    """Poses arm and hand as the first step has them, without keys. Raises RigError where the hand is gone."""
    held, first = who.held, followed.brought.pose
    wanted = Pose(held.hand, first.root[:1], first.angles[:1])
    if who.arm:
        # The hand stays on the arm, also where that does not quite bring it there.
        wanted = Pose(held.hand, _with_place(wanted.root, pose_arm(who, pointed(who), wanted)), wanted.angles)
    held.write(HandState(wanted, followed.stands.beyond))
    bpy.context.view_layer.update()


def posed_bones(who: Follower) -> list[tuple[str, bool]]:
    """The bones of hand and arm that `pose` poses, and whether they are moved as well as turned."""
    binding = who.held.binding
    bones = [(str(binding.bones[joint]), bool(binding.placed[joint])) for joint in binding.mapped]
    return [*((name, False) for name in ((who.arm.upper, who.arm.fore) if who.arm else ())), *bones]


def key(who: Follower, followed: Followed, frames: Floats, name: str) -> "Action":
    """Keys a course at scene frames (N,) into a new action, as key_hands does. Raises RigError."""
    held, arm = who.held, pointed(who) if who.arm else None
    keyed = KeyedHand(held.binding, held.hand, followed.brought.pose, arm, followed.stands.beyond)
    return key_hands(held.armature_object(), [keyed], frames, name)


def _as_seen(held: RigHand, stands: HandState, joint: str) -> tuple[Tool, End]:
    """The hand as it stands, and what of it follows: a tip is where the rig's last bone ends."""
    root, angles = stands.pose.root[0], stands.pose.angles
    model = joint_position(Pose.at_origin(held.hand, angles), joint)[0]
    armature = held.armature_object()
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    seen = np.array(evaluated.matrix_world) @ posed_frames(evaluated, held.binding)[JOINT_INDEX[joint], :, 3]
    end = root[:3, :3].T @ (seen[:3] - root[:3, 3]) if joint != "wrist" else model
    return Tool(root, end), End(joint, end - model)


def shoulder(who: Follower, frames: Floats | None) -> Shoulder | None:
    """The arm in the world, as large as it is there, now or at scene frames (N,)."""
    if who.arm is None:
        return None
    world, carried = _carried(who, frames)
    armature = who.held.armature_object()
    fitted = fitted_arm(armature, who.arm, who.held.binding, world)
    size = float(np.cbrt(abs(np.linalg.det(world.reshape(-1, 4, 4)[0, :3, :3]))))
    arm = replace(fitted.arm, upper=size * fitted.arm.upper, fore=size * fitted.arm.fore)
    return Shoulder(arm, (world @ carried)[..., :3, 3])


def _carried(who: Follower, frames: Floats | None = None) -> tuple[Floats, Floats]:
    """T_world_armature, and where the upper arm's rest is carried to: (4, 4), or (N, 4, 4) where they move."""
    assert who.arm is not None
    armature, name = who.held.armature_object(), who.arm.upper
    rest = np.array(armature.data.bones[name].matrix_local)
    if frames is None:
        world, carried = parent_motion.standing_now(armature, [name])
    else:
        world, carried = parent_motion.standing(armature, [name], frames)
    return world, carried.get(name, rest)


def pointed(who: Follower) -> ArmBones:
    """The arm with its elbow on the side on which it is now, or to where that was told.

    The elbow is turned about the line from shoulder to wrist by an angle from where the arm's own pole has it: down,
    and to the side of the little finger. The pole is turned by as much, and far away: so an elbow that is as a
    person's stays so, wherever the wrist goes. An arm that is straight says nothing of it.
    """
    assert who.arm is not None
    if who.arm.pole is not None:
        return who.arm
    armature, (world, carried) = who.held.armature_object(), _carried(who)
    fitted = fitted_arm(armature, who.arm, who.held.binding, world)
    unrest: Floats = np.linalg.inv(np.array(armature.data.bones[who.arm.upper].matrix_local, float))
    base = carried @ unrest @ fitted.base
    own: Floats = base[:3, :3] @ np.array(fitted.arm.pole, float)
    wrist = (np.linalg.inv(world) @ np.array([*_seen_wrist(who.held), 1.0]))[:3]
    way, out = rot.unit_vector(wrist - base[:3, 3]), elbow(who)[0] - base[:3, 3]
    aside, length = out - (out @ way) * way, fitted.arm.upper + fitted.arm.fore
    if np.linalg.norm(aside) > BENT * length:
        along = float(own @ way)
        own = along * way + np.sqrt(max(float(own @ own) - along * along, 0.0)) * rot.unit_vector(aside)
    x, y, z = (base[:3, 3] + FAR * length * rot.unit_vector(own)).tolist()
    return replace(who.arm, pole=(x, y, z))


def elbow(who: Follower) -> tuple[Floats, Floats]:
    """(3,) where the elbow of a hand's arm is now in armature space, and (3,) m in the world."""
    assert who.arm is not None
    armature = who.held.armature_object()
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    place = evaluated.pose.bones[who.arm.fore].head
    return np.array(place), np.array(evaluated.matrix_world @ place)


def pose_arm(who: Follower, arm: ArmBones, wanted: Pose, beyond: Mapping[str, Floats] = AS_IT_IS) -> Floats:
    """Turns the arm's bones so that the wrist comes to where a pose has it; (3,) m in the world, where it then is.

    beyond: bone -> (4,) wxyz, how it is turned on top of that.
    """
    held, armature = who.held, who.held.armature_object()
    world, carried = _carried(who)
    goal = wanted.root[0, :3, 3].copy()
    for _ in range(ROUNDS):
        asked = Pose(held.hand, _with_place(wanted.root, goal), wanted.angles)
        motion = move_arm(armature, arm, held.binding, asked, world=world, carried=carried)
        for name, rotations in motion.rotations.items():
            bone = armature.pose.bones[name]
            turned = rot.multiply(rotations, beyond.get(name, rot.IDENTITY))
            path = rotation_channels.channel(bone.rotation_mode)
            setattr(bone, path, rotation_channels.nearest(turned[0], bone.rotation_mode, np.array(getattr(bone, path))))
        bpy.context.view_layer.update()
        seen = _seen_wrist(held)
        off = wanted.root[0, :3, 3] - seen
        if np.linalg.norm(off) < NEAR:
            break
        goal = goal + off
    return seen


def arm_beyond(who: Follower, arm: ArmBones, pose: Pose) -> dict[str, Floats]:
    """Bone -> (4,) wxyz, how an arm's bones are turned on top of what brings the wrist to where a pose has it."""
    armature = who.held.armature_object()
    world, carried = _carried(who)
    motion = move_arm(armature, arm, who.held.binding, pose, world=world, carried=carried)
    return {
        name: rot.multiply(rot.conjugate(turned[0]), np.array(armature.pose.bones[name].matrix_basis.to_quaternion()))
        for name, turned in motion.rotations.items()
    }


def _seen_wrist(held: RigHand) -> Floats:
    """(3,) m, where the wrist is in the world as evaluated."""
    armature = held.armature_object()
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    place: Floats = (np.array(evaluated.matrix_world) @ posed_frames(evaluated, held.binding)[0, :, 3])[:3]
    return place


def _with_place(roots: Floats, place: Floats) -> Floats:
    moved = roots.copy()
    moved[:, :3, 3] = place
    return moved
