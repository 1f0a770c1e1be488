"""Grasp an object with a rig's hand: planned on the evaluated mesh, closed with the evaluated skin."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.kinematics import Pose, joint_frames
from ...posing.following import FollowedPath
from ...posing.grasping import grasp_planning, object_shape
from ...posing.grasping.approach import screw_path
from ...posing.grasping.arm_reach import CarryingArm
from ...posing.grasping.candidates import GraspedObject, GraspingHand, GraspTask
from ...posing.grasping.detour import route
from ...posing.grasping.grasp_planning import Grasp
from ...posing.grasping.grips import Name
from ..armature_hands import FoundHand
from ..pose_transfer import points_to_armature
from ..rotation_channels import channel
from ..skin_bones import skins
from ..solid_mesh import Solid, solid_of
from . import following
from .arm_carrier import carrier
from .channel_diff import Channels, channels_of, restore_channels
from .following import Followed, HandArm
from .rig_hand import HandState
from .rig_skin import flesh_of
from .stillness import played

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

MAX_DEPTH = 0.9e-3
"""m: the hand is closed again if the evaluated skin is deeper than this inside the object."""
ROUNDS = 3
"""Maximum number of times that the hand is closed."""
REACH_TOLERANCE = 2e-3
"""m: an arm that is too short by less than this still reaches the object."""
STRAIGHT, CLOSING = 0.25, 0.25
"""Fractions of the approach: the open hand moves straight to the object, then it closes."""


@dataclass(frozen=True, slots=True, eq=False)
class Grasped:
    """A hand that holds an object."""

    hand_arm: HandArm
    hold: Grasp
    approach: Pose
    """Poses from the hand's previous pose, through the open hand in front of the object, to the hold."""
    times: Floats
    """(N,) 0..1, the time of each pose."""
    distance: float
    """m, the least signed distance of the evaluated skin from the object; negative inside."""
    before: dict[str, Channels]
    """Bone of hand or arm -> its channels before the grasp."""
    elbow: tuple[float, float, float] | None
    """Position of the arm's elbow before the grasp, in armature space."""


def grasp(armature: "Object", found: FoundHand, obj: "Object", grip: Name | None = None, *, steps: int = 8) -> Grasped:
    """Grasp an object: pose the hand and the arm that carries it, without keys.

    Args:
        armature: the armature.
        found: its hand.
        obj: a mesh object.
        grip: the grip; None for the one that suits the object.
        steps: number of poses until the hand is in front of the object.

    Raises:
        RigError, HandError: the object cannot be held, is too large or out of reach, or the wrist cannot be moved.
    """
    hand_arm = following.hand_arm_of(armature, found)
    if hand_arm.fixed:
        raise RigError(hand_arm.fixed)
    if obj == armature or obj in skins(armature):
        raise RigError(f"'{obj.name}' belongs to the hand, choose the mesh object to hold")
    solid = solid_of(obj)
    start = hand_arm.rig_hand.read()
    before = channels_of(armature, [name for name, _ in following.posed_bones(hand_arm)])
    elbow = following.with_present_pole(hand_arm).pole if hand_arm.arm else None
    root, flesh = start.pose.root[0], flesh_of(armature, found, hand_arm.rig_hand)
    grasping_hand = GraspingHand(
        hand_arm.rig_hand.hand, flesh, root, carrier(hand_arm, found, solid.nearest(root[:3, 3]))
    )
    surface = object_shape.surface_of(solid.vertices, solid.triangles)
    target = GraspedObject(object_shape.shape_of(surface), solid.vertices, solid.distance, solid.closed)
    hold = grasp_planning.plan(grasping_hand, target, grip)
    _check_reach(armature, obj, grasping_hand, hold)
    hand_arm = _with_elbow(hand_arm, grasping_hand.arm, hold.root)
    world = obj.matrix_world.copy()
    task = GraspTask(hold.grip, grasping_hand, target, hold.plane, hold.contact)
    hold, distance = _close_on_evaluated_skin(hand_arm, found, solid, task, hold)
    if obj.matrix_world != world:
        restore_channels(armature, before)
        raise RigError(f"'{obj.name}' is already attached to the hand, release it first")
    roots = route(grasping_hand, target, start.pose.angles[0], hold, steps)
    return Grasped(hand_arm, hold, *approach(start.pose, hold, roots), distance, before, elbow)


def approach(start: Pose, hold: Grasp, roots: Floats) -> tuple[Pose, Floats]:
    """Return the poses of a hand that approaches a hold, and their times (N,) 0..1.

    The open hand moves along wrist poses `roots` (M, 4, 4) to the front of the object, then straight on until it
    touches, and then closes.
    """
    steps = len(roots) - 1
    last = max(1, steps // 3)
    straight = screw_path(hold.approach_start, hold.root, last)[1:]
    closing = np.repeat(hold.root[None], last, axis=0)
    opened = start.angles[0] + np.linspace(0.0, 1.0, steps + 1)[:, None] * (hold.opened - start.angles[0])
    closed = hold.opened + np.linspace(0.0, 1.0, last + 1)[1:, None] * (hold.angles - hold.opened)
    angles = np.concatenate([opened, np.repeat(hold.opened[None], last, axis=0), closed])
    first = 1.0 - STRAIGHT - CLOSING
    times = [
        np.linspace(0.0, first, steps + 1),
        np.linspace(first, first + STRAIGHT, last + 1)[1:],
        np.linspace(first + STRAIGHT, 1.0, last + 1)[1:],
    ]
    return Pose(start.hand, np.concatenate([roots, straight, closing]), angles), np.concatenate(times)


def pose(grasped: Grasped, step: int) -> None:
    """Pose arm and hand at a step of the approach, without keys; step 0 is the pose before the grasp.

    Raises RigError if the hand no longer exists.
    """
    if step == 0:
        restore_channels(grasped.hand_arm.rig_hand.armature_object(), grasped.before)
        bpy.context.view_layer.update()
        return
    hand_arm, poses = grasped.hand_arm, grasped.approach
    if hand_arm.arm and hand_arm.arm.pole and grasped.elbow:
        time = float(grasped.times[step])
        x, y, z = ((1 - time) * np.array(grasped.elbow) + time * np.array(hand_arm.arm.pole)).tolist()
        hand_arm = replace(hand_arm, arm=replace(hand_arm.arm, pole=(x, y, z)))
    _pose(hand_arm, poses.root[step], poses.angles[step])


def key(grasped: Grasped, frames: Mapping[int, float]) -> None:
    """Key steps of the approach on their frames, in the action that the armature plays.

    Other keys of its bones between the first frame and the last are removed. Raises RigError if the hand no longer
    exists.
    """
    armature = grasped.hand_arm.rig_hand.armature_object()
    _clear_between(grasped, min(frames.values()), max(frames.values()))
    for step, frame in frames.items():
        pose(grasped, step)
        for name, located in following.posed_bones(grasped.hand_arm):
            bone = armature.pose.bones[name]
            bone.keyframe_insert(channel(bone.rotation_mode), frame=frame, group=name)
            if located:
                bone.keyframe_insert("location", frame=frame, group=name)


def _clear_between(grasped: Grasped, first: float, last: float) -> None:
    armature = grasped.hand_arm.rig_hand.armature_object()
    bones = [(armature.pose.bones[name], located) for name, located in following.posed_bones(grasped.hand_arm)]
    paths = {bone.path_from_id(channel(bone.rotation_mode)) for bone, _ in bones}
    paths |= {bone.path_from_id("location") for bone, located in bones if located}
    for curve in played(armature):
        points = curve.keyframe_points
        inside = [k for k, key in enumerate(points) if first < key.co[0] < last] if curve.data_path in paths else []
        for k in reversed(inside):
            points.remove(points[k], fast=True)
        if inside:
            curve.update()


def _pose(hand_arm: HandArm, root: Floats, angles: Floats) -> None:
    goal = Pose(hand_arm.rig_hand.hand, root[None], angles[None])
    zeros = np.zeros((1, 3))
    following.pose(hand_arm, Followed(FollowedPath(goal, (), zeros, zeros[:, 0]), HandState(goal)))


def _close_on_evaluated_skin(
    hand_arm: HandArm, found: FoundHand, solid: Solid, task: GraspTask, hold: Grasp
) -> tuple[Grasp, float]:
    """Return the hold corrected for the evaluated skin, and the skin's minimum distance in m.

    The effect of the skin's other modifiers is known only in the pose itself, so the hand is closed again.
    """
    armature = hand_arm.rig_hand.armature_object()
    distance = -np.inf
    for _ in range(ROUNDS):
        _pose(hand_arm, hold.root, hold.angles)
        root = hand_arm.rig_hand.read().pose.root[0]
        skin = flesh_of(armature, found, hand_arm.rig_hand)
        frames = joint_frames(hand_arm.rig_hand.hand, hand_arm.rig_hand.read().pose)
        distance = float(solid.distance(skin.posed(frames)[0]).min())
        if distance > -MAX_DEPTH:
            break
        evaluated_task = replace(task, grasping_hand=replace(task.grasping_hand, skin=skin))
        root = grasp_planning.moved_outside(evaluated_task, solid.outwards, root, hold.opened)
        touching = grasp_planning.close_hand(evaluated_task, root, (hold.opened, hold.closed), hold.joint_speeds)
        hold = replace(hold, root=root, angles=touching.angles[0], gaps=touching.gaps[0])
    return hold, distance


def _with_elbow(hand_arm: HandArm, carrier: CarryingArm | None, root: Floats) -> HandArm:
    """Return the hand on an arm with the elbow at the position at which the wrist bends least."""
    if carrier is None or hand_arm.arm is None:
        return hand_arm
    elbow = carrier.strain(root[None])[1][0]
    armature = hand_arm.rig_hand.armature_object()
    x, y, z = points_to_armature(np.array(armature.matrix_world), elbow[None])[0].tolist()
    return replace(hand_arm, arm=replace(hand_arm.arm, pole=(x, y, z)))


def _check_reach(armature: "Object", obj: "Object", grasping_hand: GraspingHand, hold: Grasp) -> None:
    shortfall = float(grasping_hand.arm.shortfall(hold.root[None])[0]) if grasping_hand.arm else 0.0
    if shortfall > REACH_TOLERANCE:
        raise RigError(
            f"'{obj.name}' is {1e3 * shortfall:.0f} mm out of reach of '{armature.name}', bring one to the other"
        )
    bpy.context.view_layer.update()
