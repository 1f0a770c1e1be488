"""The review of a take: from problem to problem, marks, and what damaged or foreign reports do."""

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from knuckle import capture as captures
from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.hand.joints import DIGITS
from knuckle.operators.review import BeforeCorrection, remaining_problems
from knuckle.operators.time_editors import region_without_frame
from knuckle.pipeline.evidence.packing import unpack
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import Take
from knuckle.rig import detection_cache
from knuckle.rig.blend_file import new_scene_with_take
from knuckle.rig.keys.corrections.corrected_take import corrections_of
from knuckle.rig.keys.marker_lines import marker_lines
from knuckle.rig.keys.take_problems import TakeProblem, mark_seen, problems_of, seen_problems
from knuckle.rig.keys.take_report import (
    EVIDENCE_PROPERTY,
    REPORT_PROPERTY,
    SEEN_PROPERTY,
    VISITED_PROPERTY,
    report_of,
)
from knuckle.rig.keys.visited_problems import Visits, visits_of
from knuckle.rig.markers_object import is_markers
from knuckle.tests.gui.test_review import spoilt as spoilt_recording

pytestmark = pytest.mark.usefixtures("extension")

FAULTS = {"ring-finger": (20, 30, 0.04), "thumb": (60, 70, 0.06)}
"""Digit -> first frame of the capture, first frame after, and how far its fingertip's marker goes astray in m."""


@pytest.fixture(scope="module")
def spoilt() -> Take:
    """The bundled take with two fingertips astray for a while."""
    markers = captures.read(DEMO_CAPTURE)
    positions = markers.positions.copy()
    for digit, (first, stop, far) in FAULTS.items():
        column = next(k for k, name in enumerate(markers.names) if digit in name and "tip" in name)
        positions[first:stop, column] += [0.0, 0.0, far]
    job = SolveJob(Recipe(str(DEMO_CAPTURE)), markers=replace(markers, positions=positions))
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take


@pytest.fixture
def hand(spoilt: Take) -> bpy.types.Object:
    """A new scene with the take."""
    new_scene_with_take(spoilt)
    armature = bpy.data.objects["Right Hand"]
    bpy.context.scene.knuckle.result = armature
    return armature


def selected(armature: bpy.types.Object) -> set[str]:
    return {bone.name for bone in armature.pose.bones if (bone if hasattr(bone, "select") else bone.bone).select}


def of_part(problems: tuple[TakeProblem, ...], part: str) -> TakeProblem:
    return next(problem for problem in problems if problem.parts[0] == part)


def test_faults_are_problems_on_their_frames_of_the_scene(spoilt: Take, hand: bpy.types.Object) -> None:
    problems = problems_of(hand)
    keyed = hand.animation_data.action.frame_range
    assert problems[0].parts[0] == "thumb"
    render = bpy.context.scene.render
    # The device's frames are not evenly spaced, so keys lie between the frames of the scene.
    frames = 1 + (spoilt.times - spoilt.times[0]) * render.fps / render.fps_base
    for digit, (first, stop, _) in FAULTS.items():
        problem = of_part(problems, digit)
        assert keyed[0] <= problem.first <= frames[first] + 1e-3 and frames[stop - 1] - 1e-3 <= problem.last <= keyed[1]
        assert frames[first - 1] - 1e-3 <= problem.worst <= frames[stop] + 1e-3


def test_next_problem_goes_to_the_worst_frame_and_selects_the_digit(hand: bpy.types.Object) -> None:
    problems, scene = problems_of(hand), bpy.context.scene
    for problem in problems:
        assert bpy.ops.knuckle.next_problem() == {"FINISHED"}
        assert scene.frame_current_final == pytest.approx(problem.worst, abs=1e-3)
        assert hand.mode == "POSE"
        names = selected(hand)
        for part in problem.parts:
            assert any(name.startswith(part) or (part == "palm" and name == "wrist") for name in names), part
        if "palm" not in problem.parts:
            assert all(name.startswith(problem.parts) for name in names)
    # After the last comes the first, and the other way.
    for operator, problem in (("next", problems[0]), ("previous", problems[-1]), ("previous", problems[-2])):
        assert getattr(bpy.ops.knuckle, f"{operator}_problem")() == {"FINISHED"}
        assert scene.frame_current_final == pytest.approx(problem.worst, abs=1e-3)
    for problem in problems:
        bpy.ops.knuckle.mark_seen(problem=problem.key)
    frame = scene.frame_current_final
    assert bpy.ops.knuckle.next_problem() == {"CANCELLED"}
    assert scene.frame_current_final == frame


def test_next_problem_comes_to_an_error_that_lasts_after_all_others(hand: bpy.types.Object) -> None:
    """Also where a mend has brought one that was not shown yet to a place before that of the current one."""
    action, review = hand.animation_data.action, bpy.context.scene.knuckle_review
    report = json.loads(action[REPORT_PROPERTY])
    listed = [report["problems"][0] | {"parts": [part], "severity": 2.0} for part in ("thumb", "palm", "ring-finger")]
    lasting = listed[0] | {"parts": ["index-finger"], "severity": 1.0, "lasts": True}
    action[REPORT_PROPERTY] = json.dumps(report | {"problems": [*listed, lasting]})
    bpy.ops.knuckle.next_problem()
    assert " thumb " in review.current
    action[REPORT_PROPERTY] = json.dumps(report | {"problems": [listed[1], listed[0], listed[2], lasting]})
    for part in ("palm", "ring-finger", "index-finger", "palm"):
        bpy.ops.knuckle.next_problem()
        assert f" {part} " in review.current


MENDS = ("hide", "solve", "hide", "pose", "hide", "pose", "pose", "pose", "pose", "pose")
"""What each of ten places is mended with, in the order of visits."""


def ten_faults(folder: Any) -> str:
    """Write the bundled recording, forth and back, with a fingertip astray at ten places. Return its path."""
    digits = ("thumb", "index", "middle", "ring", "pinky")
    faults = {f"{digits[k % 5]} {k}": (k % 5, 8 + 24 * k, 14 + 24 * k, 60.0 - 2.0 * k) for k in range(len(MENDS))}
    spoilt_recording(folder, faults, loops=2)
    return str(folder / "spoilt_tap.json")


def mend(kind: str, armature: bpy.types.Object, part: str) -> Any:
    """Mend the problem that is shown, of which a part is the worst."""
    if kind == "pose":
        for name in selected(armature):
            armature.pose.bones[name].matrix_basis @= Matrix.Rotation(0.2, 4, "X")
        return bpy.ops.knuckle.correct_pose()
    if kind == "solve":
        return bpy.ops.knuckle.solve_range(solver="whole-hand")
    report = report_of(armature)
    assert report is not None
    return bpy.ops.knuckle.hide_marker(
        marker=next(label for label in report["hands"]["right"]["markers"] if f"{part}-tip" in label)
    )


@pytest.mark.parametrize("kind", ["pose", "contact"])
def test_a_mend_tells_how_many_problems_are_left(
    hand: bpy.types.Object, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    thumb = of_part(problems_of(hand), "thumb")
    bpy.ops.knuckle.show_problem(problem=thumb.key)
    if kind == "pose":
        assert mend("pose", hand, "thumb") == {"FINISHED"}
    else:
        span = {"first": int(thumb.first) - 8, "last": int(thumb.last) + 9, "blend": 4}
        assert bpy.ops.knuckle.hold_contact(digit="thumb", other="index-finger", **span) == {"FINISHED"}
    left = remaining_problems(bpy.context, hand)
    assert thumb not in left and len(left) == len(problems_of(hand)) - 1
    assert f"Mended, {len(left)} problem" in "".join(capfd.readouterr())


def test_ten_presses_with_mends_between_visit_ten_places_the_worst_first(tmp_path: Any) -> None:
    """Whatever the mends leave of a place, and however it ranks then; Previous goes back over them."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = 60
    bpy.ops.knuckle.import_capture(filepath=ten_faults(tmp_path))
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    hand = scene.knuckle.result
    visited: list[TakeProblem] = []
    for kind in MENDS:
        before = problems_of(hand)
        assert bpy.ops.knuckle.next_problem() == {"FINISHED"}
        shown = next(problem for problem in before if problem.key == scene.knuckle_review.current)
        assert scene.frame_current_final == pytest.approx(shown.worst, abs=1e-3)
        # What ranks above it was visited.
        for worse in before[: before.index(shown)]:
            assert any(place.first <= worse.last and worse.first <= place.last for place in visited), worse
        visited.append(shown)
        assert mend(kind, hand, shown.parts[0]) == {"FINISHED"}
    in_time = sorted(visited, key=lambda place: place.first)
    assert all(place.last < after.first for place, after in pairwise(in_time)), "each once"
    for rank in (-1, 0):
        bpy.ops.knuckle.next_problem()
        # The error that lasts is the last, and then it begins again: what mends have left is not visited before.
        assert scene.knuckle_review.current == problems_of(hand)[rank].key
    there, back = {problem.key for problem in problems_of(hand)}, []
    for _ in MENDS:
        assert bpy.ops.knuckle.previous_problem() == {"FINISHED"}
        back.append(scene.knuckle_review.current)
    left = [place.key for place in reversed(visited) if place.key in there]
    # Before the first visit is the last one again.
    assert len(left) >= 6 and [*dict.fromkeys(key for key in back if key in left)] == left


def test_what_is_marked_as_seen_is_left_out_and_the_mark_is_saved(hand: bpy.types.Object, tmp_path: Any) -> None:
    problems = problems_of(hand)
    bpy.ops.knuckle.mark_seen(problem=problems[0].key)
    bpy.ops.knuckle.next_problem()
    assert bpy.context.scene.knuckle_review.current == problems[1].key
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "review.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "review.blend"))
    reopened = bpy.data.objects["Right Hand"]
    assert seen_problems(reopened) == {problems[0].key}
    bpy.ops.knuckle.mark_seen(problem=problems[0].key)
    assert seen_problems(reopened) == frozenset()


def test_a_problem_that_is_clicked_is_shown_and_an_unknown_one_is_reported(hand: bpy.types.Object) -> None:
    last = problems_of(hand)[-1]
    assert bpy.ops.knuckle.show_problem(problem=last.key) == {"FINISHED"}
    assert bpy.context.scene.frame_current_final == pytest.approx(last.worst, abs=1e-3)
    with pytest.raises(RuntimeError, match="no longer has that problem"):
        bpy.ops.knuckle.mark_seen(problem="left elbow 3")


def test_a_hidden_hand_is_reported_and_the_frame_is_shown(hand: bpy.types.Object) -> None:
    hand.hide_set(True)
    bpy.context.view_layer.objects.active = None
    worst = problems_of(hand)[0].worst
    assert bpy.ops.knuckle.next_problem() == {"FINISHED"}
    assert bpy.context.scene.frame_current_final == pytest.approx(worst, abs=1e-3)


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        3,
        {},
        [3, None, "x"],
        [{"hand": "right", "parts": ["thumb"], "at": [1, 2], "severity": 3}],
        [{"hand": "right", "parts": ["elbow"], "at": [1, 3, 2], "severity": 3}],
        [{"hand": "right", "parts": [], "at": [1, 3, 2], "severity": 3}],
        [{"hand": "up", "parts": ["thumb"], "at": [1, 3, 2], "severity": 3}],
        [{"hand": ["right"], "parts": [["thumb"]], "at": [1, 3, 2], "severity": 3}],
        [{"hand": "right", "parts": ["thumb"], "at": [1, 3, float("nan")], "severity": 3}],
        [{"hand": "right", "parts": ["thumb"], "at": [1, 3, 1e300], "severity": 3}],
        [{"hand": "right", "parts": ["thumb"], "at": [1, 3, True], "severity": 3}],
        [{"hand": "right", "parts": ["thumb"], "at": [1, 3, 9], "severity": 3}],
        [{"hand": "right", "parts": ["thumb"], "at": [1, 3, 2], "severity": -3}],
    ],
)
def test_damaged_problems_are_none(hand: bpy.types.Object, damaged: object) -> None:
    action = hand.animation_data.action
    report = json.loads(action[REPORT_PROPERTY])
    action[REPORT_PROPERTY] = json.dumps(report | {"problems": damaged})
    assert problems_of(hand) == ()
    assert not bpy.ops.knuckle.next_problem.poll()
    action[SEEN_PROPERTY] = json.dumps({"a": [damaged]}) + "}"
    assert seen_problems(hand) == frozenset()
    wrong = {"order": damaged, "round_start": 1}, {"order": [], "round_start": True}
    for visits in (*map(json.dumps, wrong), "[", 3):
        action[VISITED_PROPERTY] = visits
        assert visits_of(hand) == Visits()


def test_a_take_without_problems_has_none_to_go_to(spoilt: Take) -> None:
    clean = replace(spoilt, problems=(), report=spoilt.report | {"problems": []})
    new_scene_with_take(clean)
    assert not bpy.ops.knuckle.next_problem.poll()


def test_lines_lead_from_markers_to_the_solved_hand(tmp_path: Any) -> None:
    """Their lengths are the errors by forward kinematics, on keys between the frames of the scene too."""
    spoilt_recording(tmp_path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    path = str(tmp_path / "spoilt_tap.json")
    bpy.ops.knuckle.import_capture(filepath=path)
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    scene, armature = bpy.context.scene, bpy.context.scene.knuckle.result
    report, evidence = report_of(armature), unpack(armature.animation_data.action[EVIDENCE_PROPERTY])
    assert report is not None
    assert evidence is not None
    shown = next(obj for obj in scene.objects if is_markers(obj))
    binding = detection_cache.detected(armature).bindings["right"]
    for reported, problem in zip(report["problems"], problems_of(armature), strict=True):
        bpy.ops.knuckle.show_problem(problem=problem.key)
        bpy.context.view_layer.update()
        worn = report["hands"]["right"]["markers"]
        lines = marker_lines(armature, binding, worn, shown, scene.frame_current_final)
        expected = np.nanmax(evidence.hands[0].of("marker_error")[reported["worst"] - 1])
        assert len(lines.errors) == len(worn)
        assert lines.errors.max() == pytest.approx(expected, rel=0.03)
    damaged = {"x": 3, **{label: {"joint": "elbow"} for label in worn}, 4: None}
    assert len(marker_lines(armature, binding, damaged, shown, 3.0).errors) == 0
    assert len(marker_lines(armature, binding, None, shown, 3.0).errors) == 0
    for offset in (None, 0.0, [], [0.0, 0.0], [0.0] * 4, [0.0, 0.0, None], [0.0, 0.0, 1e3], {"a": 0, "b": 0, "c": 0}):
        worn = {label: {"joint": "wrist", "offset_m": offset} for label in report["hands"]["right"]["markers"]}
        assert len(marker_lines(armature, binding, worn, shown, 3.0).errors) == 0, offset


def test_a_problem_is_snapped_by_its_own_digits_unless_others_are_chosen(hand: bpy.types.Object) -> None:
    first = hand.animation_data.action.name
    assert bpy.ops.knuckle.next_problem() == {"FINISHED"}
    (problem,) = [each for each in problems_of(hand) if each.key == bpy.context.scene.knuckle_review.current]
    own = set(problem.parts) & {*DIGITS}
    assert own and own != {*DIGITS}
    bpy.ops.knuckle.snap_to_pose(pose="fist")
    bpy.ops.knuckle.take_from(action=first)
    bpy.ops.knuckle.snap_to_pose(pose="fist", digits={"middle-finger"})
    bpy.ops.knuckle.snap_to_pose(pose="fist", side="BOTH")
    bpy.context.scene.frame_set(int(problem.last) + 20)
    bpy.ops.knuckle.snap_to_pose(pose="fist")
    moved = [set(each.digits) for each in corrections_of(hand)]
    assert moved == [own, own, {"middle-finger"}, {*DIGITS}, {*DIGITS}]


def test_a_mend_tells_how_many_problems_are_left_and_which_of_them_it_has_made(hand: bpy.types.Object) -> None:
    problems = problems_of(hand)
    ring = of_part(problems, "ring-finger")
    thumb = [each for each in problems if "thumb" in each.parts]
    assert len(thumb) > 1 and len(problems) == 1 + len(thumb), "none is beside that of the ring finger"
    mark_seen([hand], frozenset({ring.key}))
    left = f"Mended, {len(thumb)} problems are left"
    for before, reported in ((problems, left), ((ring,), f"{left}, {len(thumb)} of them caused by the mend")):
        reports = list[str]()
        teller: Any = SimpleNamespace(report=lambda _, text, to=reports: to.append(text))
        BeforeCorrection(before, ring).report_remains(teller, bpy.context)
        assert reports == [reported]


@pytest.mark.parametrize(
    ("editor", "scrolls"),
    [("DOPESHEET", True), ("TIMELINE", True), ("FCURVES", True), ("NLA_EDITOR", True), ("DRIVERS", False)],
)
def test_editors_of_time_are_scrolled_and_drivers_are_left(editor, scrolls):
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    area = bpy.context.window_manager.windows[0].screen.areas[0]
    area.ui_type = editor
    far = 1e6
    assert (region_without_frame(area, far) is not None) == scrolls
