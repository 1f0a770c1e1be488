"""What a flexion about the inferred axes does to the tips of a rig's digits, measured on the evaluated armature."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS, KNUCKLES, Side
from knuckle.hand.kinematics import Pose
from knuckle.rig.armature_hands import FoundHand
from knuckle.rig.binding import RigBinding
from knuckle.rig.bound_hand import bound_hand
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import key_hands

Floats = NDArray[np.float64]

CURL = np.deg2rad(60.0)


@dataclass(frozen=True)
class Curl:
    """A joint flexed by CURL."""

    side: Side
    joint: str
    nearer: float
    """By how much the digit's tip comes nearer to the middle of the palm, in shares of its distance from the joint."""
    aside: float
    """Degrees between the tip's way and the one that a turn about the knuckle line gives."""


def curls(armature: bpy.types.Object, found: FoundHand) -> Iterator[Curl]:
    """Every joint of a hand that bends, each flexed alone from rest; the palm is known by wrist and knuckles alone."""
    binding = _bound(armature, found)
    before = _joints(armature, {**found.bones})
    expected = rot.to_matrix(rot.from_axis_angle(_knuckle_line(found.side, before), CURL))
    centre = (before["wrist"] + 3 * np.mean([before[joint] for joint in KNUCKLES], axis=0)) / 4
    for digit in DIGITS:
        tip = before[f"{digit}-tip"]
        for joint in CHAIN_JOINTS[digit][1 if digit == "thumb" else 0 : 3]:
            after = _turned(armature, binding, joint, digit)
            reach = tip - before[joint]
            away = [float(np.linalg.norm(end - centre)) for end in (tip, after)]
            nearer = (away[0] - away[1]) / float(np.linalg.norm(reach))
            yield Curl(found.side, joint, nearer, _degrees(after - tip, expected @ reach - reach))


def whole_curls(armature: bpy.types.Object, found: FoundHand) -> Iterator[Curl]:
    """Every digit with all its joints flexed at once from straight, keyed; a thumb's from its MCP on.

    What is expected of a finger is that each of its bones turns about the knuckle line.
    """
    hand = proportions.build(proportions.adult(found.side))
    digit_of_dof = [hand.joints[joint].rsplit("-", 1)[0] for joint in hand.axis_joint]
    bends = np.array([movement == "flexion" for movement in hand.movements])
    thumb_base = hand.axis_joint == JOINT_INDEX[CHAIN_JOINTS["thumb"][0]]
    angles = np.zeros((6, hand.dofs))
    for row, digit in enumerate(DIGITS, 1):
        own = np.array([name.startswith(digit) for name in digit_of_dof])
        angles[row, own & bends & ~thumb_base] = CURL
    pose = Pose(hand, np.tile(np.eye(4), (6, 1, 1)), angles)
    key_hands(armature, [KeyedHand(bound_hand(armature, found, hand), hand, pose)], np.arange(1.0, 7.0), "Curls")
    seen = []
    for frame in range(1, 7):
        bpy.context.scene.frame_set(frame)
        seen.append(_joints(armature, {**found.bones}))
    before = seen[0]
    centre = (before["wrist"] + 3 * np.mean([before[joint] for joint in KNUCKLES], axis=0)) / 4
    line = _knuckle_line(found.side, before)
    for digit, after in zip(DIGITS, seen[1:], strict=True):
        chain = CHAIN_JOINTS[digit][1 if digit == "thumb" else 0 :]
        joints = [before[joint] for joint in chain if joint in before]
        expected = joints[0].copy()
        for count, (head, tail) in enumerate(pairwise(joints), 1):
            expected += rot.to_matrix(rot.from_axis_angle(line, count * CURL)) @ (tail - head)
        tip, bent = joints[-1], after[chain[-1]]
        reach = float(np.linalg.norm(tip - joints[0]))
        nearer = float(np.linalg.norm(tip - centre) - np.linalg.norm(bent - centre)) / reach
        yield Curl(found.side, chain[0], nearer, _degrees(bent - tip, expected - tip))


def _bound(armature: bpy.types.Object, found: FoundHand) -> RigBinding:
    return bound_hand(armature, found, proportions.build(proportions.adult(found.side)))


def _turned(armature: bpy.types.Object, binding: RigBinding, joint: str, digit: str) -> Floats:
    """(3,) where a digit's tip is in the world with one joint flexed by CURL about −X of its inferred frame."""
    index = JOINT_INDEX[joint]
    name = str(binding.bones[index])
    into_bone = binding.rest_to_bone[index, :3, :3]
    flexion: Floats = rot.to_matrix(rot.from_axis_angle(np.array([-1.0, 0.0, 0.0]), CURL))
    basis = Matrix((np.linalg.inv(into_bone) @ flexion @ into_bone).tolist()).to_4x4()
    bone = armature.pose.bones[name]
    bone.matrix_basis = basis
    bpy.context.view_layer.update()
    places = _joints(armature, dict(zip(JOINTS, binding.bones, strict=True)))
    pose = np.array(armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[name].matrix)
    bone.matrix_basis = Matrix.Identity(4)
    bpy.context.view_layer.update()
    if bone.parent or bone.children:
        return places[f"{digit}-tip"]
    # Bones that hang on nothing are carried along by their keys, not by Blender.
    carried = pose @ np.linalg.inv(np.array(bone.bone.matrix_local))
    world = np.array(armature.matrix_world)
    tip: Floats = (world @ carried @ np.linalg.inv(world) @ np.append(places[f"{digit}-tip"], 1.0))[:3]
    return tip


def _joints(armature: bpy.types.Object, bones: dict[str, str | None]) -> dict[str, Floats]:
    """joint -> (3,) in the world, on the evaluated armature; a tip without a bone is its last bone's tail."""
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    world = np.array(posed.matrix_world)
    places = {joint: np.array(posed.pose.bones[bone].head) for joint, bone in bones.items() if bone}
    for digit in DIGITS:
        chain = CHAIN_JOINTS[digit]
        if chain[3] not in places:
            places[chain[3]] = np.array(posed.pose.bones[str(bones[chain[2]])].tail)
    return {joint: world[:3, :3] @ place + world[:3, 3] for joint, place in places.items()}


def _knuckle_line(side: Side, places: dict[str, Floats]) -> Floats:
    """(3,) unit, about which fingers flex: along the knuckles, by the side that is known."""
    index, pinky = (places[f"{digit}-phalanx-proximal"] for digit in (DIGITS[1], DIGITS[4]))
    line: Floats = (index - pinky) / np.linalg.norm(index - pinky) * (1 if side == "right" else -1)
    return line


def _degrees(one: Floats, other: Floats) -> float:
    """Between two vectors (3,)."""
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(one, other)), one @ other)))
