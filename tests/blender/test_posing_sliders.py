"""The sliders of the active armature's hand: they show how it stands, pose it, key it, and leave all else alone."""

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from knuckle.hand import proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, SIDES, Side, digit_of
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.operators.pose_sliders import setting, value
from knuckle.operators.posed_hands import posed_armature
from knuckle.operators.slider_drag import sliders_of, snapped
from knuckle.posing.sliders import SLIDERS, Slider
from knuckle.rig import detection_cache
from knuckle.rig.keys.fcurves import curves_of
from knuckle.rig.keys.take_scene import new_hand
from knuckle.rig.posing.mirror_pose import digit_joints
from knuckle.rig.posing.posable_cache import posable_hand
from knuckle.rig.posing.rig_hand import RigHand
from knuckle.tests.blender import rigs
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_held import default

pytestmark = pytest.mark.usefixtures("extension", "plain_keying")

OWN = "Knuckle's own"
RIGS = (OWN, "MakeHuman", "MakeHuman for games", "Rigify generated", "WebXR, left")


def opened(name: str) -> bpy.types.Object:
    armature = default() if name == OWN else rigs.RIGS[name]()[0]
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    detection_cache.detect(armature)
    return armature


@pytest.fixture(params=RIGS)
def armature(request: pytest.FixtureRequest) -> bpy.types.Object:
    return opened(request.param)


@pytest.fixture
def two_hands() -> bpy.types.Object:
    return opened("MakeHuman")


def asked() -> Any:
    return bpy.context.scene.knuckle_posing


def channels(armature: bpy.types.Object) -> Floats:
    return np.array([bone.matrix_basis for bone in armature.pose.bones])


def put(slider: Slider, to: float) -> None:
    setattr(asked(), setting(slider), to)
    bpy.context.view_layer.update()


def got(slider: Slider) -> float:
    return float(getattr(asked(), setting(slider)))


def chosen(armature: bpy.types.Object) -> RigHand:
    sides = [side for side in SIDES if side in detection_cache.detect(armature).hands]
    asked().side = sides[0]
    return posable_hand(armature, sides[0])


def test_a_slider_shows_what_it_was_set_to_and_poses_its_own_bones_alone(armature: bpy.types.Object) -> None:
    held = chosen(armature)
    sliders = sliders_of(held.hand, True)
    assert got(Slider("cup")) == pytest.approx(0.0, abs=0.01), "the palm is as it was built"
    # Posed a little first: a rig at rest may stand outside a hand's limits, and is then not read as it is written.
    put(Slider("spread"), 0.0)
    put(Slider("oppose"), 0.3)
    put(Slider("curl"), 0.3)
    for slider in SLIDERS:
        if not sliders.moves(slider):
            continue
        for to in (0.8, -0.4):
            before = channels(armature)
            put(slider, to)
            assert got(slider) == pytest.approx(to, abs=0.03), slider
            own = {digit_of(held.hand.joints[held.hand.axis_joint[dof]]) for dof in sliders.moves(slider)}
            bones = held.binding.bones
            allowed = {bones[joint] for joint in range(len(bones)) if digit_of(held.hand.joints[joint]) in own}
            moved = np.any(np.abs(channels(armature) - before) > 1e-5, axis=(1, 2))
            names = {bone.name for bone, moves in zip(armature.pose.bones, moved, strict=True) if moves}
            assert names <= allowed, slider


@pytest.mark.parametrize(
    ("read", "shown"),
    [
        (0.00688, 0.01),
        (0.004, 0.0),
        (-0.0071, -0.01),
        (0.01234, 0.01234),
        (0.31234, 0.31234),
        (1.0001, 1.0),
        (-1e-7, 0.0),
    ],
)
def test_a_slider_shows_no_digits_beyond_hundredths_of_a_small_value(read: float, shown: float) -> None:
    # Blender shows more digits the smaller a number is.
    assert snapped(read) == shown and str(snapped(read)) != "-0.0"


def test_there_and_back_leaves_no_trace(two_hands: bpy.types.Object) -> None:
    held = chosen(two_hands)
    for joint in held.binding.mapped[3:6]:
        bone = two_hands.pose.bones[str(held.binding.bones[joint])]
        bone.matrix_basis = bone.matrix_basis @ Quaternion((1.0, 0.02, 0.03, 0.04)).to_matrix().to_4x4()
    bpy.context.view_layer.update()
    for slider in (Slider("spread"), Slider("oppose"), Slider("cup")):
        before, began = channels(two_hands), got(slider)
        for to in (0.5, 1.5, -1.5, began):
            put(slider, to)
        np.testing.assert_allclose(channels(two_hands), before, atol=2e-5)


def test_curled_fingers_come_to_the_palm_and_the_opposed_thumb_across_it(armature: bpy.types.Object) -> None:
    held = chosen(armature)

    def tips() -> Floats:
        """(5, 3) in the wrist's frame, in lengths of the hand."""
        pose = held.read_pose()
        frames = joint_frames(held.hand, Pose(held.hand, np.eye(4)[None], pose.angles))[0]
        across = 1.0 if held.hand.side == "right" else -1.0
        size = np.linalg.norm(frames[JOINT_INDEX["middle-finger-tip"], :3, 3])
        places: Floats = np.array([frames[JOINT_INDEX[f"{d}-tip"], :3, 3] * [across, 1, 1] for d in DIGITS]) / size
        return places

    for slider in (Slider("curl"), Slider("spread"), Slider("oppose")):
        put(slider, 0.0)
    flat = tips()
    put(Slider("curl", "index-finger"), 0.3)
    assert tips()[1, 2] < flat[1, 2] - 0.05, "bends to the palm"
    put(Slider("curl", "index-finger"), 0.0)
    put(Slider("spread"), 1.0)
    assert tips()[1, 0] < flat[1, 0] - 0.02 and tips()[4, 0] > flat[4, 0] + 0.02, "fans"
    put(Slider("spread"), 0.0)
    put(Slider("oppose"), 1.0)
    assert tips()[0, 0] > flat[0, 0] + 0.2 and tips()[0, 2] < -0.1, "in front of the palm, and across"


def test_cup_turns_metacarpals_where_the_rig_has_them(two_hands: bpy.types.Object) -> None:
    held = chosen(two_hands)
    before = channels(two_hands)
    put(Slider("cup"), 1.0)
    moved = np.any(np.abs(channels(two_hands) - before) > 1e-5, axis=(1, 2))
    names = {bone.name for bone, moves in zip(two_hands.pose.bones, moved, strict=True) if moves}
    bones = held.binding.bones
    assert names == {bones[JOINT_INDEX[f"{digit}-metacarpal"]] for digit in DIGITS[3:]}


def keyed(armature: bpy.types.Object) -> set[str]:
    """The bones that have keys."""
    animation = armature.animation_data
    if animation is None or animation.action is None:
        return set()
    return {
        curve.data_path.split('"')[1]
        for layer in animation.action.layers
        for strip in layer.strips
        for bag in strip.channelbags
        for curve in bag.fcurves
    }


def test_auto_key_keys_exactly_what_a_slider_moves_and_nothing_is_keyed_without_it(
    armature: bpy.types.Object,
) -> None:
    held = chosen(armature)
    put(Slider("curl", "index-finger"), 0.4)
    assert keyed(armature) == set()
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    put(Slider("curl", "index-finger"), 0.5)
    bones = held.binding.bones
    own = {bones[JOINT_INDEX[joint]] for joint in CHAIN_JOINTS["index-finger"][:3]}
    assert own <= keyed(armature)
    assert keyed(armature) - own <= {bones[JOINT_INDEX["index-finger-tip"]]}, "a tip that hangs on nothing goes along"


@pytest.mark.parametrize("keyed_on", [(), (5,), (1, 5), (1,)])
def test_a_slider_that_is_left_by_escape_leaves_no_key(keyed_on: tuple[int, ...]) -> None:
    armature, index = opened(OWN), Slider("curl", "index-finger")
    bone = armature.pose.bones["index-finger-phalanx-proximal"]
    for frame in keyed_on:
        bone.keyframe_insert("rotation_quaternion", index=frame % 4, frame=frame, group="Mine")
        bone.keyframe_insert("rotation_quaternion", index=0, frame=frame, group="Mine")
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    before, began = all_keys(armature), got(index)
    # As Blender does: it gives back the value that it read.
    for to in (0.3, 0.6, began):
        put(index, to)
        assert (all_keys(armature) == before) == (to == began)
    assert (armature.animation_data is None) == (not keyed_on) and len(bpy.data.actions) == bool(keyed_on)


def test_keys_that_were_set_between_two_drags_are_not_taken_back_with_the_second() -> None:
    armature, index = opened(OWN), Slider("curl", "index-finger")
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    began = got(index)
    put(index, 0.4)
    put(index, began)
    armature.pose.bones["index-finger-phalanx-proximal"].keyframe_insert("rotation_quaternion", frame=5)
    before = all_keys(armature)
    put(index, 0.4)
    put(index, began)
    assert all_keys(armature) == before != []


def test_escape_leaves_what_others_have_in_the_action() -> None:
    """Blender keys an object in the action that its data play already."""
    armature, index = opened(OWN), Slider("curl", "index-finger")
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    armature.data["flag"] = 1.0
    armature.data.keyframe_insert('["flag"]', frame=1)
    action, began = armature.data.animation_data.action, got(index)
    put(index, 0.5)
    put(index, began)
    assert armature.data.animation_data.action == action and not keyed(armature)
    assert len(list(curves_of(action, armature.data.animation_data.action_slot))) == 1


def test_escape_takes_back_both_ends_of_a_cycle() -> None:
    armature, index, scene = opened(OWN), Slider("curl", "index-finger"), bpy.context.scene
    scene.tool_settings.use_keyframe_insert_auto = True
    for frame, to in ((1, 0.2), (25, 0.3)):
        scene.frame_set(frame)
        put(index, to)
    for curve in curves_of(armature.animation_data.action, armature.animation_data.action_slot):
        curve.modifiers.new("CYCLES")
    scene.tool_settings.use_keyframe_cycle_aware = True
    scene.frame_set(30)
    before, began = all_keys(armature), got(index)
    put(index, 0.7)
    put(index, began)
    assert all_keys(armature) == before


def test_a_slider_that_was_dragged_in_another_file_is_dragged_anew(tmp_path: Path) -> None:
    index = Slider("curl", "index-finger")
    opened(OWN)
    bpy.ops.knuckle.pin_fingertip(side="right", digit="thumb", to="WORLD")
    put(index, 0.5)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hand.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "hand.blend"))
    put(index, 0.9)
    assert got(index) == pytest.approx(0.9, abs=0.03)


def test_escape_gives_back_channels_and_pins_to_the_bit() -> None:
    """Also what a limit holds back and is not seen, and a pin that its finger had left."""
    armature, index = opened(OWN), Slider("curl", "index-finger")
    armature.pose.bones["index-finger-phalanx-intermediate"].rotation_quaternion = (0.9, -0.4, 0.1, 0.1)
    bpy.ops.knuckle.pin_fingertip(side="right", digit="index-finger", to="WORLD")
    armature.location.x += 0.3
    bpy.context.view_layer.update()
    pin, before = tuple(armature.knuckle_pins[0].place), channels(armature)
    turned = np.array([bone.rotation_quaternion for bone in armature.pose.bones])
    began = got(index)
    put(index, 0.6)
    assert tuple(armature.knuckle_pins[0].place) != pin and np.abs(channels(armature) - before).max() > 0.1
    put(index, began)
    assert np.array_equal(np.array([bone.rotation_quaternion for bone in armature.pose.bones]), turned)
    assert tuple(armature.knuckle_pins[0].place) == pin


def test_sliders_of_a_scene_that_is_not_shown_pose_nothing() -> None:
    armature = opened(OWN)
    before = channels(armature)
    bpy.data.scenes.new("Other").knuckle_posing.curl = 0.7
    bpy.context.view_layer.update()
    assert np.array_equal(channels(armature), before)


def all_keys(armature: bpy.types.Object) -> list[Any]:
    animation = armature.animation_data
    if animation is None or animation.action is None:
        return []
    return [
        (
            curve.data_path,
            curve.array_index,
            curve.group.name if curve.group else "",
            [
                (key.interpolation, key.type, *key.co, *key.handle_left, *key.handle_right)
                for key in curve.keyframe_points
            ],
        )
        for curve in curves_of(animation.action, animation.action_slot)
    ]


def test_a_hand_that_was_moved_by_other_means_is_shown_as_it_stands(two_hands: bpy.types.Object) -> None:
    held = chosen(two_hands)
    put(Slider("curl", "index-finger"), 0.0)
    name = str(held.binding.bones[JOINT_INDEX[CHAIN_JOINTS["index-finger"][1]]])
    before = got(Slider("curl", "index-finger"))
    put(Slider("curl", "index-finger"), 0.7)
    two_hands.pose.bones[name].matrix_basis.identity()
    bpy.context.view_layer.update()
    assert got(Slider("curl", "index-finger")) < 0.6
    assert before == pytest.approx(0.0, abs=0.01)


def test_the_dip_lock_leaves_the_last_joint_to_itself_where_it_is_off(two_hands: bpy.types.Object) -> None:
    held = chosen(two_hands)
    tip = Slider("tip", "index-finger")
    put(Slider("curl", "index-finger"), 0.6)
    dip = held.hand.dof(CHAIN_JOINTS["index-finger"][2], "flexion")
    pip = held.hand.dof(CHAIN_JOINTS["index-finger"][1], "flexion")
    angles = held.read_pose().angles[0]
    assert dip is not None and pip is not None
    assert angles[dip] == pytest.approx(angles[pip] * 2 / 3, abs=0.01)
    asked().dip_lock = False
    put(tip, 0.0)
    assert held.read_pose().angles[0, dip] == pytest.approx(0.0, abs=0.01)
    assert held.read_pose().angles[0, pip] == pytest.approx(angles[pip], abs=0.01)


def test_without_an_armature_or_a_hand_sliders_show_nothing_and_do_nothing() -> None:
    bpy.context.view_layer.objects.active = None
    assert value(bpy.context, Slider("curl")) == 0.0
    put(Slider("curl"), 0.5)
    bones = bpy.data.armatures.new("Empty")
    empty = bpy.data.objects.new("Empty", bones)
    bpy.context.scene.collection.objects.link(empty)
    bpy.context.view_layer.objects.active = empty
    detection_cache.detect(empty)
    put(Slider("curl"), 0.5)
    assert got(Slider("curl")) == 0.0


def fist(side: Side) -> None:
    asked().side = side
    for slider, to in ((Slider("curl"), 0.8), (Slider("spread"), 0.4), (Slider("curl", "index-finger"), 0.1)):
        put(slider, to)


def test_a_mirrored_hand_is_the_mirror_image_bone_by_bone(two_hands: bpy.types.Object) -> None:
    fist("right")
    right, left = (posable_hand(two_hands, side) for side in ("right", "left"))
    index = str(right.binding.bones[JOINT_INDEX["index-finger-phalanx-proximal"]])
    bone = two_hands.pose.bones[index]
    bone.matrix_basis = bone.matrix_basis @ Quaternion((1.0, 0.0, 0.3, 0.0)).to_matrix().to_4x4()
    bpy.context.view_layer.update()
    wrist = np.array(two_hands.pose.bones[str(left.binding.bones[0])].matrix_basis)
    bpy.ops.knuckle.pose_mirror(direction="TO_LEFT")
    bpy.context.view_layer.update()
    for joint in digit_joints(left):
        ends = []
        for held in (right, left):
            bone = two_hands.pose.bones[str(held.binding.bones[joint])]
            ends.append(np.array([bone.head, bone.tail]))
        off = np.abs(ends[0] * [-1.0, 1.0, 1.0] - ends[1]).max() / two_hands.dimensions.length
        assert off < 3e-4, f"{left.hand.joints[joint]}: {off:.5f} of the armature's size"
    np.testing.assert_allclose(
        np.array(two_hands.pose.bones[str(left.binding.bones[0])].matrix_basis), wrist, atol=1e-6
    )


def test_swapping_twice_gives_both_hands_back(two_hands: bpy.types.Object) -> None:
    fist("right")
    before = channels(two_hands)
    bpy.ops.knuckle.pose_mirror(direction="SWAP")
    bpy.context.view_layer.update()
    assert np.abs(channels(two_hands) - before).max() > 0.3
    bpy.ops.knuckle.pose_mirror(direction="SWAP")
    bpy.context.view_layer.update()
    np.testing.assert_allclose(channels(two_hands), before, atol=1e-3)


def test_hands_that_are_armatures_of_their_own_are_mirrored_where_both_are_selected() -> None:
    right = opened(OWN)
    put(Slider("curl"), 0.6)
    with pytest.raises(RuntimeError, match="has no left hand, also select the armature that has it"):
        bpy.ops.knuckle.pose_mirror(direction="TO_LEFT")
    measures = proportions.adult("left")
    left = new_hand(measures, proportions.build(measures), bpy.context.scene.collection)[0]
    left.select_set(True)
    bpy.ops.knuckle.pose_mirror(direction="TO_LEFT")
    bpy.context.view_layer.update()
    angles = [posable_hand(one, side).read_pose().angles[0] for one, side in zip((left, right), SIDES, strict=True)]
    np.testing.assert_allclose(angles[1], angles[0], atol=1e-3)


def test_reset_puts_the_bones_of_the_digits_to_rest_and_no_other(two_hands: bpy.types.Object) -> None:
    held = chosen(two_hands)
    put(Slider("curl"), 0.7)
    before = channels(two_hands)
    bpy.ops.knuckle.pose_reset(side=held.hand.side, digit="index-finger")
    index = {str(held.binding.bones[joint]) for joint in digit_joints(held, ("index-finger",))}
    for name in index:
        np.testing.assert_allclose(np.array(two_hands.pose.bones[name].matrix_basis), np.eye(4), atol=1e-6)
    changed = np.any(np.abs(channels(two_hands) - before) > 1e-6, axis=(1, 2))
    assert {bone.name for bone, moves in zip(two_hands.pose.bones, changed, strict=True) if moves} <= index


def test_relax_comes_to_the_hand_at_ease(two_hands: bpy.types.Object) -> None:
    held = chosen(two_hands)
    put(Slider("curl"), 0.9)
    far = np.abs(held.read_pose().angles[0] - held.hand.neutral)
    bpy.ops.knuckle.pose_relax(side=held.hand.side, factor=0.5)
    bpy.context.view_layer.update()
    half = np.abs(held.read_pose().angles[0] - held.hand.neutral)
    np.testing.assert_allclose(half, far / 2, atol=np.deg2rad(2.0))
    bpy.ops.knuckle.pose_relax(side=held.hand.side, factor=1.0)
    bpy.context.view_layer.update()
    np.testing.assert_allclose(held.read_pose().angles[0], held.hand.neutral, atol=np.deg2rad(0.1))


def selected(armature: bpy.types.Object) -> set[str]:
    return {bone.name for bone in armature.pose.bones if (bone if hasattr(bone, "select") else bone.bone).select}


def test_what_posing_moves_is_selected(two_hands: bpy.types.Object) -> None:
    left, right = (posable_hand(two_hands, side) for side in SIDES)
    bpy.ops.knuckle.pose_select(side="left", digit="index-finger")
    index = {left.binding.bones[JOINT_INDEX[joint]] for joint in CHAIN_JOINTS["index-finger"][:3]}
    assert selected(two_hands) == index
    bpy.ops.knuckle.pose_select(side="right", digit="ALL", extend=True, wrist=True)
    names = selected(two_hands)
    assert index < names and right.binding.bones[0] in names
    assert {right.binding.bones[joint] for joint in right.hand.axis_joint} <= names
    bpy.ops.object.mode_set(mode="OBJECT")
    assert not bpy.ops.knuckle.pose_select.poll()


@pytest.mark.parametrize("rig", ["MakeHuman", "Rigify generated"])
def test_blenders_own_pose_tools_make_in_betweens(rig: str) -> None:
    armature = opened(rig)
    held, scene = chosen(armature), bpy.context.scene
    scene.tool_settings.use_keyframe_insert_auto = True
    for frame, to in ((1, 0.0), (21, 0.9)):
        scene.frame_set(frame)
        put(Slider("curl"), to)
    bpy.ops.knuckle.pose_select(side=held.hand.side)
    scene.frame_set(11)
    between: Any = {"prev_frame": 1, "next_frame": 21}
    for factor in (0.25, 0.75):
        bpy.ops.pose.breakdown(**between, factor=factor)
        bpy.context.view_layer.update()
        assert got(Slider("curl")) == pytest.approx(0.9 * factor, abs=0.06)
    stood = got(Slider("curl"))
    bpy.ops.pose.relax(**between, factor=0.5)
    bpy.context.view_layer.update()
    assert 0.45 < got(Slider("curl")) < stood - 0.05
    bpy.ops.pose.blend_to_neighbor(**between, factor=1.0)
    bpy.context.view_layer.update()
    assert got(Slider("curl")) == pytest.approx(0.9, abs=0.02)


def test_the_way_between_two_keyed_poses_has_no_turn_in_it(two_hands: bpy.types.Object) -> None:
    held, scene = chosen(two_hands), bpy.context.scene
    scene.tool_settings.use_keyframe_insert_auto = True
    for number, to in enumerate((0.0, 1.0, -0.8, 0.6)):
        scene.frame_set(1 + 10 * number)
        put(Slider("curl"), to)
        put(Slider("oppose"), abs(to))
    angles = []
    for frame in range(1, 32):
        scene.frame_set(frame)
        angles.append(np.rad2deg(held.read_pose().angles[0]))
    leap = np.abs(np.diff(angles, axis=0)).max()
    assert leap < 25, f"{leap:.0f} degrees from one frame to the next"


def test_a_hand_is_meant_by_its_skin_and_by_an_armature_that_is_selected_beside_the_active_object() -> None:
    armature = opened(OWN)
    bpy.ops.object.mode_set(mode="OBJECT")
    skin = next(child for child in armature.children if child.type == "MESH")
    other = bpy.data.objects.new("Can", bpy.data.meshes.new("Can"))
    bpy.context.collection.objects.link(other)
    for active, selected, meant in (
        (armature, (), armature),
        (skin, (), armature),
        (other, (), None),
        (other, (armature,), armature),
    ):
        bpy.ops.object.select_all(action="DESELECT")
        bpy.context.view_layer.objects.active = active
        for obj in selected:
            obj.select_set(True)
        assert posed_armature(bpy.context) == meant, f"{active.name} with {selected}"
