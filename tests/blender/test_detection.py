"""The hands of real rigs: found digit by digit as they are and made strange, and curled about the axes inferred."""

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.hand import kinematics, proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS, SIDES
from knuckle.rig.armature_hands import FoundHand, find_hands
from knuckle.rig.binding import bind
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import key_hands
from knuckle.tests.blender.curling import curls
from knuckle.tests.blender.making import motion
from knuckle.tests.blender.rigs import PLACES, RIGS, mirrored, placed, strange


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


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", RIGS)
def test_a_curl_of_60_degrees_about_the_inferred_axes_moves_every_tip_towards_the_palm(name: str, place: str) -> None:
    armature, _ = RIGS[name]()
    placed(armature, place)
    curled = [curl for found in find_hands(armature) for curl in curls(armature, found)]
    assert len(curled) == 14 * len(find_hands(armature))
    for curl in curled:
        said = f"{curl.side} {curl.joint}: {curl.nearer:.2f} of its reach nearer, {curl.aside:.0f} degrees aside"
        assert curl.nearer > 0.1, said
        # Fingers curl about the knuckle line; a thumb closes across the palm.
        assert curl.nearer > 0.4 if curl.joint.startswith("thumb") else curl.aside < 35.0, said


def test_tails_along_any_axis_change_neither_what_is_found_nor_how_its_bones_stand() -> None:
    """As importers of FBX and glTF lay them; of the last bones only a rest bend of theirs is lost."""
    armature, truth = RIGS["MakeHuman for games"]()
    before = [_rest_turns(armature, found) for found in find_hands(armature)]
    rng = np.random.default_rng(0)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.use_connect = False
    for bone in armature.data.edit_bones:
        axis = rng.normal(size=3)
        bone.tail = np.array(bone.head) + axis / np.linalg.norm(axis) * bone.length
    bpy.ops.object.mode_set(mode="OBJECT")
    hands = find_hands(armature)
    assert {hand.side: hand.bones for hand in hands} == truth
    for found, turns in zip(hands, before, strict=True):
        for joint, turn in _rest_turns(armature, found).items():
            along = np.degrees(np.arccos(np.clip(turn[:, 1] @ turns[joint][:, 1], -1, 1)))
            about = np.degrees(np.arccos(np.clip((np.trace(turn.T @ turns[joint]) - 1) / 2, -1, 1)))
            most = 25.0 if joint.endswith("distal") else 0.1
            assert along < most, f"{found.side} {joint}: {along:.1f} degrees > {most}"
            # Which way a digit curls is decided by all its bends, the last among them.
            assert about < most + 15.0, f"{found.side} {joint}: {about:.1f} degrees > {most + 15.0}"


def _rest_turns(armature: bpy.types.Object, found: FoundHand) -> dict[str, NDArray[np.float64]]:
    """joint -> (3, 3) how its joint stands at rest, of the joints of the digits that have a bone."""
    binding = bind(armature, found.side, found.bones, proportions.build(proportions.adult(found.side)), found.carrier)
    return {JOINTS[joint]: binding.rest[joint, :3, :3] for joint in binding.mapped if joint}


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


def test_names_of_sides_are_read_the_other_way_round_in_a_mirror() -> None:
    armature, _ = RIGS["MakeHuman for games"]()
    plain = {hand.side: hand for hand in find_hands(armature)}
    placed(armature, "mirrored")
    seen = {hand.side: hand for hand in find_hands(armature)}
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        assert seen[side].bones == plain[other].bones
        assert seen[side].side_confidence == pytest.approx(plain[other].side_confidence, abs=1e-6)
        assert seen[side].doubts == plain[other].doubts
