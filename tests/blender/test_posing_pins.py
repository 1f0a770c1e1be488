"""Pins of fingertips as operators keep them: what they are to goes, is hidden or comes from another file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.operators.pin_properties import has_target, pin_of, pins_of, pins_on
from knuckle.panels.pins_panel import pin_text
from knuckle.rig.posing.pin_reach import pin_distances
from knuckle.rig.posing.posable_cache import posable_hand_arm
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_held import channels, default
from knuckle.tests.blender.test_posing_drag import TIPS, apart, bend, box, drag, place

pytestmark = pytest.mark.usefixtures("extension")

operators: Any = bpy.ops
Object = bpy.types.Object
INDEX = TIPS["index-finger"]


@pytest.fixture
def armature(extension: None) -> Object:
    made = default()
    bpy.context.view_layer.objects.active = made
    bpy.ops.object.mode_set(mode="POSE")
    bend(made, "index-finger-phalanx-proximal", "index-finger-phalanx-intermediate", "thumb-phalanx-distal")
    return made


def pin(digit: str, **how: Any) -> None:
    assert operators.knuckle.pin_fingertip(side="right", digit=digit, **how) == {"FINISHED"}


def by_x(obj: Object) -> None:
    """As a person deletes it in the viewport: what points to it keeps it in the file."""
    active: Any = bpy.context.view_layer.objects.active
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.select_all(action="DESELECT")
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.delete()
    bpy.context.view_layer.objects.active = active
    active.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")


def by_script(obj: Object) -> None:
    bpy.data.objects.remove(obj)


@pytest.mark.parametrize("delete", [by_x, by_script])
def test_a_pin_to_an_object_that_is_gone_holds_nothing(armature: Object, delete: Callable[[Object], None]) -> None:
    cube = box(place(armature, INDEX))
    pin("index-finger", to="OBJECT")
    delete(cube)
    assert pins_of(armature, "right") == []
    assert pin_text(pin_of(armature, "right", "index-finger")) == "Missing Object"
    assert drag("wrist", place(armature, "wrist") + [0.0, 0.01, 0.0]) == {"FINISHED"}
    drag(INDEX, place(armature, INDEX) + [0.0, 0.0, 0.005])
    assert not has_target(pin_of(armature, "right", "index-finger"))


def test_a_pin_holds_again_when_the_deletion_of_its_object_is_undone(armature: Object) -> None:
    name = armature.name
    box(place(armature, INDEX))
    pin("index-finger", to="OBJECT")
    before = pins_of(armature, "right")[0].position
    bpy.ops.ed.undo_push(message="Pinned")
    by_x(pin_of(armature, "right", "index-finger").target)
    assert pins_of(armature, "right") == []
    bpy.ops.ed.undo_push(message="Deleted")
    bpy.ops.ed.undo()
    again = bpy.data.objects[name]
    assert pin_text(pin_of(again, "right", "index-finger")) == "Cube"
    np.testing.assert_allclose(pins_of(again, "right")[0].position, before, atol=1e-6)


def test_a_fingertip_stays_where_it_is_pinned_while_the_rounded_object_is_disabled(armature: Object) -> None:
    tip = place(armature, INDEX)
    cube: Any = box(tip - [0.0, 0.0, 0.0102])
    cube.modifiers.new("Round", "SUBSURF").levels = 2
    bpy.context.view_layer.update()
    pin("index-finger", to="OBJECT")
    cube.hide_viewport = True
    bpy.context.view_layer.update()
    np.testing.assert_allclose(pins_of(armature, "right")[0].position, tip, atol=1e-6)
    drag("wrist", place(armature, "wrist") + [0.0, 0.005, 0.005])
    assert apart(armature, INDEX, tip) < 0.5


def overridden(armature: Object, folder: Path) -> Object:
    """The armature in another file that links it, as a library override in Pose Mode."""
    name = armature.name
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "hand.blend"))
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(str(folder / "hand.blend"), link=True) as (_, wanted):
        wanted.objects = [name]
    linked = bpy.data.objects[name]
    bpy.context.scene.collection.objects.link(linked)
    own: Any = linked.override_create(remap_local_usages=True)
    own.override_library.is_system_override = False
    bpy.context.view_layer.objects.active = own
    bpy.ops.object.mode_set(mode="POSE")
    bpy.context.view_layer.update()
    result: Object = own
    return result


def reopened(folder: Path) -> Object:
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(folder / "shot.blend"))
    bpy.ops.object.mode_set(mode="POSE")
    bpy.context.view_layer.update()
    armature: Object = bpy.context.view_layer.objects.active
    return armature


def pinned(armature: Object) -> dict[str, Floats]:
    return {each.digit: each.position for each in pins_of(armature, "right")}


def test_pins_of_a_library_override_are_let_go_and_set_anew(armature: Object, tmp_path: Path) -> None:
    for digit in ("thumb", "index-finger"):
        pin(digit, to="WORLD")
    own = overridden(armature, tmp_path)
    assert set(pinned(own)) == {"thumb", "index-finger"}
    pin("ring-finger", to="WORLD")
    assert operators.knuckle.unpin_fingertip(side="right", digit="index-finger") == {"FINISHED"}
    assert set(pinned(own)) == {"thumb", "ring-finger"}
    own = reopened(tmp_path)
    assert set(pinned(own)) == {"thumb", "ring-finger"}
    assert operators.knuckle.unpin_all() == {"FINISHED"}
    assert pins_on(own) == []
    assert not operators.knuckle.unpin_all.poll()
    own = reopened(tmp_path)
    assert pins_on(own) == []
    drag(INDEX, place(own, INDEX) + [0.0, -0.01, -0.01])
    pin("index-finger", to="WORLD")
    tip = place(own, INDEX)
    own = reopened(tmp_path)
    assert set(pinned(own)) == {"index-finger"}
    np.testing.assert_allclose(pinned(own)["index-finger"], tip, atol=1e-6)


def test_a_finger_is_pinned_to_another_by_its_name_and_none_to_itself(armature: Object) -> None:
    for digit, other in (("thumb", "index-finger"), ("index-finger", "thumb"), ("pinky-finger", "ring-finger")):
        pin(digit, to=other)
        found = pin_of(armature, "right", digit)
        assert (found.kind, found.other) == ("DIGIT", other)
    for digit in CHAIN_JOINTS:
        with pytest.raises(TypeError, match="not found in"):
            pin(digit, to=digit)


def cube_under(armature: Object, digit: str) -> Object:
    """What a fingertip touches and is pinned to."""
    cube = box(place(armature, TIPS[digit]) - [0.0, 0.0, 0.0102])
    pin(digit, to="OBJECT")
    return cube


def test_pins_beyond_the_fingers_bring_the_hand(armature: Object) -> None:
    cube = cube_under(armature, "index-finger")
    thumb = place(armature, TIPS["thumb"])
    goal = place(armature, INDEX) + [0.05, 0.12, 0.1]
    cube.location = (np.array(cube.location) + [0.05, 0.12, 0.1]).tolist()
    bpy.context.view_layer.update()
    assert operators.knuckle.reach_pins() == {"FINISHED"}
    assert apart(armature, INDEX, goal) < 0.5
    assert apart(armature, TIPS["thumb"], thumb) > 50.0
    wrist = place(armature, "wrist")
    operators.knuckle.reach_pins()
    assert apart(armature, "wrist", wrist) < 0.5, "it is there already"


def test_what_stays_out_of_reach_is_reported_with_its_finger(
    armature: Object, capfd: pytest.CaptureFixture[str]
) -> None:
    gap = place(armature, TIPS["thumb"]) - place(armature, INDEX)
    pin("index-finger", to="WORLD")
    pin("thumb", to="WORLD")
    pin_of(armature, "right", "thumb").place = place(armature, TIPS["thumb"]) + 3.0 * gap
    capfd.readouterr()
    assert operators.knuckle.reach_pins() == {"FINISHED"}
    reported = capfd.readouterr().out
    short = {each.digit: apart(armature, TIPS[each.digit], each.position) for each in pins_of(armature, "right")}
    assert min(short.values()) > 0.6
    for digit, far in short.items():
        assert f"the right {digit.replace('-', ' ')} by {far:.{0 if far > 10 else 1}f} mm" in reported, (
            reported,
            short,
        )


def test_a_drag_that_begins_away_from_the_pins_does_not_leap_to_them(armature: Object) -> None:
    cube = cube_under(armature, "index-finger")
    cube.location.y += 0.03
    bpy.context.view_layer.update()
    tip, kept = place(armature, INDEX), pins_of(armature, "right")[0].position
    wrist = place(armature, "wrist")
    drag("wrist", wrist + [0.0, 0.0, 0.004])
    assert apart(armature, INDEX, tip) < 0.5, "the fingertip stays where it was"
    assert apart(armature, "wrist", wrist) > 2.0
    np.testing.assert_array_equal(pins_of(armature, "right")[0].position, kept)
    drag(TIPS["ring-finger"], place(armature, TIPS["ring-finger"]) + [0.0, -0.01, -0.01])
    assert apart(armature, INDEX, tip) < 0.5


def both_in_pose_mode(armature: Object) -> Object:
    """A second armature beside the hand."""
    bpy.ops.object.mode_set(mode="OBJECT")
    other = default()
    other.location.x = 0.5
    for each in (other, armature):
        each.select_set(True)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    bpy.context.view_layer.update()
    for each in (armature, other):
        pin("index-finger", armature=each.name, to="WORLD")
        found = pin_of(each, "right", "index-finger")
        found.place = np.array(found.place) + [0.0, -0.01, -0.01]
    return other


@pytest.mark.parametrize("number", [0, 1])
def test_a_hand_that_cannot_be_posed_keeps_no_other_from_its_pins(
    armature: Object, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    hands = [armature, both_in_pose_mode(armature)]
    broken = hands.pop(number)
    broken.data.pose_position = "REST"
    exact = channels(broken)
    (whole,) = hands
    before = channels(whole)
    assert operators.knuckle.reach_pins() == {"FINISHED"}
    assert np.array_equal(channels(broken), exact)
    assert not np.array_equal(channels(whole), before)
    assert f"'{broken.name}' is in Rest Position" in capfd.readouterr().out
    whole.data.pose_position = "REST"
    with pytest.raises(RuntimeError, match="in Rest Position"):
        operators.knuckle.reach_pins()


def slide(slider: str, value: float) -> None:
    setattr(bpy.context.scene.knuckle_posing, slider, value)
    bpy.context.view_layer.update()


def test_a_slider_of_a_pinned_digit_takes_its_pin_along(armature: Object) -> None:
    pin("index-finger", to="WORLD")
    pin("thumb", to="WORLD")
    thumb, tip = place(armature, TIPS["thumb"]), place(armature, INDEX)
    slide("curl_index", 0.6)
    assert bpy.context.scene.knuckle_posing.curl_index == pytest.approx(0.6, abs=1e-3)
    assert apart(armature, INDEX, tip) > 5.0
    np.testing.assert_allclose(pinned(armature)["index-finger"], place(armature, INDEX), atol=1e-6)
    np.testing.assert_allclose(pinned(armature)["thumb"], thumb, atol=1e-6)
    slide("oppose", 0.7)
    assert apart(armature, TIPS["thumb"], thumb) > 5.0
    np.testing.assert_allclose(pinned(armature)["thumb"], place(armature, TIPS["thumb"]), atol=1e-6)


def test_sliders_of_the_whole_hand_leave_pinned_fingertips(armature: Object) -> None:
    pin("index-finger", to="WORLD")
    pin("ring-finger", to="WORLD")
    tips = {digit: place(armature, TIPS[digit]) for digit in TIPS}
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    before = channels(armature)
    for slider, value in (("curl", 0.7), ("spread", 0.5), ("cup", 0.6)):
        slide(slider, value)
        for digit in ("index-finger", "ring-finger"):
            assert apart(armature, TIPS[digit], tips[digit]) < 0.5, slider
            np.testing.assert_allclose(pinned(armature)[digit], tips[digit], atol=1e-6)
    assert apart(armature, TIPS["middle-finger"], tips["middle-finger"]) > 5.0
    (bag,) = armature.animation_data.action.layers[0].strips[0].channelbags
    keyed = {curve.group.name for curve in bag.fcurves}
    assert not keyed & set(CHAIN_JOINTS["index-finger"]) and set(CHAIN_JOINTS["middle-finger"][:2]) <= keyed
    moved = np.abs(channels(armature) - before).max(axis=(1, 2)) > 1e-6
    assert {bone.name for bone, one in zip(armature.pose.bones, moved, strict=True) if one} <= keyed


def test_a_pinch_is_kept_while_one_of_its_fingers_is_slid(armature: Object) -> None:
    pin("thumb", to="index-finger")
    wanted, curl = pins_of(armature, "right")[0].position, bpy.context.scene.knuckle_posing.curl_index
    slide("curl_index", curl + 0.05)
    (still,) = pins_of(armature, "right")
    assert still.other == "index-finger"
    np.testing.assert_array_equal(still.position, wanted)
    assert max(pin_distances(posable_hand_arm(armature, "right").rig_hand, [still]).values()) < 5e-4


def test_a_slider_dragged_back_in_one_go_leaves_pins_and_bones_as_they_were(armature: Object) -> None:
    pin("index-finger", to="WORLD")
    pin("thumb", to="index-finger")
    began = bpy.context.scene.knuckle_posing.curl_index
    exact, place_before = channels(armature), pinned(armature)["index-finger"]
    for value in (began + 0.1, began + 0.4, began):
        slide("curl_index", value)
    np.testing.assert_allclose(channels(armature), exact, atol=1e-5)
    np.testing.assert_allclose(pinned(armature)["index-finger"], place_before, atol=1e-5)
