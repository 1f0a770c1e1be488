"""The operators of the panel Corrections: what a person does, undone and done again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from knuckle.operators.take_corrections import ShownTake
from knuckle.pipeline.corrections.correction import Correction, HiddenMarkers, TimeRange
from knuckle.pipeline.corrections.correction_json import to_list
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.keys.corrections.corrected_take import (
    COMPOSED_ID_PROPERTY,
    CORRECTIONS_PROPERTY,
    correct_take,
    corrections_of,
    hands_of_take,
)
from knuckle.rig.keys.corrections.mended_problems import corrections_of_keys
from knuckle.rig.keys.corrections.solved_rest import has_other_rest
from knuckle.rig.keys.corrections.take_base import base_of, composed_of, playing_base
from knuckle.rig.keys.corrections.written_take import left_corrections_note
from knuckle.rig.keys.fcurves import curves_on, key_values
from knuckle.rig.keys.played_action import played_action
from knuckle.rig.keys.reduced_take import dense_action
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.tests.blender.linked_action import link_action
from knuckle.tests.blender.making import copied, rig, take
from knuckle.tests.blender.test_corrections import JOINT, RATE, angle
from knuckle.tests.blender.test_spliced_takes import keys

pytestmark = pytest.mark.usefixtures("extension")
Object = bpy.types.Object


@pytest.fixture
def armature() -> Object:
    """A rig of a right hand, active, that plays a made take on frames 1 to 40."""
    made = rig("right")
    scene = bpy.context.scene
    scene.render.fps = round(RATE)
    write_take(take(("right",), 40, RATE), made, scene, scene.collection, TakeTiming())
    bpy.context.view_layer.objects.active = made
    scene.frame_set(20)
    return made


def kept(armature: Object) -> tuple[Any, ...]:
    return corrections_of(armature)


def change(what: str, one: Any) -> Any:
    return bpy.ops.knuckle.change_correction(correction=one.id, what=what)


def bend(armature: Object, turn: float = 0.6) -> Any:
    """Turn a bone as a person does, and return how it is turned then."""
    bone = armature.pose.bones[JOINT]
    bone.matrix_basis = bone.matrix_basis @ Matrix.Rotation(turn, 4, "X")
    return shown(armature)


def shown(armature: Object, joint: str = JOINT) -> Any:
    return np.array(armature.pose.bones[joint].matrix_basis.to_3x3())


def values(armature: Object) -> dict[tuple[str, int], Any]:
    """Curve -> keys (N, 2)."""
    return {(c.data_path, c.array_index): key_values(c, "co").reshape(-1, 2) for c in curves_on(armature)}


def test_a_pose_is_kept_and_each_change_of_it_is_seen(armature):
    scene = bpy.context.scene
    before = keys(armature)
    bent = bend(armature)
    assert bpy.ops.knuckle.correct_pose() == {"FINISHED"}
    assert angle(shown(armature), bent) < 0.01
    (one,) = kept(armature)
    assert one.name == "Pose at 20" and scene.knuckle_correction.selected == one.id
    selected = scene.knuckle_correction
    assert (round(selected.start), round(selected.end), round(selected.blend_in)) == (8, 32, 6)
    selected.factor = 0.5
    assert kept(armature)[0].factor == 0.5 and angle(shown(armature), bent) == pytest.approx(np.degrees(0.3), abs=0.01)
    selected.start, selected.end, selected.blend_out, selected.name = 15, 25, 2, "Index"
    (one,) = kept(armature)
    assert one.name == "Index"
    assert (one.range.start, one.range.end) == pytest.approx((2 + 14 / RATE, 2 + 24 / RATE))
    assert change("MUTE", one) == {"FINISHED"}
    values = {place: [key[-1] for key in of_curve.values()] for place, of_curve in keys(armature).items()}
    assert values == {place: [key[-1] for key in of_curve.values()] for place, of_curve in before.items()}
    change("MUTE", one), change("LOCK", one)
    selected.factor = 1.0
    assert kept(armature)[0].factor == 0.5, "it is locked"
    with pytest.raises(RuntimeError, match="Correction 'Index' is locked, unlock it to change it"):
        change("DELETE", one)
    change("LOCK", one), change("DELETE", one)
    assert kept(armature) == () and keys(armature) == before and composed_of(armature) is None


def test_what_auto_keying_has_keyed_becomes_the_correction_and_edits_elsewhere_are_kept(armature):
    bend(armature)
    bpy.ops.knuckle.correct_pose()
    composed = played_action(armature)
    bent = bend(armature, 0.3)
    armature.pose.bones[JOINT].keyframe_insert("rotation_quaternion", frame=20)
    assert bpy.ops.knuckle.correct_pose() == {"FINISHED"}
    assert played_action(armature) == composed and len(kept(armature)) == 2
    assert angle(shown(armature), bent) < 0.01
    armature.pose.bones[JOINT].keyframe_insert("rotation_quaternion", frame=33)
    bend(armature, 0.1)
    bpy.ops.knuckle.correct_pose()
    assert played_action(armature) != composed and composed.use_fake_user
    assert [action.name for action in bpy.data.actions].count(composed.name) == 1


def test_a_key_on_this_frame_that_a_correction_does_not_keep_stays_in_its_action_and_that_is_reported(armature, capfd):
    bpy.ops.knuckle.snap_to_pose(pose="fist", digits={"index-finger"}, first=10, last=30, blend=5)
    composed, bent = played_action(armature), bend(armature, 0.3)
    armature.pose.bones[JOINT].keyframe_insert("rotation_quaternion", frame=20)
    bpy.ops.knuckle.snap_to_pose(pose="fist", digits={"ring-finger"}, first=34, last=38, blend=1)
    assert played_action(armature) != composed and composed.use_fake_user
    assert f"the edited keys stay in '{composed.name}'" in "".join(capfd.readouterr()).replace("The", "the")
    armature.animation_data.action = composed
    bpy.context.scene.frame_set(20)
    assert angle(shown(armature), bent) < 0.01


def test_named_poses_and_their_order(armature):
    assert bpy.ops.knuckle.snap_to_pose(pose="fist", digits={"index-finger"}, first=10, last=30, blend=5) == {
        "FINISHED"
    }
    fist = shown(armature)
    assert bpy.ops.knuckle.snap_to_pose(pose="open", digits={"index-finger"}, first=10, last=30) == {"FINISHED"}
    flat = shown(armature)
    assert angle(fist, flat) > 30
    _, second = kept(armature)
    change("UP", second)
    assert kept(armature)[0].id == second.id and angle(shown(armature), fist) < 0.01
    change("DOWN", kept(armature)[0])
    assert angle(shown(armature), flat) < 0.01
    change("KEY", kept(armature)[1])
    bpy.context.scene.frame_set(24)
    change("SELECT", kept(armature)[1])
    bpy.context.scene.knuckle_correction.factor = 0.0
    bpy.context.scene.frame_set(20)
    assert angle(shown(armature), flat) < 0.01
    bpy.context.scene.frame_set(22)
    assert 0.2 < angle(shown(armature), flat) / angle(fist, flat) < 0.8
    bpy.context.scene.frame_set(20)
    change("UNKEY", kept(armature)[1])
    assert kept(armature)[1].factor_keys == () and kept(armature)[1].factor == 1.0


def test_a_stretch_of_another_solve_and_what_is_missing(armature):
    first = played_action(armature)
    scene = bpy.context.scene
    write_take(take(("right",), 20, 2 * RATE, first=2.1), armature, scene, scene.collection, TakeTiming())
    assert bpy.ops.knuckle.take_from(action=first.name, first=4, last=8, blend=1) == {"FINISHED"}
    (one,) = kept(armature)
    assert one.kind == "motion" and one.change.source == first.name
    for action, sentence in (("None", "There is no action 'None'"), (first.name, "has keys from frame 1 to 40")):
        with pytest.raises(RuntimeError, match=sentence):
            bpy.ops.knuckle.take_from(action=action, first=4, last=8, later=100)
    empty = bpy.data.actions.new("Empty")
    with pytest.raises(RuntimeError, match="Action 'Empty' keys none of these digits"):
        bpy.ops.knuckle.take_from(action=empty.name)
    bpy.data.actions.remove(first)
    assert bpy.ops.knuckle.change_correction(correction=one.id, what="MUTE") == {"FINISHED"}


def test_bad_input_is_reported_and_changes_nothing(armature):
    with pytest.raises(RuntimeError, match="The hand's pose on frame 20 is the take's own: pose it first"):
        bpy.ops.knuckle.correct_pose()
    bpy.context.scene.frame_set(90)
    with pytest.raises(RuntimeError, match="Frame 90 is not in the take of armature 'Rig', which has 1 to 40"):
        bpy.ops.knuckle.correct_pose()
    with pytest.raises(RuntimeError, match="There is no left hand in the take"):
        bpy.ops.knuckle.snap_to_pose(side="left")
    with pytest.raises(RuntimeError, match="The last frame is 3, before the first, 5"):
        bpy.ops.knuckle.snap_to_pose(first=5, last=3)
    base = base_of(armature)
    assert base is not None
    base[CORRECTIONS_PROPERTY] = '[{"id": 3}]'
    with pytest.raises(RuntimeError, match="Corrections of the take 'clap', correction 1: kind is None"):
        bpy.ops.knuckle.snap_to_pose()
    del base[CORRECTIONS_PROPERTY]
    next(iter(base.layers[0].strips[0].channelbags)).fcurves[8].keyframe_points[3].co[1] = float("nan")
    with pytest.raises(RuntimeError, match=r"Action 'clap': key 4 of .* is not a number, delete it first"):
        bpy.ops.knuckle.snap_to_pose(first=1, last=20)
    assert composed_of(armature) is None and kept(armature) == ()


def test_bones_that_are_renamed_take_their_corrections_along(armature):
    bend(armature)
    bpy.ops.knuckle.correct_pose()
    armature.name = "Other"
    for bone in armature.data.bones:
        bone.name = f"{bone.name}.R"
    bpy.context.view_layer.update()
    bent = shown(armature, f"{JOINT}.R")
    assert bpy.ops.knuckle.snap_to_pose(pose="fist", digits={"thumb"}) == {"FINISHED"}
    bpy.context.scene.frame_set(20)
    assert angle(shown(armature, f"{JOINT}.R"), bent) < 0.01


def test_corrections_go_to_another_rig_in_a_file(armature, tmp_path):
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=30, blend=3)
    path = tmp_path / "c.json"
    assert bpy.ops.knuckle.save_corrections(filepath=str(path)) == {"FINISHED"}
    (reported,) = json.loads(Path(path).read_text())
    assert (reported["kind"], reported["pose"], reported["name"]) == ("pose", "fist", "Fist")
    other, scene = rig("right", seed=3, arm=True), bpy.context.scene
    write_take(take(("right",), 40, RATE), other, scene, scene.collection, TakeTiming())
    bpy.context.view_layer.objects.active = other
    assert bpy.ops.knuckle.load_corrections(filepath=str(path)) == {"FINISHED"}
    assert bpy.ops.knuckle.load_corrections(filepath=str(path)) == {"FINISHED"}
    assert [one.id for one in kept(other)] == ["c1", "c2"]
    path.write_text('{"a": 1}')
    with pytest.raises(RuntimeError, match=r"c\.json: corrections are dict"):
        bpy.ops.knuckle.load_corrections(filepath=str(path))


def test_a_linked_take_is_reported(armature, tmp_path):
    link_action(armature, tmp_path)
    with pytest.raises(RuntimeError, match="is linked: make it local to correct it"):
        bpy.ops.knuckle.snap_to_pose()


def test_other_keys_of_the_corrected_action_stay_and_deleted_curves_come_back(armature):
    bend(armature)
    bpy.ops.knuckle.correct_pose()
    composed, base = played_action(armature), base_of(armature)
    before = sorted((c.data_path, c.array_index) for c in composed.layers[0].strips[0].channelbags[0].fcurves)
    armature.keyframe_insert("location", frame=7)
    armature.pose.bones[JOINT].keyframe_insert("location", frame=20)
    fcurves = composed.layers[0].strips[0].channelbags[0].fcurves
    for index in range(4):
        fcurves.remove(fcurves.find('pose.bones["thumb-phalanx-distal"].rotation_quaternion', index=index))
    bpy.context.scene.knuckle_correction.factor = 0.5
    bpy.context.scene.frame_set(20)
    bpy.ops.knuckle.snap_to_pose(pose="fist", digits={"thumb"})
    now = [(c.data_path, c.array_index) for of in (played_action(armature),) for c in curves_on(armature)]
    assert {("location", 0), (f'pose.bones["{JOINT}"].location', 1)} <= set(now), "what a person keyed besides"
    assert set(before) <= set(now)
    assert sorted((c.data_path, c.array_index) for c in base.layers[0].strips[0].channelbags[0].fcurves) == before


def test_a_copy_of_the_character_has_corrections_of_its_own(armature):
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=35)
    bpy.context.view_layer.objects.active = copy = copied(armature)
    (one,) = corrections_of(copy)
    before = keys(armature)
    change("DELETE", one)
    assert corrections_of(copy) == () and len(corrections_of(armature)) == 1 and keys(armature) == before


@pytest.mark.parametrize("edited", [False, True])
def test_the_corrected_action_goes_with_the_last_correction_unless_a_person_has_edited_it(armature, edited):
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=15)
    composed = played_action(armature).name
    if edited:
        bpy.context.scene.frame_set(33)
        bend(armature)
        armature.pose.bones[JOINT].keyframe_insert("rotation_quaternion", frame=33)
    change("DELETE", *kept(armature))
    assert played_action(armature) == base_of(armature)
    assert (composed in bpy.data.actions) == edited


def test_a_pose_over_the_whole_take_is_the_same_on_all_frames(armature):
    assert bpy.ops.knuckle.snap_to_pose(pose="fist", first=1, last=40, blend=0) == {"FINISHED"}
    bent = [keys[:, 1] for (path, _), keys in values(armature).items() if "index-finger-phalanx" in path]
    assert len(bent) >= 12 and max(map(np.ptp, bent)) < 1e-5


@pytest.mark.parametrize("gap", [0.0, 0.15])
def test_a_hand_that_is_apart_from_its_arm_has_a_keyed_location(gap):
    armature, scene = rig("right", arm=True), bpy.context.scene
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["fore"].tail.y -= gap
    bpy.ops.object.mode_set(mode="OBJECT")
    write_take(take(("right",), 10, RATE), armature, scene, scene.collection, TakeTiming())
    (of,) = hands_of_take(armature, base_of(armature))
    assert (of.wrist.location is not None) == (gap > 0)


def test_corrections_that_a_take_of_another_capture_leaves_behind_are_mentioned(armature):
    recipe = Recipe("/captures/other.c3d")
    assert left_corrections_note(armature, recipe) == ""
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=35)
    assert f"the corrections stay with the take '{base_of(armature).name}'" in left_corrections_note(armature, recipe)
    for taken_along in (replace(recipe, corrections=[]), replace(recipe, into="this")):
        assert left_corrections_note(armature, taken_along) == ""
    assert left_corrections_note(rig("left"), recipe) == "", "it plays no take"


@pytest.mark.parametrize("frame", [1, 40])
def test_a_pose_is_kept_on_the_first_and_the_last_frame(armature, frame):
    bpy.context.scene.frame_set(frame)
    bent = bend(armature)
    assert bpy.ops.knuckle.correct_pose() == {"FINISHED"}
    assert angle(shown(armature), bent) < 0.01


def test_a_muted_correction_has_no_effect_on_the_keys(armature):
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=35)
    (one,) = kept(armature)
    for effective in (1, 0, 1):
        assert len(corrections_of_keys(played_action(armature))) == effective
        change("MUTE", one)


def test_a_corrected_armature_plays_its_take_as_solved_only_for_a_while(armature):
    solved = values(armature)
    with playing_base(armature):
        assert played_action(armature) == base_of(armature), "it plays that already"
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=35)
    composed = played_action(armature)
    with playing_base(armature):
        during = values(armature)
    assert all(np.array_equal(during[place], solved[place]) for place in solved)
    assert played_action(armature) == composed != base_of(armature)


def test_a_new_take_says_which_corrections_its_solve_could_not_do(armature):
    scene, reason = bpy.context.scene, "the markers are gone"
    done, waits = (
        Correction(name, name, "right", TimeRange(2.2, 2.6), HiddenMarkers(("right wrist",))) for name in "ab"
    )
    made = replace(take(("right",), 40, RATE, corrections=to_list((done, waits))), waiting={"b": reason})
    write_take(made, armature, scene, scene.collection, TakeTiming())
    assert [row["state"] for row in report_of(armature)["corrections"]] == ["on", reason]


def test_a_take_has_its_keys_frames_and_the_whole_ones_between_them(armature):
    for curve in curves_on(armature):
        for key in reversed(curve.keyframe_points):
            if key.co.x not in (1, 2, 8, 40):
                curve.keyframe_points.remove(key)
            elif key.co.x == 8:
                key.co_ui.x = 7.5
    (of,) = hands_of_take(armature, base_of(armature))
    np.testing.assert_allclose(of.frames, sorted([*range(1, 41), 7.5]), atol=1e-4)


def test_reduced_keys_give_way_to_the_corrected_ones(armature):
    bpy.ops.knuckle.reduce_keys()
    reduced = played_action(armature)
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=35)
    assert played_action(armature) not in (reduced, base_of(armature)) and dense_action(armature) is None
    assert played_action(armature) == composed_of(armature) and len(kept(armature)) == 1


def test_a_slider_of_a_take_whose_keys_are_reduced_plays_the_corrected_ones(armature):
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=35)
    bpy.ops.knuckle.reduce_keys()
    bpy.context.scene.knuckle_correction.factor = 0.5
    assert played_action(armature) == composed_of(armature) and dense_action(armature) is None


def test_damaged_corrections_can_be_cleared(armature):
    before = keys(armature)
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=35)
    composed_of(armature)[CORRECTIONS_PROPERTY] = "{"
    with pytest.raises(RuntimeError, match="not JSON"):
        bpy.ops.knuckle.snap_to_pose()
    assert bpy.ops.knuckle.clear_corrections() == {"FINISHED"}
    assert kept(armature) == () and keys(armature) == before


def test_a_slider_composes_only_what_it_changes_and_gives_the_same_keys(armature, monkeypatch):
    first = played_action(armature)
    scene = bpy.context.scene
    write_take(take(("right",), 20, 2 * RATE, first=2.1), armature, scene, scene.collection, TakeTiming())
    bpy.ops.knuckle.take_from(action=first.name, first=4, last=9, blend=2)
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=6, last=8, blend=1)
    selected, whole = scene.knuckle_correction, list[Any]()
    with monkeypatch.context() as changed:
        changed.setattr(ShownTake, "write", lambda *corrections: whole.append(corrections))
        for name, value in (("factor", 0.4), ("start", 2.0), ("end", 7.0), ("blend_in", 2.0)):
            setattr(selected, name, value)
    assert whole == []
    quick = values(armature)
    shown_corrections = kept(armature)
    assert correct_take(armature, shown_corrections, scene) == ()
    for place, anew in values(armature).items():
        np.testing.assert_allclose(quick[place], anew, atol=1e-6, err_msg=str(place))
    assert composed_of(armature)[COMPOSED_ID_PROPERTY], "and it does not count as edited"


def test_a_corrected_take_whose_base_was_deleted_keeps_its_corrections_and_is_not_corrected_twice(armature):
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=5, last=35)
    before = values(armature)
    bpy.data.actions.remove(base_of(armature))
    for attempt in (lambda: bpy.ops.knuckle.snap_to_pose(pose="open"), lambda: change("MUTE", kept(armature)[0])):
        with pytest.raises(
            RuntimeError, match="'clap Corrected' was composed from no longer exists: solve the capture again, which"
        ):
            attempt()
    assert all(np.array_equal(now, before[place]) for place, now in values(armature).items())
    assert [each.name for each in kept(armature)] == ["Fist"]


def test_a_rig_that_was_re_proportioned_is_not_solved_in_part(armature):
    base = base_of(armature)
    assert not has_other_rest(base, armature)
    armature.location.x = 3.0
    armature.data.bones["thumb-phalanx-distal"].name = "Thumb End"
    assert not has_other_rest(base, armature), "it was moved, and a bone was renamed"
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["index-finger-phalanx-distal"].length *= 1.2
    bpy.ops.object.mode_set(mode="OBJECT")
    assert has_other_rest(base, armature)
