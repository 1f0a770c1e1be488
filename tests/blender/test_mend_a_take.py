"""The tutorial of mending, by operators: problems are found, mended, kept through another solver, keys reduced."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from knuckle.rig.keys.corrections.corrected_take import CORRECTIONS_PROPERTY, corrections_of
from knuckle.rig.keys.corrections.resolved_take import is_unsolved
from knuckle.rig.keys.corrections.take_base import base_of
from knuckle.rig.keys.corrections.take_clock import clock_of
from knuckle.rig.keys.corrections.waiting import waiting_of
from knuckle.rig.keys.fcurves import curves_on, key_values
from knuckle.rig.keys.reduced_take import key_figures
from knuckle.rig.keys.take_problems import problems_of
from knuckle.rig.keys.take_report import report_of
from knuckle.tests.blender.rigs import RIGS
from knuckle.tests.blender.test_review import selected
from knuckle.tests.gui.test_review import spoilt as spoilt_recording

pytestmark = pytest.mark.usefixtures("extension")
ASTRAY = {"thumb": (0, 60, 70, 60.0), "ring": (3, 20, 30, 40.0), "pinky": (4, 40, 48, 50.0)}
"""Digit -> Leap's number of it, first frame, first frame after, and how far its fingertip goes astray in mm."""


@pytest.fixture
def spoilt(tmp_path):
    """The bundled recording with three fingertips astray for a while."""
    spoilt_recording(tmp_path, ASTRAY)
    return tmp_path / "spoilt_tap.json"


def solved(solver, rig):
    """Solve by the panel's choices, and return the curves of the take below the corrections."""
    bpy.context.scene.knuckle.solver = solver
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    return key_arrays(base_of(rig))


def key_arrays(action):
    """Curve -> its keys (N, 2), of the armature's curves in an action."""
    curves = [c for bag in action.layers[0].strips[0].channelbags for c in bag.fcurves]
    return {(c.data_path, c.array_index): key_values(c, "co").reshape(-1, 2) for c in curves}


def changed(one, other, inside):
    """By how much keys of curves differ at most, in frames and outside of them."""
    most = {True: 0.0, False: 0.0}
    for place, values in one.items():
        assert values.shape == other[place].shape
        apart, rows = np.abs(values[:, 1] - other[place][:, 1]), inside(values[:, 0])
        most = {side: max(most[side], float(apart[rows == side].max(initial=0.0))) for side in most}
    return most[True], most[False]


def test_problems_are_found_and_mended_and_a_new_solve_keeps_the_mends(spoilt):
    rig, _ = RIGS["Rigify generated"]()
    scene = bpy.context.scene
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.import_capture(filepath=str(spoilt)) == {"FINISHED"}
    scene.knuckle.rig, scene.knuckle.armature = "ARMATURE", rig
    solved("fabrik", rig)
    first_take = base_of(rig)
    found = []
    for mend in ("hide", "pose", "solve"):
        assert bpy.ops.knuckle.next_problem() == {"FINISHED"}
        problem = next(each for each in problems_of(rig) if each.key == scene.knuckle_review.current)
        found.append(problem.parts[0])
        assert abs(scene.frame_current_final - problem.worst) < 1e-3
        if mend == "hide":
            marker = next(
                label for label in report_of(rig)["hands"]["right"]["markers"] if f"{problem.parts[0]}-tip" in label
            )
            assert bpy.ops.knuckle.hide_marker(marker=marker) == {"FINISHED"}
        elif mend == "pose":
            for name in selected(rig):
                bone = rig.pose.bones[name]
                bone.matrix_basis = bone.matrix_basis @ Matrix.Rotation(0.2, 4, "X")
            assert bpy.ops.knuckle.correct_pose() == {"FINISHED"}
        else:
            assert bpy.ops.knuckle.solve_range(solver="whole-hand") == {"FINISHED"}
    assert found[0] == "thumb" and sorted(found) == ["pinky-finger", "ring-finger", "thumb"], "each once"
    assert [each.kind for each in corrections_of(rig)] == ["hide", "difference", "solve"]

    plain = solved_without(rig, "cga")
    mended = solved("cga", rig)
    kept, base = corrections_of(rig), base_of(rig)
    assert [each.kind for each in kept] == ["hide", "difference", "solve"] and not is_unsolved(base, kept)
    assert waiting_of(base) == {} and base != first_take
    clock = clock_of(base, scene)
    ends = {each.kind: clock.frames([each.range.start, each.range.end]) for each in kept}
    for kind in ("hide", "solve"):
        only = ends[kind]
        assert changed(mended, plain, lambda f, only=only: (f > only[0]) & (f < only[1]))[0] > 0.01, kind
    solved_again = [ends["hide"], ends["solve"]]
    outside = changed(
        mended, plain, lambda f: np.any([(f >= a - 0.01) & (f <= b + 0.01) for a, b in solved_again], axis=0)
    )
    assert outside[1] < 1e-6
    played = key_arrays(rig.animation_data.action)
    inside, outside = changed(
        played, mended, lambda f: (f >= ends["difference"][0] - 0.01) & (f <= ends["difference"][1] + 0.01)
    )
    assert inside > 0.05 and outside == 0
    assert bpy.ops.knuckle.take_from(action=first_take.name, first=1, last=12, digits={"index-finger"}) == {"FINISHED"}
    assert corrections_of(rig)[-1].kind == "motion"
    assert bpy.ops.knuckle.reduce_keys() == {"FINISHED"}
    figures = key_figures(rig)
    assert figures.share < 0.4 and figures.distance_mm <= 1.0 and figures.angle_deg <= 1.0
    assert len(corrections_of(rig)) == 4
    assert sum(1 for _ in curves_on(rig)) == len(played)


def solved_without(rig, solver):
    """Return the curves of a solve that has none of the corrections; the rig plays what it did."""
    animation = rig.animation_data
    action, slot, base = animation.action, animation.action_slot, base_of(rig)
    kept = base.pop(CORRECTIONS_PROPERTY)
    animation.action = base
    keys = solved(solver, rig)
    base[CORRECTIONS_PROPERTY] = kept
    animation.action, animation.action_slot = action, slot
    return keys
