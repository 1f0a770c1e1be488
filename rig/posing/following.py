"""Move a rig's hand by its arm so that its wrist or a fingertip touches a point or follows a path."""

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
from ...posing.following import End, FollowedPath, HandPath, Shoulder, Tool, reach_with_digit, solve_path
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
PathMaker = Callable[[Tool], HandPath]
"""Returns the path of a hand from its current pose."""

NO_ROTATIONS: Mapping[str, Floats] = MappingProxyType({})
ROUNDS = 3
"""Iterations of posing an arm if bones other than shoulder and elbow shift the wrist."""
REACHED = 1e-5
"""m between a wrist and its goal below which the goal counts as reached."""
MIN_ELBOW_OFFSET = 0.01
"""Arm lengths from the line between shoulder and wrist within which an elbow has no side."""
POLE_DISTANCE = 20.0
"""Arm lengths from the shoulder to the pole."""


@dataclass(frozen=True, slots=True)
class HandArm:
    """A hand of an armature and the arm that carries it, by names and numbers, so that it stays valid after undo."""

    rig_hand: RigHand
    arm: ArmBones | None
    """The arm that carries its wrist; None if keys move no arm."""
    fixed: str
    """A sentence that says why its wrist cannot be moved; empty if it can."""


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """A hand's poses on its path."""

    path: FollowedPath
    state: HandState
    """The state before."""


def hand_arm_of(
    armature: "Object", found: FoundHand, *, limited: bool = True, rig_hand: RigHand | None = None
) -> HandArm:
    """Return a detected hand with its arm; rig_hand: its RigHand, if one exists already.

    Raises RigError and HandError as make_rig_hand does.
    """
    rig_hand = rig_hand or make_rig_hand(armature, found, limited=limited)
    try:
        arm = find_arm(armature, found)
    except RigError as error:
        return HandArm(rig_hand, None, "" if rig_hand.binding.location_keyed[0] else str(error))
    if arm is None:
        binding = rig_hand.binding
        keyed = binding.location_keyed.copy()
        keyed[JOINT_INDEX["wrist"]] = True
        rig_hand = replace(rig_hand, binding=replace(binding, location_keyed=keyed))
    return HandArm(rig_hand, arm, "")


def follow_path(
    hand_arm: HandArm, joint: str, make_path: PathMaker, frames: Floats | None = None, *, alone: bool = False
) -> Followed:
    """Return the poses of a hand whose wrist or tip follows a path.

    Args:
        hand_arm: the hand with its arm.
        joint: the wrist, or a tip.
        make_path: makes the path.
        frames: (N,) scene frames; the current one by default.
        alone: whether only the digit moves.

    Raises:
        RigError: the hand is gone, lacks the digit, or has a wrist that cannot be moved.
        SolverError, HandError: as paths and solvers do.
    """
    rig_hand, digit = hand_arm.rig_hand, digit_of(joint)
    if digit is not None and digit not in rig_hand.digits:
        raise RigError(f"armature '{rig_hand.binding.armature}' has no {joint} on this hand, choose another digit")
    state = rig_hand.read()
    root, angles = state.pose.root[0], state.pose.angles[0]
    tool, end = _tool(rig_hand, state, joint)
    path = make_path(tool)
    if digit is not None and (alone or hand_arm.fixed):
        return Followed(reach_with_digit(rig_hand.hand, root, angles, end, path.ends), state)
    if hand_arm.fixed:
        raise RigError(hand_arm.fixed)
    return Followed(solve_path(rig_hand.hand, angles, end, path, shoulder(hand_arm, frames)), state)


def current_arm(hand_arm: HandArm) -> tuple[arms.Arm, Floats, Floats] | None:
    """Return the present arm in world size, with its shoulder and elbow (3,) m; None without an arm."""
    shoulder_arm = shoulder(hand_arm, None)
    if shoulder_arm is None:
        return None
    return shoulder_arm.arm, shoulder_arm.base, elbow(hand_arm)[1]


def pose(hand_arm: HandArm, followed: Followed) -> None:
    """Pose arm and hand at the first step, without keys. Raises RigError if the hand no longer exists."""
    rig_hand, first = hand_arm.rig_hand, followed.path.pose
    goal = Pose(rig_hand.hand, first.root[:1], first.angles[:1])
    if hand_arm.arm:
        # The hand stays on the arm, even if that does not quite reach the goal.
        wrist = pose_arm(hand_arm, with_present_pole(hand_arm), goal)
        goal = Pose(rig_hand.hand, _with_position(goal.root, wrist), goal.angles)
    rig_hand.write(HandState(goal, followed.state.beyond))
    bpy.context.view_layer.update()


def posed_bones(hand_arm: HandArm) -> list[tuple[str, bool]]:
    """Return the bones of hand and arm that `pose` poses, and whether their locations are posed too."""
    binding = hand_arm.rig_hand.binding
    bones = [(str(binding.bones[joint]), bool(binding.location_keyed[joint])) for joint in binding.mapped]
    return [*((name, False) for name in ((hand_arm.arm.upper, hand_arm.arm.fore) if hand_arm.arm else ())), *bones]


def key(hand_arm: HandArm, followed: Followed, frames: Floats, name: str) -> "Action":
    """Key a path at scene frames (N,) in a new action, as key_hands does. Raises RigError."""
    rig_hand, arm = hand_arm.rig_hand, with_present_pole(hand_arm) if hand_arm.arm else None
    keyed = KeyedHand(rig_hand.binding, rig_hand.hand, followed.path.pose, arm, followed.state.beyond)
    return key_hands(rig_hand.armature_object(), [keyed], frames, name)


def _tool(rig_hand: RigHand, state: HandState, joint: str) -> tuple[Tool, End]:
    """Return the hand as a tool in its current pose, and its end; a tip is the end of the rig's last bone."""
    root, angles = state.pose.root[0], state.pose.angles
    model = joint_position(Pose.at_origin(rig_hand.hand, angles), joint)[0]
    armature = rig_hand.armature_object()
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    position = np.array(evaluated.matrix_world) @ posed_frames(evaluated, rig_hand.binding)[JOINT_INDEX[joint], :, 3]
    end = root[:3, :3].T @ (position[:3] - root[:3, 3]) if joint != "wrist" else model
    return Tool(root, end), End(joint, end - model)


def shoulder(hand_arm: HandArm, frames: Floats | None) -> Shoulder | None:
    """Return the arm in world size and its base, on the current frame or scene frames (N,); None without an arm."""
    if hand_arm.arm is None:
        return None
    world, carried_rest = _carried_rest(hand_arm, frames)
    armature = hand_arm.rig_hand.armature_object()
    fitted = rest_arm(armature, hand_arm.arm, hand_arm.rig_hand.binding, world)
    size = float(np.cbrt(abs(np.linalg.det(world.reshape(-1, 4, 4)[0, :3, :3]))))
    arm = replace(fitted.arm, upper=size * fitted.arm.upper, fore=size * fitted.arm.fore)
    return Shoulder(arm, (world @ carried_rest)[..., :3, 3])


def _carried_rest(hand_arm: HandArm, frames: Floats | None = None) -> tuple[Floats, Floats]:
    """Return T_world_armature and the upper arm's rest as its parents carry it: (4, 4), or (N, 4, 4) if they move."""
    assert hand_arm.arm is not None
    armature, name = hand_arm.rig_hand.armature_object(), hand_arm.arm.upper
    rest = np.array(armature.data.bones[name].matrix_local)
    if frames is None:
        world, carried_rest = parent_motion.parents_on_current_frame(armature, [name])
    else:
        world, carried_rest = parent_motion.parents_on_frames(armature, [name], frames)
    return world, carried_rest.get(name, rest)


def with_present_pole(hand_arm: HandArm) -> ArmBones:
    """Return the arm with a pole that keeps its elbow on the present side. A pole that is already set is used.

    The arm's own pole points down and to the side of the little finger. It is rotated about the line from shoulder to
    wrist by the angle between its elbow and the current one, and moved far away, so that a natural elbow stays natural
    wherever the wrist goes. A straight arm keeps its own pole.
    """
    assert hand_arm.arm is not None
    if hand_arm.arm.pole is not None:
        return hand_arm.arm
    armature, (world, carried_rest) = hand_arm.rig_hand.armature_object(), _carried_rest(hand_arm)
    fitted = rest_arm(armature, hand_arm.arm, hand_arm.rig_hand.binding, world)
    unrest: Floats = np.linalg.inv(np.array(armature.data.bones[hand_arm.arm.upper].matrix_local, float))
    base = carried_rest @ unrest @ fitted.base
    own: Floats = base[:3, :3] @ np.array(fitted.arm.pole, float)
    wrist = (np.linalg.inv(world) @ np.array([*_evaluated_wrist(hand_arm.rig_hand), 1.0]))[:3]
    axis, to_elbow = rot.unit_vector(wrist - base[:3, 3]), elbow(hand_arm)[0] - base[:3, 3]
    aside, length = to_elbow - (to_elbow @ axis) * axis, fitted.arm.upper + fitted.arm.fore
    if np.linalg.norm(aside) > MIN_ELBOW_OFFSET * length:
        along = float(own @ axis)
        own = along * axis + np.sqrt(max(float(own @ own) - along * along, 0.0)) * rot.unit_vector(aside)
    x, y, z = (base[:3, 3] + POLE_DISTANCE * length * rot.unit_vector(own)).tolist()
    return replace(hand_arm.arm, pole=(x, y, z))


def elbow(hand_arm: HandArm) -> tuple[Floats, Floats]:
    """Return the present elbow (3,) in armature space, and (3,) m in the world."""
    assert hand_arm.arm is not None
    armature = hand_arm.rig_hand.armature_object()
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    head = evaluated.pose.bones[hand_arm.arm.fore].head
    return np.array(head), np.array(evaluated.matrix_world @ head)


def pose_arm(hand_arm: HandArm, arm: ArmBones, goal: Pose, beyond: Mapping[str, Floats] = NO_ROTATIONS) -> Floats:
    """Rotate the arm's bones so that the wrist reaches its position in a pose.

    beyond: bone -> (4,) wxyz, its rotation on top of that. Returns the evaluated wrist, (3,) m in the world.
    """
    rig_hand, armature = hand_arm.rig_hand, hand_arm.rig_hand.armature_object()
    world, carried_rest = _carried_rest(hand_arm)
    aimed_at = goal.root[0, :3, 3].copy()
    for _ in range(ROUNDS):
        aim = Pose(rig_hand.hand, _with_position(goal.root, aimed_at), goal.angles)
        motion = move_arm(armature, arm, rig_hand.binding, aim, world=world, shoulder_rest=carried_rest)
        for name, rotations in motion.rotations.items():
            bone = armature.pose.bones[name]
            rotation = rot.multiply(rotations, beyond.get(name, rot.IDENTITY))
            path = rotation_channels.channel(bone.rotation_mode)
            setattr(
                bone,
                path,
                rotation_channels.nearest_values(rotation[0], bone.rotation_mode, np.array(getattr(bone, path))),
            )
        bpy.context.view_layer.update()
        wrist = _evaluated_wrist(rig_hand)
        missing = goal.root[0, :3, 3] - wrist
        if np.linalg.norm(missing) < REACHED:
            break
        aimed_at = aimed_at + missing
    return wrist


def arm_beyond(hand_arm: HandArm, arm: ArmBones, pose: Pose) -> dict[str, Floats]:
    """Return bone -> (4,) wxyz, the rotation of an arm's bone on top of the one that brings the wrist to a pose."""
    armature = hand_arm.rig_hand.armature_object()
    world, carried_rest = _carried_rest(hand_arm)
    motion = move_arm(armature, arm, hand_arm.rig_hand.binding, pose, world=world, shoulder_rest=carried_rest)
    return {
        name: rot.multiply(
            rot.conjugate(rotations[0]), np.array(armature.pose.bones[name].matrix_basis.to_quaternion())
        )
        for name, rotations in motion.rotations.items()
    }


def _evaluated_wrist(rig_hand: RigHand) -> Floats:
    """Return the evaluated wrist (3,) m in the world."""
    armature = rig_hand.armature_object()
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    wrist: Floats = (np.array(evaluated.matrix_world) @ posed_frames(evaluated, rig_hand.binding)[0, :, 3])[:3]
    return wrist


def _with_position(roots: Floats, position: Floats) -> Floats:
    moved = roots.copy()
    moved[:, :3, 3] = position
    return moved
