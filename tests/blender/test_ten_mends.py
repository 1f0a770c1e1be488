"""Ten mends in one sitting: places that Next Problem alone finds, each mended by what suits it, kept by a new solve."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from knuckle.hand.flesh import PARTS_OF_CAPSULES, touches
from knuckle.hand.joints import DIGITS
from knuckle.hand.kinematics import joint_frames
from knuckle.operators.hold_contact import found_contacts
from knuckle.operators.marker_labels import marker_of_problem
from knuckle.operators.review import problem_here, remaining_problems, remains_of
from knuckle.operators.take_corrections import required_take
from knuckle.pipeline.corrections.correction import PALM, Correction, HeldTouch
from knuckle.rig.keys.corrections.corrected_take import corrections_of, hands_of_take
from knuckle.rig.keys.corrections.hand_of_take import hand_of_take
from knuckle.rig.keys.corrections.resolved_take import is_unsolved
from knuckle.rig.keys.corrections.take_base import base_of
from knuckle.rig.keys.corrections.waiting import shortened_of, waiting_of
from knuckle.rig.keys.fcurves import curves_on
from knuckle.rig.keys.reduced_take import key_figures
from knuckle.rig.keys.take_problems import TakeProblem, problems_of
from knuckle.tests.blender.rigs import RIGS
from knuckle.tests.blender.test_mend_a_take import changed, key_arrays
from knuckle.tests.blender.test_review import selected
from knuckle.tests.resources import Folder

pytestmark = pytest.mark.usefixtures("extension")
Floats = NDArray[np.float64]
Armature = Any

PLACES = 10
GUESSES = ("pose", "snap", "motion", "solve")
"""What mends places in which markers were not seen, in turn."""
NEIGHBOUR = 0.01
"""Of a quaternion: by how much a range that a mend borders on may change, as bones are followed over a tenth of a
second."""
MAX_DEPTH = 1.0
"""mm that the parts of a held contact may be in each other, or apart."""
REDUCED_DEPTH = 1.0
"""mm that they may be more once keys are reduced: each tip keeps to half a millimetre there."""
MAX_MENDS = 4
"""Of one place: several markers may be astray at once."""
CAPTURES: dict[str, Callable[[Folder, Path], str]] = {
    "video": lambda shared, _folder: str(shared.file("data/captures/mediapipe_video.json")),
    "glove": lambda shared, _folder: str(shared.file("data/captures/qualisys_glove.tsv")),
}


def solved(rig: Armature, solver: str) -> None:
    bpy.context.scene.knuckle.solver = solver
    assert bpy.ops.knuckle.solve() == {"FINISHED"}


def suited(problem: TakeProblem, number: int) -> str:
    """What mends a problem by what it says: a guess is posed, a marker that is astray hidden, a joint at its limit
    posed as it was."""
    if problem.is_unseen:
        return GUESSES[number % len(GUESSES)]
    is_astray = "leapt" in problem.reason or "limit" not in problem.reason
    return "hide" if is_astray and problem.measure != "joint_leap" and marker_of_problem(bpy.context) else "pose"


def mend(kind: str, rig: Armature, problem: TakeProblem, other: str) -> set[str]:
    """Mend the problem that is shown, as its dialogue offers; other: another take's action."""
    digits = {part for part in problem.parts if part in DIGITS}
    if kind == "pose":
        for name in selected(rig):
            rig.pose.bones[name].matrix_basis @= Matrix.Rotation(0.2, 4, "X")
        return set(bpy.ops.knuckle.correct_pose())
    if kind == "snap":
        return set(bpy.ops.knuckle.snap_to_pose(pose="relaxed", digits=digits))
    if kind == "motion":
        return set(bpy.ops.knuckle.take_from(action=other, digits=digits))
    if kind == "solve":
        return set(bpy.ops.knuckle.solve_range(solver="whole-hand", smoothing="whole"))
    return set(bpy.ops.knuckle.hide_marker(marker=marker_of_problem(bpy.context)))


def played(rig: Armature) -> dict[Any, Floats]:
    arrays: dict[Any, Floats] = key_arrays(rig.animation_data.action)
    return arrays


def within(frames: Floats, spans: list[Floats]) -> NDArray[np.bool_]:
    """(F,) whether frames are in one of some spans."""
    found: NDArray[np.bool_] = np.any([(frames >= a - 0.01) & (frames <= b + 0.01) for a, b in spans], axis=0)
    return found


def mended_in_place(rig: Armature, visited: TakeProblem, number: int, other: str) -> None:
    """Mend a place until nothing is left of it: each mend lowers it, and moves no frame outside its range."""
    left = visited
    for _step in range(MAX_MENDS):
        before, known, keys = problems_of(rig), len(corrections_of(rig)), played(rig)
        kind = suited(left, number)
        assert mend(kind, rig, left, other) == {"FINISHED"}
        assert len(corrections_of(rig)) == known + 1 and not waiting_of(base_of(rig)), kind
        take = required_take(bpy.context)
        *others, own = [take.clock.frames([each.range.start, each.range.end]) for each in take.corrections]
        now = played(rig)
        inside, beside = changed(keys, now, lambda f, span=own: within(f, [span]))
        assert inside > 0 and beside <= NEIGHBOUR, f"{kind} on {own} moves what was mended by {beside}"
        outside = changed(keys, now, lambda f, spans=[*others, own]: within(f, spans))[1]
        assert outside < 1e-6, f"{kind} on {own} moves frames outside of all ranges by {outside}"
        remains = remains_of(left, before, remaining_problems(bpy.context, rig))
        if not remains:
            return
        worst = max(problem.severity for problem in remains)
        assert worst < left.severity, f"{left.reason} was mended by '{kind}', which left {remains[0].reason}"
        shown = problem_here(bpy.context)
        assert shown is not None and shown in remains, "what is left is what is shown"
        left = shown
    raise AssertionError(f"{visited.reason}: {MAX_MENDS} mends have left {left.reason}")


def hold_two(rig: Armature) -> list[str]:
    """Hold the first two of the performer's contacts that the rig's hand reaches in time, else thumb on two fingers."""
    held: list[str] = []
    for number in range(len(found_contacts(required_take(bpy.context))), 0, -1):
        if len(held) < 2:
            assert bpy.ops.knuckle.hold_contact(found=number) == {"FINISHED"}
            new = corrections_of(rig)[-1].id
            if new in waiting_of(base_of(rig)) or new in shortened_of(base_of(rig)):
                bpy.ops.knuckle.change_correction(correction=new, what="DELETE")
            else:
                held.append(new)
    first = int(base_of(rig).frame_range[0])
    for digit in ("index-finger", "middle-finger")[len(held) :]:
        span = {"first": first, "last": first + 90, "blend": 34}
        assert bpy.ops.knuckle.hold_contact(digit="thumb", other=digit, **span) == {"FINISHED"}
        held.append(corrections_of(rig)[-1].id)
        first += 100
    return held


def depths(rig: Armature, one: Correction) -> Floats:
    """(F,) mm, how deep the parts that a correction holds are in each other where it counts fully; negative apart."""
    assert isinstance(one.change, HeldTouch)
    of = next(of for of in hands_of_take(rig, base_of(rig)) if of.hand.side == one.hand)
    played = hand_of_take(rig, of.hand, [(curve.data_path, curve) for curve in curves_on(rig)])
    first, last = required_take(bpy.context).clock.frames([one.range.full_start, one.range.full_end])
    pose, _ = of.hand.posed(played.rotations(np.arange(np.ceil(first), np.floor(last) + 1)))
    parts = sorted((*DIGITS, PALM).index(part) for part in one.change.parts)
    flesh, joints = of.hand.flesh, joint_frames(pose.hand, pose)[..., :3, 3]
    pairs = np.flatnonzero((np.sort(PARTS_OF_CAPSULES[flesh.pairs], axis=0) == np.array(parts)[:, None]).all(axis=0))
    rows = np.zeros(len(pairs), int)
    return 1000 * np.array([touches(flesh, frame[None], rows, pairs).depths.max() for frame in joints])


@pytest.mark.parametrize("name", CAPTURES)
def test_the_ten_worst_places_are_mended_and_stay_mended(name: str, shared: Folder, tmp_path: Path) -> None:
    capture = CAPTURES[name](shared, tmp_path)
    rig, _ = RIGS["Rigify generated"]()
    scene = bpy.context.scene
    scene.render.fps = 24
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.import_capture(filepath=capture) == {"FINISHED"}
    scene.knuckle.rig, scene.knuckle.armature = "ARMATURE", rig
    solved(rig, "whole-hand")
    other = base_of(rig).name
    solved(rig, "fabrik")
    visited: list[TakeProblem] = []
    while len(visited) < PLACES and remaining_problems(bpy.context, rig):
        assert bpy.ops.knuckle.next_problem() == {"FINISHED"}
        place = problem_here(bpy.context)
        assert place is not None and scene.frame_current_final == pytest.approx(place.worst, abs=1e-3)
        assert not any(place.is_same_problem(before) for before in visited), "each once"
        mended_in_place(rig, place, len(visited), other)
        visited.append(place)
    assert len(visited) == PLACES or bpy.ops.knuckle.next_problem() == {"CANCELLED"}, "all are mended"

    held = hold_two(rig)
    before = {each.id: each.kind for each in corrections_of(rig)}
    solved(rig, "cga")
    kept, base = corrections_of(rig), base_of(rig)
    assert {each.id: each.kind for each in kept} == before and not is_unsolved(base, kept) and not waiting_of(base)
    again = [problem for problem in remaining_problems(bpy.context, rig) if any(map(problem.is_same_problem, visited))]
    assert not again, "Next Problem does not come to what was mended"
    contacts = [each for each in kept if each.id in held]
    assert len(contacts) == 2 and not {*held} & {*shortened_of(base)}, "held as long as was asked"
    assert max(np.abs(depths(rig, each)).max() for each in contacts) <= MAX_DEPTH

    assert bpy.ops.knuckle.reduce_keys() == {"FINISHED"}
    figures = key_figures(rig)
    assert figures is not None and figures.after < 0.2 * figures.before
    assert figures.distance_mm <= 1.0 and figures.angle_deg <= 1.0
    assert {each.id: each.kind for each in corrections_of(rig)} == before
    assert max(np.abs(depths(rig, each)).max() for each in contacts) <= MAX_DEPTH + REDUCED_DEPTH
