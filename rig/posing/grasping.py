"""Grasp an object with a rig's hand: planned on the evaluated mesh, closed with the evaluated skin."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.kinematics import Pose, joint_frames
from ...posing.following import FollowedCourse
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
from . import following
from .arm_carrier import carrier
from .channel_diff import Channels, channels_of, restore_channels
from .following import Followed, Follower
from .rig_hand import HandState
from .rig_skin import flesh_of, skins
from .solid_mesh import Solid, solid_of
from .stillness import played

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

DEEPEST = 0.9e-3
"""m: if the evaluated skin is deeper inside the object, the hand is closed again."""
ROUNDS = 3
"""The most times that it is closed."""
REACHED = 2e-3
"""m: an arm that is too short by less than this reaches."""
STRAIGHT, CLOSING = 0.25, 0.25
"""Parts of the approach in which the open hand moves straight to the object, and in which it then closes."""


@dataclass(frozen=True, slots=True, eq=False)
class Grasped:
    """A hand that holds an object."""

    who: Follower
    hold: Grasp
    way: Pose
    """From the hand's pose before, by the open hand in front of the object, to the hold."""
    parts: Floats
    """(N,) 0..1, the time of each pose."""
    deepest: float
    """m, the least signed distance of the evaluated skin from the object; negative inside."""
    before: dict[str, Channels]
    """Bone of hand or arm -> its channels before."""
    elbow: tuple[float, float, float] | None
    """Position of the arm's elbow before, in armature space."""


def grasp(armature: "Object", found: FoundHand, obj: "Object", grip: Name | None = None, *, steps: int = 8) -> Grasped:
    """Grasp an object: pose the hand and the arm that carries it, without keys.

    Args:
        armature: the armature.
        found: its hand.
        obj: a mesh object.
        grip: the grip; None for the one that suits the object.
        steps: number of poses on the way to the object.

    Raises:
        RigError, HandError: the object cannot be held, is too large or out of reach, or the wrist cannot be moved.
    """
    who = following.follower(armature, found)
    if who.fixed:
        raise RigError(who.fixed)
    if obj == armature or obj in skins(armature):
        raise RigError(f"'{obj.name}' is the hand's own, choose the mesh object that it is to hold")
    solid = solid_of(obj)
    start = who.rig_hand.read()
    before = channels_of(armature, [name for name, _ in following.posed_bones(who)])
    elbow = following.with_present_pole(who).pole if who.arm else None
    root, flesh = start.pose.root[0], flesh_of(armature, found, who.rig_hand)
    holder = GraspingHand(who.rig_hand.hand, flesh, root, carrier(who, found, solid.nearest(root[:3, 3])))
    whole = object_shape.surface_of(solid.vertices, solid.triangles)
    thing = GraspedObject(object_shape.shape_of(whole), solid.vertices, solid.distance, solid.closed)
    hold = grasp_planning.plan(holder, thing, grip)
    _check_reach(armature, obj, holder, hold)
    who = _with_elbow(who, holder.arm, hold.root)
    place = obj.matrix_world.copy()
    hold, deepest = _settled(who, found, solid, GraspTask(hold.grip, holder, thing, hold.plane, hold.contact), hold)
    if obj.matrix_world != place:
        restore_channels(armature, before)
        raise RigError(f"'{obj.name}' goes along with the hand already, let go of it first")
    there = route(holder, thing, start.pose.angles[0], hold, steps)
    way, parts = approach(start.pose, hold, there)
    return Grasped(who, hold, way, parts, deepest, before, elbow)


def approach(start: Pose, hold: Grasp, there: Floats) -> tuple[Pose, Floats]:
    """Return the poses of a hand on its way to a hold, and their times (N,) 0..1.

    The open hand moves along wrist poses `there` (M, 4, 4) to the front of the object, then straight on until it
    touches, and then closes.
    """
    steps = len(there) - 1
    last = max(1, steps // 3)
    straight = screw_path(hold.approach_start, hold.root, last)[1:]
    closing = np.repeat(hold.root[None], last, axis=0)
    opened = start.angles[0] + np.linspace(0.0, 1.0, steps + 1)[:, None] * (hold.opened - start.angles[0])
    closed = hold.opened + np.linspace(0.0, 1.0, last + 1)[1:, None] * (hold.angles - hold.opened)
    angles = np.concatenate([opened, np.repeat(hold.opened[None], last, axis=0), closed])
    first = 1.0 - STRAIGHT - CLOSING
    parts = [
        np.linspace(0.0, first, steps + 1),
        np.linspace(first, first + STRAIGHT, last + 1)[1:],
        np.linspace(first + STRAIGHT, 1.0, last + 1)[1:],
    ]
    return Pose(start.hand, np.concatenate([there, straight, closing]), angles), np.concatenate(parts)


def pose(grasped: Grasped, step: int) -> None:
    """Pose arm and hand at a step of the way, without keys; step 0 is the pose before.

    Raises RigError where the hand is gone.
    """
    if step == 0:
        restore_channels(grasped.who.rig_hand.armature_object(), grasped.before)
        bpy.context.view_layer.update()
        return
    who, way = grasped.who, grasped.way
    if who.arm and who.arm.pole and grasped.elbow:
        part = float(grasped.parts[step])
        x, y, z = ((1 - part) * np.array(grasped.elbow) + part * np.array(who.arm.pole)).tolist()
        who = replace(who, arm=replace(who.arm, pole=(x, y, z)))
    _pose(who, way.root[step], way.angles[step])


def key(grasped: Grasped, frames: Mapping[int, float]) -> None:
    """Key steps of the way on their frames, in the action that the armature plays.

    Other keys of its bones between the first frame and the last are removed. Raises RigError where the hand is gone.
    """
    armature = grasped.who.rig_hand.armature_object()
    _clear_between(grasped, min(frames.values()), max(frames.values()))
    for step, frame in frames.items():
        pose(grasped, step)
        for name, placed in following.posed_bones(grasped.who):
            bone = armature.pose.bones[name]
            bone.keyframe_insert(channel(bone.rotation_mode), frame=frame, group=name)
            if placed:
                bone.keyframe_insert("location", frame=frame, group=name)


def _clear_between(grasped: Grasped, first: float, last: float) -> None:
    armature = grasped.who.rig_hand.armature_object()
    bones = [(armature.pose.bones[name], placed) for name, placed in following.posed_bones(grasped.who)]
    paths = {bone.path_from_id(channel(bone.rotation_mode)) for bone, _ in bones}
    paths |= {bone.path_from_id("location") for bone, placed in bones if placed}
    for curve in played(armature):
        points = curve.keyframe_points
        passed = [k for k, key in enumerate(points) if first < key.co[0] < last] if curve.data_path in paths else []
        for k in reversed(passed):
            points.remove(points[k], fast=True)
        if passed:
            curve.update()


def _pose(who: Follower, root: Floats, angles: Floats) -> None:
    wanted = Pose(who.rig_hand.hand, root[None], angles[None])
    nothing = np.zeros((1, 3))
    following.pose(who, Followed(FollowedCourse(wanted, (), nothing, nothing[:, 0]), HandState(wanted)))


def _settled(who: Follower, found: FoundHand, solid: Solid, task: GraspTask, hold: Grasp) -> tuple[Grasp, float]:
    """Return the hold corrected for the evaluated skin, and its least distance in m.

    The effect of the skin's other modifiers is known only in the pose itself, so the hand is closed again with the skin
    that is seen there.
    """
    armature = who.rig_hand.armature_object()
    deepest = -np.inf
    for _ in range(ROUNDS):
        _pose(who, hold.root, hold.angles)
        root = who.rig_hand.read().pose.root[0]
        seen = flesh_of(armature, found, who.rig_hand)
        frames = joint_frames(who.rig_hand.hand, who.rig_hand.read().pose)
        deepest = float(solid.distance(seen.posed(frames)[0]).min())
        if deepest > -DEEPEST:
            break
        again = replace(task, grasping_hand=replace(task.grasping_hand, skin=seen))
        root = grasp_planning.moved_outside(again, solid.outwards, root, hold.opened)
        touching = grasp_planning.close_hand(again, root, (hold.opened, hold.closed), hold.joint_speeds)
        hold = replace(hold, root=root, angles=touching.angles[0], gaps=touching.gaps[0])
    return hold, deepest


def _with_elbow(who: Follower, carrier: CarryingArm | None, root: Floats) -> Follower:
    """Return the hand on an arm whose elbow is where the wrist bends least."""
    if carrier is None or who.arm is None:
        return who
    place = carrier.strain(root[None])[1][0]
    armature = who.rig_hand.armature_object()
    x, y, z = points_to_armature(np.array(armature.matrix_world), place[None])[0].tolist()
    return replace(who, arm=replace(who.arm, pole=(x, y, z)))


def _check_reach(armature: "Object", obj: "Object", holder: GraspingHand, hold: Grasp) -> None:
    lacks = float(holder.arm.shortfall(hold.root[None])[0]) if holder.arm else 0.0
    if lacks > REACHED:
        raise RigError(
            f"'{obj.name}' is {1e3 * lacks:.0f} mm out of the reach of '{armature.name}', bring one to the other"
        )
    bpy.context.view_layer.update()
