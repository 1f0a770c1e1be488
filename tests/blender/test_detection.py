"""The hands of real rigs: found digit by digit as they are and made strange, and curled about the axes inferred."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from knuckle.hand import kinematics, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS, KNUCKLES, Side
from knuckle.rig.binding import RigBinding, bind
from knuckle.rig.detect import FoundHand, find_hands
from knuckle.rig.keyframes import KeyedHand, key_hands
from knuckle.tests.blender.making import motion
from knuckle.tests.blender.rigs import PLACES, RIGS, SHARED, mirrored, placed, strange

Floats = NDArray[np.float64]
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="no rigs beside the checkout (../shared/data/rigs)")

CURL = np.deg2rad(60.0)


@pytest.mark.parametrize("name", RIGS)
def test_hands_are_found_digit_by_digit(name: str) -> None:
    armature, truth = RIGS[name]()
    found = find_hands(armature)
    assert {hand.side: hand.bones for hand in found} == truth
    assert all(sure > 0.85 for hand in found for sure in hand.confidence.values())
    assert all(set(hand.confidence) == set(DIGITS) and not hand.doubts for hand in found)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [name for name in RIGS if not name.startswith("named")])
def test_hands_are_found_whatever_bones_are_called_rolled_and_carried_by(name: str, place: str) -> None:
    armature, truth = RIGS[name]()
    truth = strange(armature, truth)
    placed(armature, place)
    found = find_hands(armature)
    assert {hand.side: hand.bones for hand in found} == (mirrored(truth) if place == "mirrored" else truth)
    assert all(sure > 0.6 for hand in found for sure in hand.confidence.values())


def bound(armature: bpy.types.Object, found: FoundHand) -> RigBinding:
    hand = proportions.build(proportions.adult(found.side))
    return bind(armature, found.side, found.bones, hand, found.carrier)


def turned(armature: bpy.types.Object, binding: RigBinding, joint: str, digit: str) -> Floats:
    """(3,) where a digit's tip is in the world with one joint flexed by CURL about −X of its inferred frame."""
    index = JOINT_INDEX[joint]
    name = str(binding.bones[index])
    into_bone = binding.rest_to_bone[index, :3, :3]
    flexion: Floats = rot.to_matrix(rot.about(np.array([-1.0, 0.0, 0.0]), CURL))
    basis = Matrix((np.linalg.inv(into_bone) @ flexion @ into_bone).tolist()).to_4x4()
    bone = armature.pose.bones[name]
    bone.matrix_basis = basis
    bpy.context.view_layer.update()
    places = joints(armature, dict(zip(JOINTS, binding.bones, strict=True)))
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


def joints(armature: bpy.types.Object, bones: dict[str, str | None]) -> dict[str, Floats]:
    """joint -> (3,) in the world, on the evaluated armature; a tip without a bone is its last bone's tail."""
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    world = np.array(posed.matrix_world)
    places = {joint: np.array(posed.pose.bones[bone].head) for joint, bone in bones.items() if bone}
    for digit in DIGITS:
        chain = CHAIN_JOINTS[digit]
        if chain[3] not in places:
            places[chain[3]] = np.array(posed.pose.bones[str(bones[chain[2]])].tail)
    return {joint: world[:3, :3] @ place + world[:3, 3] for joint, place in places.items()}


def knuckle_line(side: Side, places: dict[str, Floats]) -> Floats:
    """(3,) unit, about which fingers flex: along the knuckles, by the side that is known."""
    index, pinky = (places[f"{digit}-phalanx-proximal"] for digit in (DIGITS[1], DIGITS[4]))
    line: Floats = (index - pinky) / np.linalg.norm(index - pinky) * (1 if side == "right" else -1)
    return line


def degrees(one: Floats, other: Floats) -> float:
    """Between two vectors (3,)."""
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(one, other)), one @ other)))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", RIGS)
def test_a_curl_of_60_degrees_about_the_inferred_axes_moves_every_tip_towards_the_palm(name: str, place: str) -> None:
    armature, _ = RIGS[name]()
    placed(armature, place)
    for found in find_hands(armature):
        binding = bound(armature, found)
        before = joints(armature, {**found.bones})
        expected = rot.to_matrix(rot.about(knuckle_line(found.side, before), CURL))
        knuckles = np.mean([before[joint] for joint in KNUCKLES], axis=0)
        centre = (before["wrist"] + 3 * knuckles) / 4
        for digit in DIGITS:
            tip = before[f"{digit}-tip"]
            for joint in CHAIN_JOINTS[digit][1 if digit == "thumb" else 0 : 3]:
                after = turned(armature, binding, joint, digit)
                reach = tip - before[joint]
                apart = degrees(after - tip, expected @ reach - reach)
                away = [float(np.linalg.norm(end - centre)) for end in (tip, after)]
                nearer = (away[0] - away[1]) / float(np.linalg.norm(reach))
                said = f"{found.side} {joint}: {nearer:.2f} of its reach nearer, {apart:.0f} degrees beside"
                assert nearer > 0.1, said
                # Fingers curl about the knuckle line; a thumb closes across the palm.
                assert apart < 35.0 if digit != "thumb" else nearer > 0.4, said


def test_the_deform_bones_of_a_generated_rig_point_where_the_performers_do() -> None:
    """The controls are keyed, wrist and fingers, and what moves the skin follows."""
    armature, _ = RIGS["Rigify generated"]()
    hands = find_hands(armature)
    assert [found.carrier for found in hands] == ["DEF-hand.L", "DEF-hand.R"]
    solved, keyed = {}, []
    for found in hands:
        hand = proportions.build(proportions.adult(found.side))
        pose = motion(hand, 4)
        keyed.append(KeyedHand(bind(armature, found.side, found.bones, hand, found.carrier), hand, pose))
        solved[found.side] = kinematics.joint_frames(hand, pose)
    key_hands(armature, keyed, np.arange(1.0, 5.0), "Take")
    for frame in range(4):
        bpy.context.scene.frame_set(frame + 1)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for found in hands:
            for digit in DIGITS:
                for joint in CHAIN_JOINTS[digit][:3]:
                    bone = posed.pose.bones[f"DEF-{found.bones[joint]}"]
                    along = np.array(bone.tail - bone.head)
                    wanted = solved[found.side][frame, JOINT_INDEX[joint], :3, 1]
                    apart = np.degrees(np.arccos(np.clip(along @ wanted / np.linalg.norm(along), -1, 1)))
                    assert apart < 1.0, f"frame {frame + 1}, {found.side} {joint}: {apart:.2f} degrees > 1"
