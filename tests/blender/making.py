"""Hands, motions, rigs and takes for the tests, and what a scene holds."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from knuckle.capture import Markers
from knuckle.hand import kinematics, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.flesh import Flesh
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS, PARENTS, Side
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.hand.targets import Targets
from knuckle.pipeline.evidence.evidence import Evidence
from knuckle.pipeline.evidence.measuring import SolvedFrames, measure_hand
from knuckle.pipeline.evidence.ranking import rank
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import SolvedHand, Take
from knuckle.rig.armature_hands import FoundHand, find_hands
from knuckle.rig.keys.forearm_twist import find_forearm

Floats = NDArray[np.float64]


def find_hand(armature: bpy.types.Object, side: Side) -> FoundHand:
    """The left or the right hand of an armature that has one."""
    return next(hand for hand in find_hands(armature) if hand.side == side)


def forearm_bones(armature: bpy.types.Object) -> set[str]:
    """The bones that pronate with the hands of an armature."""
    forearms = [find_forearm(armature, found) for found in find_hands(armature)]
    return {bone for forearm in forearms if forearm for bone in forearm.shares}


def motion(hand: HandModel, frames: int, seed: int = 0, corners: bool = True) -> Pose:
    """A pose of every joint at random inside its limits, and in the first half at one of its limits."""
    rng = np.random.default_rng(seed)
    share = rng.random((frames, hand.dofs))
    if corners:
        share[: frames // 2] = np.round(share[: frames // 2])
    low, high = hand.limits.T
    roots = np.tile(np.eye(4), (frames, 1, 1))
    turns = rng.normal(size=(frames, 4))
    roots[:, :3, :3] = rot.to_matrix(turns / np.linalg.norm(turns, axis=1, keepdims=True))
    roots[:, :3, 3] = rng.normal(size=(frames, 3))
    return Pose(hand, roots, low + share * (high - low))


def take(
    sides: tuple[Side, ...] = ("left", "right"), frames: int = 60, rate: float = 60.0, first: float = 2.0, **recipe: Any
) -> Take:
    """Hands that close and open, with a marker on each joint, as a solver would have solved them.

    recipe: its fields; the wrist is driven unless they say otherwise.
    """
    times = first + np.arange(frames) / rate
    hands, evidence, positions, names = [], [], [], []
    for side in sides:
        measures = proportions.adult(side)
        hand = proportions.build(measures)
        closed = 0.4 - 0.4 * np.cos(2 * np.pi * (times - first))
        angles = closed[:, None] * hand.limits[:, 1] * (np.array(hand.movements) == "flexion")
        roots = np.tile(np.eye(4), (frames, 1, 1))
        roots[:, 0, 3] = (0.15 if side == "right" else -0.15) + 0.1 * np.sin(times)
        roots[:, 2, 3] = 1.0
        pose = Pose(hand, roots, np.maximum(angles, hand.limits[:, 0]))
        places = kinematics.joint_frames(hand, pose)[..., :3, 3]
        targets = Targets(times, np.arange(len(JOINTS)), places, np.ones((frames, len(JOINTS))))
        predicted, measured = np.zeros((frames, len(JOINTS)), bool), np.ones((frames, len(JOINTS)), bool)
        hands.append(SolvedHand(side, hand, measures, targets, targets, pose, predicted, measured))
        calm = np.zeros(measured.shape)
        frames_of = SolvedFrames(targets, pose, pose, measured, predicted, ~measured, calm, Flesh.of(hand))
        evidence.append(measure_hand(frames_of))
        positions.append(places)
        names += [f"{side} {joint}" for joint in JOINTS]
    markers = Markers(tuple(names), times, np.concatenate(positions, axis=1), "clap.c3d", rate, "m", "C3D")
    report = {"capture": "/captures/clap.c3d", "hands": {side: {"fingers": {}} for side in sides}}
    made = Evidence(times, tuple(evidence))
    whole = Recipe("/captures/clap.c3d", **{"drive": "wrist"} | recipe)
    return Take(whole, markers, times, tuple(hands), made, rank(made), report)


def evaluated(armature: bpy.types.Object, bones: Mapping[str, str] | None = None) -> Floats:
    """(J, 4, 4) where the bones of the evaluated armature are in the world; NaN for joints without one."""
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    frames = np.full((len(JOINTS), 4, 4), np.nan)
    for joint, bone in (bones or {joint: joint for joint in JOINTS}).items():
        frames[JOINT_INDEX[joint]] = np.array(posed.matrix_world @ posed.pose.bones[bone].matrix)
    return frames


def rig(
    side: Side,
    *,
    flat: bool = False,
    arm: bool = False,
    metacarpals: bool = True,
    metre: float = 1.0,
    seed: int = 0,
    straight: bool = False,
) -> bpy.types.Object:
    """An armature with WebXR's names, every bone rolled at random; its fingers are a little bent at rest.

    flat: no bone has a parent and lengths mean nothing. arm: the wrist hangs on a forearm. metre: its unit.
    straight: its fingers are not bent at rest.
    """
    rng = np.random.default_rng(seed)
    hand = proportions.build(proportions.adult(side, 0.2))
    bent = Pose(hand, np.eye(4)[None], np.where(straight, 0.0, hand.neutral)[None])
    places = metre * kinematics.joint_frames(hand, bent)[0, :, :3, 3]
    names = [joint for joint in JOINTS if metacarpals or "metacarpal" not in joint or joint.startswith("thumb")]
    armature = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    if arm:
        above: Any = None
        for name, head, tail in (("upper", (0, -0.6, 0.1), (0, -0.3, 0)), ("fore", (0, -0.3, 0), (0, 0, 0))):
            bone = bones.new(name)
            bone.head, bone.tail, bone.parent = np.multiply(metre, head), np.multiply(metre, tail), above
            above = bone
    for joint in names:
        bone = bones.new(joint)
        bone.head = places[JOINT_INDEX[joint]]
        bone.tail = places[JOINT_INDEX[joint]] + (rng.normal(size=3) * 0.05 * metre if flat else along(joint, places))
        bone.roll = rng.uniform(-np.pi, np.pi)
        parent = PARENTS[JOINT_INDEX[joint]]
        while parent >= 0 and JOINTS[parent] not in names:
            parent = PARENTS[parent]
        if not flat:
            bone.parent = bones[JOINTS[parent]] if parent >= 0 else bones["fore"] if arm else None
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return armature


def along(joint: str, places: Floats) -> Floats:
    """From a bone's head to its tail (3,), with the joints at places (J, 3)."""
    index = JOINT_INDEX[joint]
    way: Floats = places[min(index + 1, len(JOINTS) - 1)] - places[index]
    if joint == "wrist":
        way = places[JOINT_INDEX["middle-finger-phalanx-proximal"]] * 0.3
    elif joint.endswith("tip"):
        way = 0.3 * (places[index] - places[index - 1])
    return way


def worst_direction(armature: bpy.types.Object, world: Floats) -> float:
    """Degrees between the bones that move, from joint to joint as evaluated, and the solved directions (J, 4, 4)."""
    frames = evaluated(armature, {joint: joint for joint in JOINTS if joint in armature.pose.bones})
    worst = 0.0
    for digit in DIGITS:
        chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]
        for joint, following in pairwise(chain):
            along = frames[following, :3, 3] - frames[joint, :3, 3]
            across = np.linalg.norm(np.cross(along, world[joint, :3, 1]))
            angle = np.degrees(np.arctan2(across, along @ world[joint, :3, 1]))
            worst = max(worst, float(angle))
    return worst


def copied(armature: bpy.types.Object) -> bpy.types.Object:
    """A copy of a character, as Shift D makes one."""
    copy = armature.copy()
    copy.data = armature.data.copy()
    copy.animation_data.action = armature.animation_data.action.copy()
    copy.animation_data.action_slot = copy.animation_data.action.slots[0]
    bpy.context.scene.collection.objects.link(copy)
    bpy.context.view_layer.update()
    return copy


def everything(scene: bpy.types.Scene) -> dict[str, Any]:
    """What a file holds: the names of all data, and the scene's settings that a take must not touch."""
    names = {
        kind: sorted(item.name for item in getattr(bpy.data, kind))
        for kind in ("objects", "meshes", "armatures", "actions", "materials", "node_groups", "collections")
    }
    render, tools = scene.render, scene.tool_settings
    return names | {
        "scene": (scene.frame_start, scene.frame_end, scene.frame_current, render.fps, render.fps_base),
        "auto-key": tools.use_keyframe_insert_auto,
        "world": scene.world,
        "unit": (scene.unit_settings.system, scene.unit_settings.scale_length),
    }


def moved(armature: bpy.types.Object, kind: str) -> None:
    """Gives an armature object a transform: turned, small, mirrored or squeezed."""
    turn = Matrix.Rotation(1.0, 4, (1.0, 2.0, 3.0))
    armature.matrix_world = {
        "still": Matrix.Identity(4),
        "turned and small": Matrix.Translation((1, 2, 3)) @ turn @ Matrix.Scale(0.01, 4),
        "mirrored": turn @ Matrix.Scale(-1, 4, (1, 0, 0)),
        "squeezed": Matrix.Diagonal((1.0, 1.3, 0.8, 1.0)),
    }[kind]
    bpy.context.view_layer.update()
