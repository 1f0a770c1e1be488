"""Keys: the evaluated armature stands as the solved hand does, in an action of its own, and nothing else changes."""

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.hand import kinematics, proportions
from knuckle.hand.joints import JOINTS, SIDES, Side
from knuckle.hand.model import HandModel
from knuckle.rig.binding import RigBinding
from knuckle.rig.keys.frame_times import scene_frames, scene_rate, set_scene_rate
from knuckle.rig.keys.hand_motion import KeyedHand
from knuckle.rig.keys.keyframes import check_keyable, key_hands
from knuckle.rig.keys.take_report import REPORT_PROPERTY, report_of
from knuckle.rig.keys.take_scene import TakeTiming, bind_hands, new_hand, take_frames, write_take
from knuckle.tests.blender.making import evaluated, everything, motion, take

FRAMES = 40


def built(side: Side = "right") -> tuple[bpy.types.Object, RigBinding, HandModel]:
    measures = proportions.adult(side)
    hand = proportions.build(measures)
    return *new_hand(measures, hand, bpy.context.scene.collection), hand


@pytest.mark.parametrize("side", SIDES)
def test_the_evaluated_armature_stands_as_forward_kinematics_says(side: Side) -> None:
    armature, binding, hand = built(side)
    pose = motion(hand, FRAMES)
    key_hands(armature, [KeyedHand(binding, hand, pose)], np.arange(1.0, FRAMES + 1), "Take")
    solved = kinematics.joint_frames(hand, pose)
    away, turned = 0.0, 0.0
    for frame in range(FRAMES):
        bpy.context.scene.frame_set(frame + 1)
        seen = evaluated(armature)
        away = max(away, float(np.abs(seen[:, :3, 3] - solved[frame, :, :3, 3]).max()))
        turned = max(turned, float(np.abs(seen[:, :3, :3] - solved[frame, :, :3, :3]).max()))
    assert away * 1000 < 0.05, f"{away * 1000:.4f} mm > 0.05 mm"
    assert np.degrees(turned) < 1e-3, f"{np.degrees(turned):.1e} degrees > 1e-3"


@pytest.mark.parametrize(("fps", "base"), [(24, 1.0), (30, 1.001), (60, 1.0)])
def test_keys_fall_where_fps_over_fps_base_puts_their_times(fps: int, base: float) -> None:
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = fps, base
    solved = take(("right",), frames=30, rate=50.0)
    (armature,) = write_take(solved, None, scene, scene.collection, TakeTiming(start=101.0))
    curve = channelbag(armature).fcurves[0]
    values = np.empty(2 * len(curve.keyframe_points))
    curve.keyframe_points.foreach_get("co", values)
    expected = 101 + np.arange(30) / 50.0 * fps / base
    assert np.abs(values[::2] - expected).max() < 1e-4
    assert {point.interpolation for point in curve.keyframe_points} == {"LINEAR"}


def test_a_capture_at_the_scenes_rate_is_keyed_on_whole_frames() -> None:
    scene = bpy.context.scene
    set_scene_rate(scene, 30 / 1.001)
    assert (scene.render.fps, round(scene.render.fps_base, 6)) == (30, 1.001)
    frames = scene_frames(7.0 + np.arange(20_000) * 1.001 / 30, 7.0, 1.0, scene_rate(scene))
    assert (frames == np.arange(1, 20_001)).all()


@pytest.mark.parametrize("rate", [0.4, 1.0, 23.976, 24.0, 59.94, 119.88, 240.0, 1000.5])
def test_a_scene_has_the_rate_that_it_is_given_and_a_base_only_if_that_is_not_whole(rate: float) -> None:
    scene = bpy.context.scene
    set_scene_rate(scene, rate)
    assert scene_rate(scene) == pytest.approx(rate, rel=1e-6)
    assert (scene.render.fps_base == 1.0) == (rate % 1 == 0)


@pytest.mark.parametrize(("off", "whole"), [(5e-5, True), (-5e-5, True), (2e-4, False), (-2e-4, False), (0.5, False)])
def test_frames_that_are_whole_but_for_rounding_are_made_whole_and_no_others(off: float, whole: bool) -> None:
    (frame,) = scene_frames([2.0], 1.0, 10.0 + off, 24.0)
    assert frame == (34.0 if whole else pytest.approx(34.0 + off, abs=1e-9))


def test_frames_that_blender_does_not_have_are_reported_with_those_that_it_has() -> None:
    frame = bpy.types.Scene.bl_rna.properties["frame_current"]
    first, last = int(frame.hard_min), int(frame.hard_max)
    assert scene_frames([0.0], 0.0, last, 24.0)[0] == last
    for start in (first - 1, last + 1):
        with pytest.raises(RigError, match=f"on frames {start} to {start}, Blender's are {first} to {last}"):
            scene_frames([0.0], 0.0, start, 24.0)


def test_a_part_of_a_capture_lies_on_the_part_of_the_markers_that_it_was_made_from() -> None:
    scene = bpy.context.scene
    scene.render.fps = 60
    solved = take(first=2.0)
    assert take_frames(solved, scene, TakeTiming(start=1.0, origin=1.0))[0] == pytest.approx(61.0)
    assert take_frames(solved, scene, TakeTiming(start=1.0))[0] == 1.0


def channelbag(armature: bpy.types.Object) -> Any:
    animation = armature.animation_data
    return animation.action.layers[0].strips[0].channelbag(animation.action_slot)


def keys(bag: Any) -> list[tuple[float, ...]]:
    """All keys of all curves."""
    return [tuple(point.co) for curve in bag.fcurves for point in curve.keyframe_points]


def test_every_take_has_an_action_of_its_own_and_leaves_the_one_before_as_it_was() -> None:
    scene = bpy.context.scene
    solved = take(("right",))
    (armature,) = write_take(solved, None, scene, scene.collection, TakeTiming())
    first = armature.animation_data.action
    before = keys(channelbag(armature))
    track = armature.animation_data.nla_tracks.new()
    track.strips.new("Kept", 1, first)
    again = write_take(take(("right",), frames=20), None, scene, scene.collection, TakeTiming(start=50.0))
    assert again == (armature,), "solving once more must not put another hand in the same place"
    second = armature.animation_data.action
    assert second != first
    assert armature.animation_data.action_slot in set(second.slots)
    bag = first.layers[0].strips[0].channelbags[0]
    assert keys(bag) == before
    assert [strip.name for strip in armature.animation_data.nla_tracks[0].strips] == ["Kept"]
    third = write_take(take(("right",), frames=10), None, scene, scene.collection, TakeTiming())[
        0
    ].animation_data.action
    assert third not in (first, second)
    assert second.use_fake_user, "an action that nothing plays any more would be lost when the file is saved"


@pytest.mark.parametrize("played", [0, 1, None], ids=["first slot", "second slot", "no slot"])
def test_a_take_that_fails_leaves_the_slot_of_an_action_of_several_played(played: int | None) -> None:
    armature, binding, hand = built()
    action = bpy.data.actions.new("Both")
    slots = [action.slots.new(id_type="OBJECT", name=name) for name in ("Rig", "Other")]
    animation = armature.animation_data_create()
    animation.action = action
    animation.action_slot = None if played is None else slots[played]
    armature.scale = (0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    with pytest.raises(RigError, match="scaled to zero"):
        key_hands(armature, [KeyedHand(binding, hand, motion(hand, 3))], np.arange(1.0, 4.0), "Take")
    assert animation.action == action
    assert animation.action_slot == (None if played is None else slots[played])
    assert [one.name for one in bpy.data.actions] == ["Both"]


def test_a_hand_that_was_put_aside_is_left_alone_and_one_in_edit_mode_is_reported() -> None:
    scene = bpy.context.scene
    solved = take(("right",), frames=5)
    aside = bpy.data.collections.new("Aside")
    scene.collection.children.link(aside)
    (first,) = write_take(solved, None, scene, aside, TakeTiming())
    played = first.animation_data.action
    bpy.context.view_layer.layer_collection.children["Aside"].exclude = True
    (second,) = write_take(solved, None, scene, scene.collection, TakeTiming())
    assert second != first
    assert first.animation_data.action == played
    bpy.context.view_layer.objects.active = second
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RigError, match="leave Edit Mode"):
        write_take(solved, None, scene, scene.collection, TakeTiming())
    bpy.ops.object.mode_set(mode="OBJECT")


def test_of_two_hands_none_is_built_where_one_that_stands_cannot_be_keyed() -> None:
    scene = bpy.context.scene
    solved = take(frames=5)
    left, right = write_take(solved, None, scene, scene.collection, TakeTiming())
    bpy.data.objects.remove(left)
    bpy.context.view_layer.objects.active = right
    bpy.ops.object.mode_set(mode="EDIT")
    before = everything(scene)
    with pytest.raises(RigError, match="'Right Hand' is being edited"):
        write_take(solved, None, scene, scene.collection, TakeTiming())
    assert everything(scene) == before
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize(
    "damaged",
    ["", "no JSON", "[]", "5", "{}", '{"hands": 3}', '{"hands": {"left": 4}}', '{"hands": {"left": {"fingers": []}}}']
    + ['{"hands": {"left": {"fingers": {"thumb": 0}}}}', "[" * 100_000, 7, [1.0, 2.0]],
    ids=lambda value: str(value)[:40],
)
def test_a_damaged_report_is_none(damaged: object) -> None:
    scene = bpy.context.scene
    (armature,) = write_take(take(("right",), frames=5), None, scene, scene.collection, TakeTiming())
    report = report_of(armature)
    assert report is not None
    assert set(report["hands"]) == {"right"}
    armature.animation_data.action[REPORT_PROPERTY] = damaged
    assert report_of(armature) is None
    # The take is no one's any more: the next one gets a hand of its own.
    assert write_take(take(("right",), frames=5), None, scene, scene.collection, TakeTiming()) != (armature,)


def test_only_the_bones_of_the_hand_are_keyed_and_the_scene_stays() -> None:
    scene = bpy.context.scene
    armature, _, _ = built("right")
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    extra = armature.data.edit_bones.new("sleeve")
    extra.head, extra.tail = (0, -0.1, 0), (0, -0.2, 0)
    bpy.ops.object.mode_set(mode="OBJECT")
    scene.frame_set(7)
    before = everything(scene)
    write_take(take(("right",)), armature, scene, scene.collection, TakeTiming())
    after = everything(scene)
    assert {group.name for group in channelbag(armature).groups} <= set(JOINTS)
    assert after.pop("actions") == [*before.pop("actions"), "clap"]
    assert after == before


def test_quaternions_never_change_sign_between_keys() -> None:
    armature, binding, hand = built("left")
    turns = np.linspace(0, 4 * np.pi, 100)
    pose = motion(hand, 100, corners=False)
    pose.root[:, :3, :3] = [[[np.cos(t), -np.sin(t), 0], [np.sin(t), np.cos(t), 0], [0, 0, 1]] for t in turns]
    key_hands(armature, [KeyedHand(binding, hand, pose)], np.arange(100.0), "Take")
    curves = [c for c in channelbag(armature).fcurves if c.data_path == 'pose.bones["wrist"].rotation_quaternion']
    values = np.array([[point.co[1] for point in curve.keyframe_points] for curve in curves])
    assert ((values[:, 1:] * values[:, :-1]).sum(0) > 0).all()


@pytest.mark.parametrize("mode", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "AXIS_ANGLE"])
def test_a_bone_keeps_its_rotation_mode_and_is_keyed_in_it(mode: str) -> None:
    armature, binding, hand = built("right")
    for bone in armature.pose.bones:
        setattr(bone, "rotation_mode", mode)  # noqa: B010  # the stubs take each mode spelled out only
        while bone.constraints:
            bone.constraints.remove(bone.constraints[0])
    pose = motion(hand, FRAMES)
    key_hands(armature, [KeyedHand(binding, hand, pose)], np.arange(1.0, FRAMES + 1), "Take")
    solved = kinematics.joint_frames(hand, pose)
    for frame in range(FRAMES):
        bpy.context.scene.frame_set(frame + 1)
        away = np.abs(evaluated(armature)[:, :3, 3] - solved[frame, :, :3, 3]).max()
        assert away * 1000 < 0.05, f"frame {frame + 1}: {away * 1000:.3f} mm > 0.05 mm"
    assert {bone.rotation_mode for bone in armature.pose.bones} == {mode}


def linked_hand(tmp_path: Path) -> bpy.types.Object:
    built("right")
    library = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(library, link=True) as (_, into):
        into.objects = ["Right Hand"]
    armature = bpy.data.objects["Right Hand"]
    bpy.context.scene.collection.objects.link(armature)
    return armature


def test_a_library_override_is_keyed_and_a_linked_armature_is_refused(tmp_path: Path) -> None:
    linked = linked_hand(tmp_path)
    scene = bpy.context.scene
    scene.render.fps = 60
    with pytest.raises(RigError, match="library override"):
        bind_hands(linked, take(("right",)))
    override = linked.override_create(remap_local_usages=True)
    solved = take(("right",))
    write_take(solved, override, scene, scene.collection, TakeTiming())
    scene.frame_set(10)
    solved_frames = kinematics.joint_frames(solved.hands[0].hand, solved.hands[0].pose)
    away = np.abs(evaluated(override)[:, :3, 3] - solved_frames[9, :, :3, 3]).max()
    assert override.animation_data.action.name == "clap"
    assert away * 1000 < 0.05, f"{away * 1000:.3f} mm > 0.05 mm"


def test_an_armature_in_tweak_mode_is_refused() -> None:
    scene = bpy.context.scene
    (armature,) = write_take(take(("right",)), None, scene, scene.collection, TakeTiming())
    animation = armature.animation_data
    strip = animation.nla_tracks.new().strips.new("Strip", 1, animation.action)
    animation.action = None
    strip.select = True
    animation.nla_tracks[0].select = True
    animation.use_tweak_mode = True
    if not animation.use_tweak_mode:
        pytest.skip("this Blender enters Tweak Mode from its editor only")
    with pytest.raises(RigError, match="Tweak Mode"):
        check_keyable(armature)
