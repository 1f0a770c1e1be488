"""What a person corrects in the panel: each click whole or not at all; what is remembered of a hand."""

import json
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

import knuckle
from knuckle.errors import RigError
from knuckle.hand import proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, SIDES
from knuckle.operators.rig_hands import correct
from knuckle.operators.rig_properties import setting
from knuckle.operators.session import SESSION, PickedBone
from knuckle.panels.axes_overlay import label
from knuckle.panels.text_format import MIN_CONFIDENCE
from knuckle.rig import detection_cache
from knuckle.rig.armature_hands import detected_hands, find_hands
from knuckle.rig.binding import posed_frames
from knuckle.rig.bound_hand import bound_hand
from knuckle.rig.hand_axes import hand_axes
from knuckle.rig.keys.take_scene import TakeTiming, bind_hands, write_take
from knuckle.rig.mapping import PROPERTIES, Mapping, save_mapping, saved_mappings, with_bone, write_preset
from knuckle.rig.mapping_corrections import (
    digit_chain,
    mirrored_mapping,
    user_mapping,
    with_carrier,
    with_curl_flipped,
    with_curl_rotated,
)
from knuckle.rig.posing.posable_cache import posable_hand
from knuckle.tests.blender.making import find_hand, rig, take
from knuckle.tests.blender.rigs import PLACES, RIGS, placed

pytestmark = pytest.mark.usefixtures("extension")


def chosen(armature: bpy.types.Object) -> bpy.types.Object:
    """The armature, as the scene's."""
    detection_cache.clear()
    bpy.context.scene.knuckle.rig, bpy.context.scene.knuckle.armature = "ARMATURE", armature
    return armature


def kept(armature: bpy.types.Object) -> list[Any]:
    return [armature.get(name) for name in PROPERTIES.values()]


def test_a_flip_is_kept_and_a_second_one_takes_it_back() -> None:
    armature = chosen(rig("left"))
    assert bpy.ops.knuckle.flip_digit(side="left", digit="thumb") == {"FINISHED"}
    found = find_hand(armature, "left")
    assert found.corrected
    assert found.curl_angles == {"thumb": 180.0}
    assert bpy.ops.knuckle.flip_digit(side="left", digit="thumb") == {"FINISHED"}
    assert find_hand(armature, "left").curl_angles == {}


@pytest.mark.parametrize("turn", [-180.0, -90.0, 0.0, 20.0, 180.0, 540.0])
def test_turns_stay_within_half_a_turn_and_mirroring_twice_gives_them_back(turn: float) -> None:
    mapping = with_curl_rotated(Mapping("left", {"wrist": "w", "thumb-tip": "t"}), "thumb", turn)
    angle = mapping.curl_angles.get("thumb", 0.0)
    assert -180 < angle <= 180
    assert (angle - turn) % 360 == 0
    assert mirrored_mapping(mirrored_mapping(mapping)) == mapping
    assert with_curl_flipped(with_curl_flipped(mapping, "thumb"), "thumb") == mapping


def test_mirroring_takes_the_same_bones_as_the_other_hand_and_turns_the_palm_around() -> None:
    armature = chosen(rig("left"))
    before = detection_cache.detect(armature)
    assert bpy.ops.knuckle.mirror_hand() == {"FINISHED"}
    after = detection_cache.cached(armature)
    assert after is not None
    assert (set(before.hands), set(after.hands)) == ({"left"}, {"right"})
    assert after.hands["right"].bones == before.hands["left"].bones
    bound = before.bindings["left"], after.bindings["right"]
    normals = [hand_axes(posed_frames(armature, binding)).normal for binding in bound]
    one, other = (normal[1] - normal[0] for normal in normals)
    assert one @ other < -0.8 * np.linalg.norm(one) * np.linalg.norm(other)
    bpy.ops.knuckle.mirror_hand()
    assert find_hand(armature, "left").bones == before.hands["left"].bones


def test_two_hands_are_swapped_by_mirroring(shared: Path) -> None:
    armature, truth = RIGS["MakeHuman for games"]()
    chosen(armature)
    bpy.ops.knuckle.mirror_hand()
    assert {hand.side: hand.bones for hand in find_hands(armature)} == {"left": truth["right"], "right": truth["left"]}
    bpy.ops.knuckle.detect_again()
    assert kept(armature) == [None, None]
    assert {hand.side: hand.bones for hand in find_hands(armature)} == truth


def test_a_hand_is_picked_from_nothing_by_its_wrist_and_the_first_bone_of_each_digit() -> None:
    armature = chosen(rig("right"))
    truth = find_hand(armature, "right").bones
    for joint, bone in list(truth.items()):
        armature.data.bones[bone].name = f"{JOINT_INDEX[joint]}"
    armature["knuckle_mapping_right"] = json.dumps({"version": 2, "side": "right", "bones": {}})
    with pytest.raises(RigError, match="it has 0 bones, expected a wrist and at least one digit"):
        find_hands(armature)
    assert "0 bones" in detection_cache.detect(armature).problems["right"]
    for what in ("wrist", *DIGITS):
        joint = what if what == "wrist" else CHAIN_JOINTS[what][0]
        bone = armature.data.bones[str(JOINT_INDEX[joint])].name
        assert bpy.ops.knuckle.pick_bone(side="right", what=what, bone=bone) == {"FINISHED"}
    (found,) = find_hands(armature)
    expected = {joint for joint in truth if not joint.endswith("finger-metacarpal")}
    assert found.bones == {joint: str(JOINT_INDEX[joint]) for joint in expected}


def test_while_one_hand_is_picked_the_other_one_stays_known(shared: Path) -> None:
    armature, truth = RIGS["MakeHuman for games"]()
    chosen(armature)
    detection_cache.detect(armature)
    armature["knuckle_mapping_left"] = json.dumps(
        {"version": 2, "side": "left", "bones": {"wrist": truth["left"]["wrist"]}}
    )
    known = detection_cache.detect(armature)
    assert "1 bones, expected a wrist and at least one digit" in known.problem_of("left")
    assert known.usable == ("right",)
    assert known.hands["left"].bones == {"wrist": truth["left"]["wrist"]}
    assert known.hands["right"].bones == truth["right"]
    assert set(known.bindings) == {"right"}


@pytest.mark.parametrize("broken", ["one bone", "no JSON", "bones that are gone"])
def test_one_hand_that_is_broken_keeps_nobody_from_posing_and_keying_the_other(broken: str, shared: Path) -> None:
    armature, truth = RIGS["MakeHuman for games"]()
    chosen(armature)
    bones = {"wrist": truth["left"]["wrist"]} if broken == "one bone" else truth["left"] | {"thumb-tip": "gone"}
    text = json.dumps({"version": 2, "side": "left", "bones": bones})
    armature["knuckle_mapping_left"] = "{" if broken == "no JSON" else text
    known = detection_cache.detect(armature)
    assert known.usable == ("right",)
    assert not known.problem
    right = posable_hand(armature, "right", known)
    stands = right.read()
    right.write(stands.toward(right.hand.neutral, 1.0, right.binding.mapped))
    for refused in (lambda: posable_hand(armature, "left"), lambda: find_hands(armature, ["left"])):
        with pytest.raises(RigError, match="its own mapping of the left hand"):
            refused()
    bpy.context.view_layer.objects.active = armature
    assert bpy.ops.knuckle.pose_relax(side="BOTH") == {"FINISHED"}
    assert [found.side for found in find_hands(armature, ["right"])] == ["right"]
    assert [keyed.hand.side for keyed in bind_hands(armature, take(("right",), frames=3))] == ["right"]
    with pytest.raises(RigError, match="its own mapping of the left hand"):
        bind_hands(armature, take(frames=3))


@pytest.mark.parametrize("name", ["MakeHuman", "Rigify generated", "Rigify metarig", "named as SMPL-X"])
def test_a_digit_is_filled_from_its_first_bone_to_its_tip(name: str, shared: Path) -> None:
    armature, truth = RIGS[name]()
    for bones in truth.values():
        for digit in DIGITS:
            chain = [bones[joint] for joint in CHAIN_JOINTS[digit] if joint in bones]
            filled, ended = digit_chain(armature, chain[0])
            assert list(filled[:3]) == chain[:3]
            assert (len(filled), ended) in {(3, False), (4, True)}


def test_what_is_corrected_on_a_generated_rig_keeps_what_carries_its_digits(shared: Path) -> None:
    armature, _ = RIGS["Rigify generated"]()
    chosen(armature)
    for side in SIDES:
        found = find_hand(armature, side)
        assert with_carrier(armature, user_mapping(found)).carrier == found.carrier
        assert bpy.ops.knuckle.pick_bone(side=side, what="wrist", bone=f"hand_fk.{side[0].upper()}") == {"FINISHED"}
        again = find_hand(armature, side)
        assert (again.bones["wrist"], again.carrier) == (f"hand_fk.{side[0].upper()}", found.carrier)
        alone = with_carrier(armature, Mapping(side, again.bones))
        assert alone.carrier is not None, "a rig that is picked from nothing has one as well"
        above = {bone.name for bone in armature.data.bones[again.bones["thumb-metacarpal"]].parent_recursive}
        assert alone.carrier in above


def test_a_field_shows_the_bone_and_picks_another_one() -> None:
    armature = chosen(rig("left"))
    hand = bpy.context.scene.knuckle_rig.left
    assert hand.wrist == "", "nobody has looked yet, and drawing does not"
    detection_cache.detect(armature)
    assert hand.wrist == find_hand(armature, "left").bones["wrist"]
    tip = setting("index-finger-tip")
    assert getattr(hand, tip)
    setattr(hand, tip, "")
    assert "index-finger-tip" not in saved_mappings(armature)["left"].bones
    before = kept(armature)
    setattr(hand, tip, "no such bone")
    assert kept(armature) == before
    hand.thumb_turn = np.deg2rad(25.0)
    assert saved_mappings(armature)["left"].curl_angles == {"thumb": 25.0}
    assert hand.thumb_turn == pytest.approx(np.deg2rad(25.0))


def test_what_is_wrong_with_a_kept_mapping_can_be_corrected_in_the_panel() -> None:
    armature = chosen(rig("left"))
    bones = find_hand(armature, "left").bones
    save_mapping(armature, Mapping("left", bones))
    armature.data.bones[bones["thumb-tip"]].name = "renamed"
    assert "has no bone 'thumb-tip'" in detection_cache.detect(armature).problems["left"]
    assert bpy.ops.knuckle.pick_bone(side="left", what="thumb-tip", bone="renamed") == {"FINISHED"}
    assert find_hand(armature, "left").bones == bones | {"thumb-tip": "renamed"}
    armature[PROPERTIES["left"]] = "{"
    assert "not JSON" in detection_cache.detect(armature).problems["left"]
    assert bpy.ops.knuckle.detect_again() == {"FINISHED"}
    assert find_hands(armature)


def test_a_preset_goes_from_one_armature_to_another(tmp_path: Path) -> None:
    armature = chosen(rig("left"))
    bpy.ops.knuckle.flip_digit(side="left", digit="ring-finger")
    path = str(tmp_path / "own.json")
    assert bpy.ops.knuckle.export_mapping(filepath=path, side="left") == {"FINISHED"}
    other = chosen(rig("left"))
    assert bpy.ops.knuckle.import_mapping(filepath=path) == {"FINISHED"}
    assert saved_mappings(other) == saved_mappings(armature)
    other.data.bones["thumb-tip"].name = "gone"
    before = kept(other)
    with pytest.raises(RuntimeError, match="has no bone 'thumb-tip' for thumb-tip, pick another bone"):
        bpy.ops.knuckle.import_mapping(filepath=path)
    assert kept(other) == before


def test_a_preset_with_bones_that_are_kept_for_the_other_hand_is_refused(tmp_path: Path) -> None:
    armature = chosen(rig("left"))
    path = tmp_path / "right.json"
    write_preset(path, mirrored_mapping(user_mapping(find_hand(armature, "left"))))
    bpy.ops.knuckle.save_mapping(side="left")
    before = kept(armature)
    with pytest.raises(RuntimeError, match="Bone 'wrist' is wrist of the left hand, detect again before this mapping"):
        bpy.ops.knuckle.import_mapping(filepath=str(path))
    assert kept(armature) == before
    bpy.ops.knuckle.detect_again()
    assert bpy.ops.knuckle.import_mapping(filepath=str(path)) == {"FINISHED"}, "what is only detected gives way"
    assert [hand.side for hand in find_hands(armature)] == ["right"]


def test_the_bones_of_a_digit_are_selected_in_pose_mode_and_no_others() -> None:
    armature = chosen(rig("right"))
    bpy.ops.knuckle.select_bones(side="right", digit="thumb")
    assert bpy.context.mode == "POSE"
    selected = {bone.name for bone in bpy.context.selected_pose_bones}
    assert selected == {bone for joint, bone in find_hand(armature, "right").bones.items() if joint.startswith("thumb")}
    bpy.ops.knuckle.select_bones(side="right")
    assert len(bpy.context.selected_pose_bones) == 25
    bpy.ops.object.mode_set(mode="OBJECT")


def test_what_is_remembered_is_found_again_after_an_undo_and_not_after_a_change() -> None:
    armature = chosen(rig("left"))
    assert detection_cache.detect(armature).hands["left"].corrected is False
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.knuckle.flip_digit(side="left", digit="thumb")
    bpy.ops.ed.undo_push(message="flipped")
    name = armature.name
    bpy.ops.ed.undo()
    armature = bpy.data.objects[name]
    before = detection_cache.cached(armature)
    assert before is not None
    assert not before.hands["left"].corrected
    armature.location, armature.rotation_euler, armature.scale = (1, 2, 3), (1, 0, 2), (0.1, 0.1, 0.1)
    bpy.context.view_layer.update()
    assert detection_cache.cached(armature) is before, "where it is and how large says nothing of its hands"
    armature.scale = (-0.1, 0.1, 0.1)
    bpy.context.view_layer.update()
    assert detection_cache.cached(armature) is None, "mirrored, the other hand is seen"
    armature.scale = (1, 1, 1)
    armature.data.bones[0].name = "another"
    bpy.context.view_layer.update()
    assert detection_cache.cached(armature) is None


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["MakeHuman", "Rigify generated", "WebXR, left"])
def test_drawn_axes_follow_a_pose_and_begin_at_the_tips(name: str, place: str, shared: Path) -> None:
    armature, _ = RIGS[name]()
    placed(armature, place)
    known = detection_cache.detect(chosen(armature))
    assert not known.problem
    for side, binding in known.bindings.items():
        rest = {one.digit: one for one in hand_axes(posed_frames(armature, binding)).digits}
        knuckle = str(binding.bones[JOINT_INDEX["index-finger-phalanx-proximal"]])
        bone = armature.pose.bones[knuckle]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = (0.4, 0.2, 0.1)
        bpy.context.view_layer.update()
        axes = hand_axes(posed_frames(armature, binding))
        moved = {one.digit: one for one in axes.digits}
        assert list(moved) == list(DIGITS)
        for digit, one in moved.items():
            np.testing.assert_allclose(one.tip_path[0], one.joints[-1], atol=1e-9)
            if digit != "index-finger":
                np.testing.assert_allclose(one.tip_path, rest[digit].tip_path, atol=1e-6)
        hung = armature.data.bones[knuckle].children
        if hung:
            reach = np.linalg.norm(rest["index-finger"].joints[-1] - rest["index-finger"].joints[-4])
            assert np.linalg.norm(moved["index-finger"].joints[-1] - rest["index-finger"].joints[-1]) > 0.1 * reach
        bone.rotation_euler = (0.0, 0.0, 0.0)
        bpy.context.view_layer.update()
        assert label(known.hands[side], "thumb") == "Thumb"


def test_a_digit_that_is_not_sure_says_so() -> None:
    armature = chosen(rig("left"))
    found = find_hand(armature, "left")
    found.confidence["ring-finger"] = MIN_CONFIDENCE - 0.2
    assert label(found, "ring-finger") == "Ring? 40%"


def test_a_bone_of_the_other_hand_is_not_picked_as_well(shared: Path) -> None:
    armature, truth = RIGS["MakeHuman for games"]()
    chosen(armature)
    bone = truth["right"]["thumb-phalanx-distal"]
    with pytest.raises(RuntimeError, match=f"Bone '{bone}' is thumb-phalanx-distal of the right hand, pick another"):
        bpy.ops.knuckle.pick_bone(side="left", what="thumb-phalanx-distal", bone=bone)
    assert kept(armature) == [None, None]
    for side in SIDES:
        save_mapping(armature, Mapping(side, truth["right"]))
    with pytest.raises(RigError, match=r"own mapping of the right hand: bone '.*' is the left hand's as well"):
        find_hands(armature)


@pytest.mark.parametrize("turn", [180.0, 30.0])
def test_a_take_points_a_turned_digit_where_it_pointed_and_rolls_it_by_the_turn(turn: float) -> None:
    armature = rig("right")
    solved = take(("right",), frames=7)
    poses = []
    for turns in ({}, {"ring-finger": turn}):
        save_mapping(armature, Mapping("right", detected_hands(armature)[0].bones, curl_angles=turns))
        write_take(solved, armature, bpy.context.scene, bpy.context.collection, TakeTiming())
        bpy.context.scene.frame_set(4)
        poses.append({bone.name: np.array(bone.matrix)[:3, :3] for bone in armature.pose.bones})
    bones = find_hand(armature, "right").bones
    moved = {bones[joint] for joint in CHAIN_JOINTS["ring-finger"]}
    hand = bound_hand(armature, find_hand(armature, "right"), proportions.build(proportions.adult("right")))
    for name, one in poses[0].items():
        other = poses[1][name]
        if name not in moved:
            np.testing.assert_allclose(other, one, atol=1e-5)
            continue
        along = hand.rest_to_bone[hand.bones.index(name), :3, :3].T[:, 1]
        np.testing.assert_allclose(other @ along, one @ along, atol=1e-5, err_msg="it points where it pointed")
        angle = np.degrees(np.arccos(np.clip((np.trace(other.T @ one) - 1) / 2, -1, 1)))
        if not name.endswith("-tip"):
            assert angle == pytest.approx(turn, abs=0.1)


def test_nothing_is_left_once_the_extension_is_switched_off() -> None:
    drawn = len(SESSION.draw_handlers["axes"])
    assert drawn > 0
    SESSION.picked_bone = PickedBone("Armature", "Bone")
    bpy.context.window_manager.knuckle_algebra.show = True
    knuckle.unregister()
    assert not SESSION.draw_handlers and SESSION.command is None
    assert SESSION.picked_bone is None and not SESSION.algebra_shown
    knuckle.register()
    assert len(SESSION.draw_handlers["axes"]) == drawn


def test_nothing_is_changed_by_a_correction_that_does_not_fit() -> None:
    armature = chosen(rig("left"))
    detection_cache.detect(armature)
    with pytest.raises(RigError, match="has no bone 'nowhere'"):
        correct(armature, "left", lambda mapping: with_bone(mapping, "wrist", "nowhere"))
    with pytest.raises(RuntimeError, match="has no bone 'nowhere', pick another bone"):
        bpy.ops.knuckle.pick_bone(side="left", what="wrist", bone="nowhere")
    assert kept(armature) == [None, None]
