"""Auto-keying after a pose was changed by hand: what Blender's own tools would have keyed, and nothing else."""

from pathlib import Path
from typing import Any

import bpy
import pytest

from knuckle.hand import proportions
from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX
from knuckle.operators.auto_key import key_hand, key_posed
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.posing.posable_hand import make_rig_hand
from knuckle.tests.blender.linked_action import link_action

BONE = CHAIN_JOINTS["index-finger"][1]
TURN = f'pose.bones["{BONE}"].rotation_quaternion'
PLACE = f'pose.bones["{BONE}"].location'


@pytest.fixture
def armature() -> bpy.types.Object:
    armature = bpy.data.objects.new("Armature", bpy.data.armatures.new("Armature"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones.new(BONE).tail = (0.0, 0.0, 1.0)
    bpy.ops.object.mode_set(mode="POSE")
    return armature


@pytest.fixture(autouse=True)
def auto_keying() -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.scene.frame_set(7)


@pytest.fixture(autouse=True)
def preferences(plain_keying: Any) -> Any:
    return plain_keying


def keys(armature: bpy.types.Object) -> dict[tuple[str, int], list[float]]:
    """(path, index) -> the frames of its keys."""
    action = armature.animation_data and armature.animation_data.action
    if not action:
        return {}
    return {
        (curve.data_path, curve.array_index): [key.co[0] for key in curve.keyframe_points]
        for layer in action.layers
        for strip in layer.strips
        for bag in strip.channelbags
        for curve in bag.fcurves
    }


def turned(armature: bpy.types.Object, angle: float = 0.3) -> None:
    armature.pose.bones[BONE].rotation_quaternion = (1.0, angle, 0.0, 0.0)


def test_nothing_is_keyed_with_auto_keying_off(armature: bpy.types.Object) -> None:
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = False
    assert not key_posed(bpy.context, armature, [BONE])
    assert armature.animation_data is None


def test_what_was_turned_is_keyed_in_the_group_of_its_bone(armature: bpy.types.Object) -> None:
    assert key_posed(bpy.context, armature, [BONE])
    assert keys(armature) == {(TURN, index): [7.0] for index in range(4)}
    (bag,) = armature.animation_data.action.layers[0].strips[0].channelbags
    assert {curve.group.name for curve in bag.fcurves} == {BONE}


@pytest.mark.parametrize(
    ("mode", "path", "count"),
    [("XYZ", "rotation_euler", 3), ("ZXY", "rotation_euler", 3), ("AXIS_ANGLE", "rotation_axis_angle", 4)],
)
def test_the_channel_is_the_one_of_the_rotation_mode(
    armature: bpy.types.Object, mode: Any, path: str, count: int
) -> None:
    armature.pose.bones[BONE].rotation_mode = mode
    key_posed(bpy.context, armature, [BONE])
    assert set(keys(armature)) == {(f'pose.bones["{BONE}"].{path}', index) for index in range(count)}


def test_what_was_placed_has_keys_of_its_place_as_well() -> None:
    measures = proportions.adult("right")
    armature: bpy.types.Object = new_hand(measures, proportions.build(measures), bpy.context.scene.collection)[0]
    (found,) = find_hands(armature)
    held = make_rig_hand(armature, found)
    wrist, other = JOINT_INDEX["wrist"], JOINT_INDEX[BONE]
    key_hand(bpy.context, held, {wrist, other})
    paths = {path for path, _ in keys(armature)}
    assert {path for path in paths if path.endswith("location")} == {'pose.bones["wrist"].location'}
    assert len(paths) == 3


def test_only_what_has_a_curve_is_keyed_if_the_person_says_so(armature: bpy.types.Object, preferences: Any) -> None:
    armature.pose.bones[BONE].keyframe_insert("rotation_quaternion", index=1)
    preferences.use_keyframe_insert_available = True
    bpy.context.scene.frame_set(9)
    key_posed(bpy.context, armature, [BONE], [BONE])
    assert keys(armature) == {(TURN, 1): [7.0, 9.0]}


def test_only_what_changed_is_keyed_if_the_person_says_so(armature: bpy.types.Object, preferences: Any) -> None:
    key_posed(bpy.context, armature, [BONE], [BONE])
    preferences.use_auto_keyframe_insert_needed = True
    bpy.context.scene.frame_set(9)
    key_posed(bpy.context, armature, [BONE], [BONE])
    assert all(frames == [7.0] for frames in keys(armature).values())
    turned(armature)
    key_posed(bpy.context, armature, [BONE], [BONE])
    found = keys(armature)
    assert all(found[TURN, index] == [7.0, 9.0] for index in range(4))
    assert all(found[PLACE, index] == [7.0] for index in range(3))


def test_only_keys_that_are_there_are_replaced_in_that_mode(armature: bpy.types.Object) -> None:
    bpy.context.scene.tool_settings.auto_keying_mode = "REPLACE_KEYS"
    key_posed(bpy.context, armature, [BONE])
    assert armature.animation_data is None
    armature.pose.bones[BONE].keyframe_insert("rotation_quaternion")
    turned(armature)
    key_posed(bpy.context, armature, [BONE], [BONE])
    assert keys(armature) == {(TURN, index): [7.0] for index in range(4)}
    (bag,) = armature.animation_data.action.layers[0].strips[0].channelbags
    assert bag.fcurves.find(TURN, index=1).evaluate(7.0) == pytest.approx(0.3)
    bpy.context.scene.frame_set(9)
    key_posed(bpy.context, armature, [BONE])
    assert keys(armature)[TURN, 0] == [7.0]


@pytest.mark.parametrize(
    ("name", "paths"),
    [("Rotation", {TURN}), ("Location & Rotation", {PLACE, TURN}), ("Available", set())],
)
def test_the_active_keying_set_says_what_is_keyed(armature: bpy.types.Object, name: str, paths: set[str]) -> None:
    scene = bpy.context.scene
    scene.tool_settings.use_keyframe_insert_keyingset = True
    scene.keying_sets_all.active = scene.keying_sets_all[name]
    assert key_posed(bpy.context, armature, [BONE])
    assert {path for path, _ in keys(armature)} == paths


def test_a_keying_set_of_what_has_a_curve_keys_no_bone_that_has_none(armature: bpy.types.Object) -> None:
    scene = bpy.context.scene
    scene.tool_settings.use_keyframe_insert_keyingset = True
    scene.keying_sets_all.active = scene.keying_sets_all["Available"]
    armature.keyframe_insert("location", frame=1)
    before = keys(armature)
    assert key_posed(bpy.context, armature, [BONE])
    assert keys(armature) == before
    armature.pose.bones[BONE].keyframe_insert("rotation_quaternion", frame=1)
    scene.frame_set(5)
    key_posed(bpy.context, armature, [BONE])
    assert keys(armature) == before | {(TURN, index): [1.0, 5.0] for index in range(4)}


def test_a_keying_set_of_the_persons_own_keys_its_channels(armature: bpy.types.Object) -> None:
    scene = bpy.context.scene
    bpy.ops.anim.keying_set_add()
    own = scene.keying_sets.active
    own.paths.add(armature, PLACE)
    scene.tool_settings.use_keyframe_insert_keyingset = True
    key_posed(bpy.context, armature, [BONE])
    assert {path for path, _ in keys(armature)} == {PLACE}


def test_a_keying_set_that_refuses_leaves_the_pose(armature: bpy.types.Object) -> None:
    scene = bpy.context.scene
    scene.tool_settings.use_keyframe_insert_keyingset = True
    scene.keying_sets.new(idname="Empty", name="Empty")
    scene.keying_sets.active = scene.keying_sets["Empty"]
    turned(armature)
    assert key_posed(bpy.context, armature, [BONE])
    assert keys(armature) == {} and armature.pose.bones[BONE].rotation_quaternion[1] > 0


def test_between_two_frames_keys_are_between_them(armature: bpy.types.Object) -> None:
    bpy.context.scene.frame_set(7, subframe=0.5)
    turned(armature)
    key_posed(bpy.context, armature, [BONE])
    assert {frame for frames in keys(armature).values() for frame in frames} == {7.5}


@pytest.mark.usefixtures("extension")
def test_with_an_action_that_takes_no_keys_the_hand_is_posed_without(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    measures = proportions.adult("right")
    hand, _ = new_hand(measures, proportions.build(measures), bpy.context.scene.collection)
    hand.keyframe_insert("location", frame=1)
    link_action(hand, tmp_path)
    before = keys(hand)
    bpy.context.view_layer.objects.active = hand
    assert bpy.ops.knuckle.apply_hand_pose(pose="fist", side="right") == {"FINISHED"}
    assert keys(hand) == before and hand.pose.bones[BONE].rotation_quaternion.angle > 0.5
    reported = capfd.readouterr()
    assert (reported.out + reported.err).count("linked from another file") == 1
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.knuckle.pose_select(side="right") == {"FINISHED"}
    reported = capfd.readouterr()
    assert "linked" not in reported.out + reported.err, "what is not keyed anyway has nothing to tell"
