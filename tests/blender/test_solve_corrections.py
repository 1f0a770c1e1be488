"""Corrections in the solve, from the panel and from a shell: their ranges alone are keyed anew."""

import json

import bpy
import numpy as np
import pytest

from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.cli.main import main
from knuckle.hand.generators import run_to_end
from knuckle.operators.session import SESSION
from knuckle.operators.solve_corrections import TakeEdits
from knuckle.operators.take_corrections import required_take
from knuckle.pipeline.corrections.correction import Correction, OtherMethods, PoseToHold, TimeRange
from knuckle.pipeline.corrections.correction_json import to_list
from knuckle.pipeline.job import SolveJob, run
from knuckle.pipeline.recipe import Recipe, to_dict
from knuckle.rig.blend_file import new_scene_with_take, open_file
from knuckle.rig.keys.corrections.corrected_take import corrections_of
from knuckle.rig.keys.corrections.mended_problems import mended_problems
from knuckle.rig.keys.corrections.resolved_take import is_unsolved
from knuckle.rig.keys.corrections.solved_keys import PATHS_PROPERTY, edited_frames, remember_keys
from knuckle.rig.keys.corrections.take_base import base_of, composed_of
from knuckle.rig.keys.fcurves import curves_on, key_values
from knuckle.rig.keys.reduced_take import dense_action
from knuckle.rig.keys.take_problems import TakeProblem
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.rig.rig_query import RigQuery
from knuckle.tests.blender.making import copied, rig
from knuckle.tests.blender.test_spliced_takes import keys

pytestmark = pytest.mark.usefixtures("extension")
TAKE = run(Recipe(str(DEMO_CAPTURE)))
SIDE = TAKE.hands[0].side


@pytest.fixture
def armature():
    """The bundled take on a hand of its own, active."""
    written = new_scene_with_take(TAKE)
    made = bpy.data.objects[written.armatures[0]]
    bpy.context.view_layer.objects.active = made
    bpy.context.scene.frame_set(40)
    return made


def values(armature):
    """Curve -> keys (N, 2)."""
    return {(c.data_path, c.array_index): key_values(c, "co").reshape(-1, 2) for c in curves_on(armature)}


def test_another_solver_in_a_range_is_keyed_there_and_undone_when_it_is_muted(armature):
    before, plain = keys(armature), values(armature)
    done = bpy.ops.knuckle.solve_range(solver="whole-hand", first=30, last=50, blend=0)
    assert done == {"FINISHED"}
    after = keys(armature)
    base = base_of(armature)
    (one,) = corrections_of(armature)
    assert not is_unsolved(base, (one,)) and report_of(armature)["corrections"][0]["state"] == "on"
    changed = set()
    for place, of_curve in before.items():
        for frame, key in of_curve.items():
            if not 30 <= frame <= 50:
                assert after[place][frame] == key, (place, frame)
            elif abs(after[place][frame][-1][1] - key[-1][1]) > 1e-3:
                changed.add(place)
    assert changed
    bpy.ops.knuckle.change_correction(correction=one.id, what="MUTE")
    assert is_unsolved(base, corrections_of(armature))
    assert bpy.ops.knuckle.solve_corrections() == {"FINISHED"}
    assert not is_unsolved(base, corrections_of(armature))
    for place, of_curve in values(armature).items():
        np.testing.assert_allclose(of_curve, plain[place], atol=1e-6)


def test_markers_are_hidden_and_swapped_and_mistakes_are_reported(armature):
    labels = list(report_of(armature)["hands"][SIDE]["markers"])
    tips = [next(label for label in labels if part in label and "tip" in label) for part in ("index", "middle")]
    before = values(armature)
    assert bpy.ops.knuckle.reduce_keys() == {"FINISHED"}
    assert bpy.ops.knuckle.swap_labels(marker=tips[0], other=tips[1], first=30, last=40, blend=2) == {"FINISHED"}
    assert bpy.ops.knuckle.hide_marker(marker=tips[0], first=60, last=70, blend=2) == {"FINISHED"}
    assert [one.kind for one in corrections_of(armature)] == ["swap", "hide"]
    apart = np.max(
        [
            np.abs(of_curve[:, 1] - before[place][:, 1])
            for place, of_curve in values(armature).items()
            if len(of_curve) > 50
        ],
        axis=0,
    )
    assert apart[29:40].max() > 0.05 and not apart[:28].any() and not apart[41:58].any() and not apart[71:].any()
    bent = values(armature)
    armature.data.bones["ring-finger-phalanx-distal"].use_inherit_rotation = False
    with pytest.raises(RuntimeError, match="does not follow the"):
        bpy.ops.knuckle.hide_marker(marker=tips[0], first=30, last=40)
    armature.data.bones["ring-finger-phalanx-distal"].use_inherit_rotation = True
    assert all(np.array_equal(of_curve, bent[place]) for place, of_curve in values(armature).items())
    with pytest.raises(RuntimeError, match="The take has no marker 'nose', only"):
        bpy.ops.knuckle.hide_marker(marker="nose")
    with pytest.raises(RuntimeError, match="cannot be swapped with itself, choose two markers"):
        bpy.ops.knuckle.swap_labels(marker=tips[0], other=tips[0])
    with pytest.raises(RuntimeError, match="Two markers are swapped, choose both"):
        bpy.ops.knuckle.swap_labels(marker=tips[0], other="")


def test_a_solver_mends_what_was_not_seen_once_the_range_is_solved_by_another_than_the_rest(armature):
    scene = bpy.context.scene
    unseen = TakeProblem(SIDE, ("index-finger",), 32.0, 44.0, 38.0, 2.0, "marker not seen", "unseen")

    def is_mended():
        return bool(mended_problems(armature.animation_data.action, [unseen], scene))

    assert bpy.ops.knuckle.solve_range(solver=TAKE.recipe.solver, first=30, last=50, blend=0) == {"FINISHED"}
    assert corrections_of(armature) and not is_mended(), "the take is as it was"
    assert bpy.ops.knuckle.solve_range(solver="whole-hand", first=40, last=42, blend=0) == {"FINISHED"}
    assert not is_mended()
    scene.knuckle_correction.start, scene.knuckle_correction.end = 30.0, 50.0
    assert corrections_of(armature)[-1].range.contains(required_take(bpy.context).clock.times([31.0])).all()
    assert not is_mended(), "its range was changed, and is not solved yet"
    assert bpy.ops.knuckle.solve_corrections() == {"FINISHED"}
    assert is_mended()


def test_what_a_solve_found_is_forgotten_with_its_file(armature):
    assert bpy.ops.knuckle.solve_range(solver="whole-hand", first=30, last=50, blend=0) == {"FINISHED"}
    assert SESSION.solved is not None and SESSION.solved.found.key
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert SESSION.solved is None


def corrections():
    """One of each place of effect."""
    start = float(TAKE.times[0])
    span = TimeRange(start + 0.5, start + 0.9, 0.1, 0.1)
    fist = Correction("a", "Fist", SIDE, span, PoseToHold("fist", ("index-finger",)), 0.5)
    return (fist, Correction("b", "Other", SIDE, span, OtherMethods("whole-hand")))


def shell(tmp_path, *options):
    out = tmp_path / "out.blend"
    assert main(["solve", str(DEMO_CAPTURE), "--out", str(out), "--force", *options]) == 0
    open_file(out, "a take")
    return next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")


def test_recipe_shell_and_panel_give_the_same_keys(armature, tmp_path):
    path, recipe = tmp_path / "c.json", tmp_path / "r.json"
    path.write_text(json.dumps(to_list(corrections())))
    assert bpy.ops.knuckle.load_corrections(filepath=str(path)) == {"FINISHED"}
    assert bpy.ops.knuckle.solve_corrections() == {"FINISHED"}
    panel = values(armature)
    recipe.write_text(json.dumps(to_dict(Recipe(str(DEMO_CAPTURE), corrections=to_list(corrections())))))
    ours = values(shell(tmp_path, "--recipe", str(recipe), "--report", str(tmp_path / "report.json")))
    assert ours.keys() == panel.keys()
    for place, of_curve in panel.items():
        np.testing.assert_allclose(ours[place], of_curve, atol=1e-6)
    reported = json.loads((tmp_path / "report.json").read_text())["corrections"]
    assert [(one["name"], one["kind"], one["state"]) for one in reported] == [
        ("Fist", "pose", "on"),
        ("Other", "solve", "on"),
    ]


def test_a_new_solve_by_another_solver_in_a_shell_keeps_those_of_the_rig_and_reduces_on_top(armature, tmp_path):
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=30, last=50, blend=4)
    rig = tmp_path / "rig.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(rig), copy=True)
    again = shell(tmp_path, "--rig", str(rig), "--solver", "whole-hand", "--reduce", "--drive", "wrist")
    (one,) = corrections_of(again)
    assert one.name == "Fist" and dense_action(again) == composed_of(again) != base_of(again)
    assert report_of(again)["solver"] == "whole-hand"
    scene, joint = bpy.context.scene, "index-finger-phalanx-intermediate"
    scene.frame_set(40)
    reduced = np.array(again.pose.bones[joint].matrix_basis)
    assert np.abs(reduced[:3, :3] - np.eye(3)).max() > 0.5, "it is bent"


def test_a_damaged_recipe_is_reported(tmp_path, capsys):
    path = tmp_path / "c.json"
    path.write_text('[{"kind": "wish"}]')
    assert main(["solve", str(DEMO_CAPTURE), "--out", str(tmp_path / "o.blend"), "--corrections", str(path)]) == 1
    assert "c.json, correction 1: kind is 'wish', expected one of" in capsys.readouterr().err
    assert not (tmp_path / "o.blend").exists()


def edit(armature, frame, joint="ring-finger-phalanx-proximal"):
    """Key a bone by hand, and return its curve and value."""
    curve = next(c for c in curves_on(armature) if joint in c.data_path and c.array_index == 1)
    key = min(curve.keyframe_points, key=lambda key: abs(key.co[0] - frame))
    key.co[1] += 0.1
    return curve.data_path, curve.array_index, key.co[1]


def test_keys_that_were_edited_by_hand_are_reported_before_they_are_replaced_and_stay(armature):
    base = base_of(armature)
    assert len(edited_frames(base)) == 0
    kept = [edit(armature, frame) for frame in (33, 35, 70)]
    np.testing.assert_allclose(edited_frames(base), [33, 35, 70], atol=0.5)
    reported = TakeEdits.of(required_take(bpy.context))
    assert reported.in_words(30, 50).startswith("2 frames from 33 to 3"), "what the dialogue says"
    assert (reported.in_words(40, 50), reported.in_words()) == ("", "")
    assert bpy.ops.knuckle.solve_range(solver="whole-hand", first=30, last=50, blend=2) == {"FINISHED"}
    np.testing.assert_allclose(edited_frames(base), [70], atol=0.5, err_msg="what is replaced is as it was solved")
    edited = bpy.data.actions[f"{base.name} Edited"]
    for path, index, value in kept:
        curve = edited.layers[0].strips[0].channelbags[0].fcurves.find(path, index=index)
        assert any(key.co[1] == value for key in curve.keyframe_points)
    # The edit comes back as a correction.
    assert bpy.ops.knuckle.take_from(action=edited.name, digits={"ring-finger"}, first=30, last=40, blend=0) == {
        "FINISHED"
    }
    path, index, value = kept[0]
    now = values(armature)[path, index]
    assert now[np.abs(now[:, 0] - 33).argmin(), 1] == pytest.approx(value, abs=0.01), "edited by 0.1"
    assert bpy.ops.knuckle.solve_range(solver="whole-hand", first=10, last=20) == {"FINISHED"}
    assert [action.name for action in bpy.data.actions if "Edited" in action.name] == [edited.name]


def test_a_take_that_did_not_keep_how_it_was_solved_counts_as_solved_from_the_next_solve_on(armature):
    base = base_of(armature)
    del base[PATHS_PROPERTY]
    assert edited_frames(base).tolist() == []
    remember_keys(base, (30.0, 50.0))
    assert edited_frames(base).tolist() == []
    edit(armature, 60)
    np.testing.assert_allclose(edited_frames(base), [60], atol=0.5)


def test_a_range_of_a_take_on_a_rig_is_solved_for_that_rig():
    """So the same solver gives the same keys: with other lengths it would not."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene, armature = bpy.context.scene, rig(SIDE)
    job = SolveJob(Recipe(str(DEMO_CAPTURE)), RigQuery.of(armature))
    run_to_end(job.steps())
    write_take(job.take, armature, scene, scene.collection, TakeTiming())
    bpy.context.view_layer.objects.active = scene.knuckle.result = armature
    before = values(armature)
    assert bpy.ops.knuckle.solve_range(solver=Recipe("").solver, first=30, last=50, blend=0) == {"FINISHED"}
    after = values(armature)
    assert after.keys() == before.keys()
    for place, of_curve in before.items():
        np.testing.assert_allclose(after[place], of_curve, atol=1e-5)


@pytest.mark.parametrize("reduced", [False, True])
def test_a_copy_of_the_character_is_solved_in_part_without_the_first(armature, reduced):
    bpy.ops.knuckle.snap_to_pose(pose="fist", first=60, last=70, digits={"thumb"})
    composed = composed_of(armature)
    if reduced:
        bpy.ops.knuckle.reduce_keys()
    base, before = base_of(armature), key_digest(base_of(armature)) | key_digest(composed)
    copy = copied(armature)
    bpy.context.view_layer.objects.active = copy
    bpy.context.scene.knuckle.result = copy
    assert bpy.ops.knuckle.solve_range(solver="whole-hand", first=30, last=50, blend=2) == {"FINISHED"}
    assert base_of(copy) not in (None, base) and composed_of(copy) not in (None, composed)
    assert [one.kind for one in corrections_of(copy)] == ["pose", "solve"]
    assert base_of(armature) == base and composed_of(armature) == composed
    assert [one.kind for one in corrections_of(armature)] == ["pose"]
    assert key_digest(base) | key_digest(composed) == before


def key_digest(action):
    """Curve of an action -> its keys, as bytes."""
    curves = action.layers[0].strips[0].channelbags[0].fcurves
    return {(action.name, c.data_path, c.array_index): key_values(c, "co").tobytes() for c in curves}


@pytest.mark.parametrize("end", [0, 1])
def test_a_correction_counts_fully_at_an_end_of_the_take(armature, end):
    bpy.context.scene.frame_set(required_take(bpy.context).ends[end])
    assert bpy.ops.knuckle.snap_to_pose(pose="fist") == {"FINISHED"}
    shown = required_take(bpy.context)
    (one,) = shown.corrections
    assert one.weights(shown.clock.times([shown.frame])) == [1.0]
    inner = shown.clock.times(shown.clock.frames([(one.range.end, one.range.start)[end]]))
    assert one.weights(inner) == pytest.approx([0.0], abs=1e-6), "and begins and ends inside the take"
