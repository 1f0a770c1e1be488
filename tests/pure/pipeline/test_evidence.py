"""Evidence of a take: measured against positions that are computed here, kept as bytes, asked by conditions."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knuckle import capture as captures
from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.errors import RecipeError
from knuckle.hand import kinematics, proportions
from knuckle.hand.flesh import Flesh
from knuckle.hand.joints import DIGITS, JOINT_INDEX, JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.hand.targets import Targets
from knuckle.pipeline.evidence import packing
from knuckle.pipeline.evidence.conditions import outcomes, parse_conditions
from knuckle.pipeline.evidence.evidence import MEASURE_INDEX, MEASURES, PARTS, Evidence, HandEvidence
from knuckle.pipeline.evidence.measuring import SolvedFrames, measure_hand
from knuckle.pipeline.evidence.ranking import Problem, limit_notes, problems_as_json, rank
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe

RATE = 100.0
INDEX = DIGITS.index("index-finger")


def curling(frames: int = 200) -> SolvedFrames:
    """A hand whose fingers curl slowly, with a marker on each joint, met exactly."""
    hand = proportions.build(proportions.adult("right"))
    flexion = np.array(hand.movements) == "flexion"
    turn = 0.3 - 0.3 * np.cos(np.linspace(0, 2 * np.pi, frames))
    pose = Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), turn[:, None] * hand.limits[:, 1] * flexion)
    places = kinematics.joint_frames(hand, pose)[..., :3, 3]
    times, all_of = np.arange(frames) / RATE, (frames, len(JOINTS))
    targets = Targets(times, np.arange(len(JOINTS)), places, np.ones(all_of))
    none = np.zeros(all_of, bool)
    return SolvedFrames(targets, pose, pose, ~none, none, none, np.zeros(all_of), Flesh.of(hand))


def moved(solved: SolvedFrames, joint: str, rows: slice, by: tuple[float, float, float]) -> SolvedFrames:
    """The same pose, with the marker of a joint moved in some frames by so many metres."""
    positions = solved.targets.positions.copy()
    positions[rows, JOINT_INDEX[joint]] += by
    return replace(solved, targets=replace(solved.targets, positions=positions))


def test_a_hand_that_meets_its_markers_has_nothing_against_it() -> None:
    evidence = Evidence(np.arange(200) / RATE, (measure_hand(curling()),))
    hand = evidence.hands[0]
    assert hand.values.shape == (200, len(PARTS), len(MEASURES))
    for name in ("tip_error", "marker_error", "joint_leap", "unseen", "corrected", "label_doubt", "predicted"):
        assert np.nanmax(hand.of(name)) < 1e-3, name
    assert np.isnan(hand.of("tip_error")[:, PARTS.index("palm")]).all()
    assert rank(evidence) == ()


def test_errors_are_distances_in_mm_of_the_part_that_is_off() -> None:
    hand = measure_hand(moved(curling(), "index-finger-tip", slice(50, 60), (0.012, 0.0, 0.016)))
    off = hand.of("tip_error")
    assert off[50:60, INDEX] == pytest.approx(20.0, abs=1e-3)
    assert np.nanmax(np.delete(off, INDEX, axis=1)) < 1e-3
    assert hand.of("marker_leap")[[50, 59], INDEX] == pytest.approx(10.0, abs=0.5)  # half the second difference
    assert np.nanmax(hand.of("marker_leap")[52:58, INDEX]) < 0.5


def test_a_joint_that_turns_while_its_markers_are_calm_leaps() -> None:
    solved = curling()
    angles = solved.pose.angles.copy()
    dof = solved.pose.hand.dof("index-finger-phalanx-intermediate", "flexion")
    assert dof is not None
    # The fingers are still there, so that nothing explains it.
    angles[100:, dof] += np.deg2rad(30.0)
    turned = Pose(solved.pose.hand, solved.pose.root, angles)
    hand = measure_hand(replace(solved, pose=turned, keyed=turned))
    leap = hand.of("joint_leap")
    assert leap[100, INDEX] == pytest.approx(30.0, abs=0.5)
    assert np.nanmax(np.delete(leap[:, INDEX], 100)) < 1e-3


def test_a_problem_names_its_part_its_frames_and_why() -> None:
    solved = moved(curling(), "ring-finger-tip", slice(80, 94), (0.0, 0.0, 0.018))
    problems = rank(Evidence(solved.targets.times, (measure_hand(solved),)))
    assert len(problems) == 1
    assert problems[0].parts == ("ring-finger",)
    assert (problems[0].first, problems[0].last) == (79, 94)
    reported = problems_as_json(problems)[0]
    assert reported["reason"] == "ring fingertip 18 mm off, 16 frames: marker jumped"
    assert (reported["hand"], reported["first"], reported["last"]) == ("right", 80, 95)


def test_a_marker_that_a_person_hid_is_no_problem_and_one_that_is_missing_is() -> None:
    solved, gap = curling(), np.zeros((200, len(JOINTS)), bool)
    gap[50:70, JOINT_INDEX["ring-finger-tip"]] = True
    missing = replace(solved, measured=solved.measured & ~gap)
    (problem,) = ranked(missing)
    assert (problem.measure, problem.parts, problem.first, problem.last) == ("unseen", ("ring-finger",), 50, 69)
    assert ranked(replace(missing, hidden=gap)) == ()
    half = gap & (np.arange(200) < 60)[:, None]
    assert [(each.first, each.last) for each in ranked(replace(missing, hidden=half))] == [(60, 69)]


def wandering() -> SolvedFrames:
    """A marker that wanders about 11 mm from its joint for most of the take, which is its usual distance."""
    far = 0.0113 + 0.003 * np.sin(np.arange(150) / 25)[:, None] * np.array([0.0, 0.0, 1.0])
    return moved(curling(), "index-finger-phalanx-intermediate", slice(20, 170), far * np.array([0.0, 0.0, 1.0]))


def ranked(solved: SolvedFrames) -> tuple[Problem, ...]:
    return rank(Evidence(solved.targets.times, (measure_hand(solved),)))


def test_an_error_that_lasts_is_listed_once_though_it_raises_its_own_threshold() -> None:
    (problem,) = (each for each in ranked(wandering()) if each.measure == "marker_error")
    assert problem.parts == ("index-finger",) and problem.last - problem.first > 75
    assert problem.value == pytest.approx(14.3, abs=0.1)
    assert "index finger marker 14 mm off" in problem.reason and "usual in this take" in problem.reason


def test_what_stands_out_of_an_error_that_lasts_stays_apart_and_above_it() -> None:
    faults = [("index-finger-tip", 60), ("ring-finger-tip", 90), ("thumb-tip", 130)]
    alone, together = curling(), wandering()
    for joint, first in faults:
        alone = moved(alone, joint, slice(first, first + 8), (0.0, 0.0, 0.05))
        together = moved(together, joint, slice(first, first + 8), (0.0, 0.0, 0.05))
    sharp = {(each.parts[0], each.worst) for each in ranked(alone)}
    assert len(sharp) == 3
    found = ranked(together)
    assert sharp <= {(each.parts[0], each.worst) for each in found[:-1]}
    assert "usual in this take" in found[-1].reason
    assert found[-1].severity < min(each.severity for each in found[:-1])


def test_a_slight_problem_comes_before_an_error_that_lasts_though_both_round_to_the_same_severity() -> None:
    together = moved(wandering(), "thumb-tip", slice(185, 190), (0.0, 0.00803, 0.0))
    slight, lasting = ranked(together)
    assert slight.severity == lasting.severity == 1.0 and slight.first > lasting.first
    assert slight.parts == ("thumb",) and not slight.lasts and lasting.lasts
    assert [reported["lasts"] for reported in problems_as_json((slight, lasting))] == [False, True]


def test_a_short_error_below_the_takes_own_threshold_does_not_last() -> None:
    """A marker that wanders by 2 to 9 mm, and is 13 mm off for 0.4 s, or for 0.6 s."""
    solved, joint = curling(600), "index-finger-phalanx-intermediate"
    far = 0.0055 + 0.0035 * np.sin(np.arange(600) / 40)[:, None] * np.array([0.0, 0.0, 1.0])
    for frames, count in ((40, 0), (60, 1)):
        more = np.where((np.arange(600) >= 300) & (np.arange(600) < 300 + frames), 0.013 - far[:, 2], 0.0)[:, None]
        off = (far + more) * np.array([0.0, 0.0, 1.0])
        found = [each for each in ranked(moved(solved, joint, slice(None), off)) if each.measure == "marker_error"]
        assert len(found) == count


def test_an_error_at_a_joint_limit_comes_with_what_a_person_does_about_it() -> None:
    solved = moved(curling(), "ring-finger-tip", slice(80, 94), (0.0, 0.0, 0.018))
    hand = measure_hand(solved)
    values = hand.values.copy()
    values[..., MEASURE_INDEX["marker_leap"]] = 0.0
    values[79:95, PARTS.index("ring-finger"), MEASURE_INDEX["at_limit"]] = 0.2
    problems = rank(Evidence(solved.targets.times, (HandEvidence(hand.side, values),)))
    (reported,) = limit_notes(problems, {"right": {}})
    assert reported.startswith(
        "the right hand's ring finger is off where a joint is at its limit: check where its markers"
    )
    assert "limits_deg in the performer's file" in reported and "--no-rig-limits" not in reported
    assert "--no-rig-limits" in limit_notes(problems, {"right": {"limited_bones": 3}})[0]
    assert limit_notes(rank(Evidence(solved.targets.times, (hand,))), {"right": {}}) == []


def test_all_parts_that_are_at_a_limit_are_named_where_they_are_one_problem() -> None:
    solved = curling()
    for joint in ("ring-finger-tip", "thumb-tip", "index-finger-tip"):
        solved = moved(solved, joint, slice(80, 94), (0.0, 0.0, 0.018))
    hand = measure_hand(solved)
    values = hand.values.copy()
    values[..., MEASURE_INDEX["marker_leap"]] = 0.0
    for part in ("ring-finger", "thumb"):
        values[79:95, PARTS.index(part), MEASURE_INDEX["at_limit"]] = 0.2
    (problem,) = problems = rank(Evidence(solved.targets.times, (HandEvidence(hand.side, values),)))
    assert set(problem.parts) == {"thumb", "index-finger", "ring-finger"}
    assert limit_notes(problems, {"right": {}})[0].startswith("the right hand's thumb and ring finger are off")
    values[85, PARTS.index("thumb"), MEASURE_INDEX["marker_leap"]] = 30.0
    (reported,) = limit_notes(rank(Evidence(solved.targets.times, (HandEvidence(hand.side, values),))), {"right": {}})
    assert reported.startswith("the right hand's ring finger is off"), "a leap explains the thumb"


def test_the_worse_of_two_problems_comes_first() -> None:
    solved = moved(curling(), "ring-finger-tip", slice(30, 40), (0.0, 0.0, 0.015))
    solved = moved(solved, "thumb-tip", slice(130, 140), (0.0, 0.0, 0.040))
    problems = rank(Evidence(solved.targets.times, (measure_hand(solved),)))
    assert [problem.parts[0] for problem in problems] == ["thumb", "ring-finger"]


def test_a_noisy_device_is_not_all_problems() -> None:
    solved, rng = curling(2000), np.random.default_rng(1)
    noise = rng.normal(0, 0.004, solved.targets.positions.shape)
    noisy = replace(solved, targets=replace(solved.targets, positions=solved.targets.positions + noise))
    assert rank(Evidence(solved.targets.times, (measure_hand(noisy),))) == ()


def test_a_gap_and_a_swap_that_was_undone_are_reported() -> None:
    solved = curling()
    measured, corrected = solved.measured.copy(), solved.corrected.copy()
    measured[20:60, JOINT_INDEX["thumb-tip"]] = False
    corrected[100:120, JOINT_INDEX["pinky-finger-tip"]] = True
    problems = rank(
        Evidence(solved.targets.times, (measure_hand(replace(solved, measured=measured, corrected=corrected)),))
    )
    assert {(one.parts, one.first, one.last, one.measure) for one in problems} == {
        (("thumb",), 20, 59, "unseen"),
        (("pinky-finger",), 100, 119, "corrected"),
    }


def solve_demo(**choices: object) -> SolveJob:
    markers = captures.read(DEMO_CAPTURE)
    job = SolveJob(Recipe(str(DEMO_CAPTURE), **choices), markers=markers)  # type: ignore[arg-type]
    for _ in job.steps():
        pass
    return job


def test_a_take_brings_its_evidence_and_the_report_its_problems() -> None:
    take = solve_demo(fps=30.0).take
    assert take is not None
    assert [hand.side for hand in take.evidence.hands] == ["right"]
    assert len(take.evidence.hands[0].values) == len(take.times)
    assert take.report["problems"] == problems_as_json(take.problems)
    arrays = take.evidence.arrays()
    assert arrays["right_evidence"].shape == (len(take.times), len(arrays["parts"]), len(arrays["measures"]))
    assert len(arrays["units"]) == len(arrays["measures"])


def test_evidence_of_a_mirrored_take_is_of_the_other_hand() -> None:
    plain, mirrored = solve_demo().take, solve_demo(mirror=True).take
    assert plain is not None
    assert mirrored is not None
    assert mirrored.evidence.hands[0].side == "left"
    # A mirrored rotation has other roundings, hence the tolerance in mm, degrees and m/s³.
    assert np.allclose(mirrored.evidence.hands[0].values, plain.evidence.hands[0].values, atol=0.01, equal_nan=True)


def evidence_of(frames: int, sides: tuple[str, ...], seed: int) -> Evidence:
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 100, (frames, len(PARTS), len(MEASURES))).astype(np.float32)
    values[rng.random(values.shape) < 0.1] = np.nan
    hands = tuple(HandEvidence(side, values) for side in sides)  # type: ignore[arg-type]
    return Evidence(np.cumsum(rng.uniform(0.001, 0.1, frames)), hands)


@given(st.integers(0, 40), st.sampled_from([(), ("left",), ("right",), ("left", "right")]), st.integers(0, 99))
def test_evidence_is_unpacked_as_it_was_packed(frames: int, sides: tuple[str, ...], seed: int) -> None:
    before = evidence_of(frames, sides, seed)
    after = packing.unpack(packing.pack(before))
    assert after is not None
    assert np.array_equal(after.times, before.times)
    assert [hand.side for hand in after.hands] == list(sides)
    for one, other in zip(after.hands, before.hands, strict=True):
        assert np.allclose(one.values, other.values, rtol=1e-3, atol=1e-3, equal_nan=True)


@given(st.binary(max_size=200) | st.text() | st.none(), st.integers(0, 400), st.integers(0, 255))
def test_damaged_bytes_are_no_evidence(other: object, place: int, value: int) -> None:
    assert packing.unpack(other) is None
    packed = bytearray(packing.pack(evidence_of(10, ("left",), 3)))
    packed[place % len(packed)] ^= value
    found = packing.unpack(bytes(packed))
    assert found is None or found.hands[0].values.shape[1:] == (len(PARTS), len(MEASURES)) or not found.hands
    assert packing.unpack(bytes(packed[: place % len(packed)])) is None


def test_a_bomb_is_not_unpacked() -> None:
    head = packing.HEADER.pack(packing.MAGIC, 1, len(PARTS), len(MEASURES), 10)
    assert packing.unpack(head + zlib.compress(bytes(200_000_000), 9)) is None
    assert packing.unpack(packing.HEADER.pack(packing.MAGIC, 3, len(PARTS), len(MEASURES), 2**32 - 1)) is None


def test_evidence_of_an_hour_takes_little_room() -> None:
    solved = measure_hand(moved(curling(3000), "index-finger-tip", slice(50, 60), (0.0, 0.0, 0.02)))
    assert len(packing.pack(Evidence(np.arange(3000) / RATE, (solved,)))) < 30 * 3000


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("tip_error_mm.max>19", ["tip_error_mm.max>19 (it is 20)"]),
        ("tip_error_mm.max>=20.1, leaps>0", []),
        ("problems>0,predicted_frames>0", ["problems>0 (it is 1)"]),
        ("label_doubt.max<0.5", ["label_doubt.max<0.5 (it is 0)"]),
        ("joint_leap_deg.p99<=1e-2,jerk_m_s3.mean<-1", ["joint_leap_deg.p99<=0.01 (it is 0)"]),
    ],
)
def test_conditions_compare_figures_of_the_take(text: str, failed: list[str]) -> None:
    solved = moved(curling(), "index-finger-tip", slice(50, 60), (0.012, 0.0, 0.016))
    evidence = Evidence(solved.targets.times, (measure_hand(solved),))
    judged = outcomes(parse_conditions(text), evidence, rank(evidence))
    assert [str(outcome) for outcome in judged if outcome.failed] == failed


def test_a_figure_that_is_not_known_fails() -> None:
    hand = measure_hand(replace(curling(), measured=np.zeros((200, len(JOINTS)), bool)))
    evidence = Evidence(np.arange(200) / RATE, (hand,))
    (outcome,) = outcomes(parse_conditions("tip_error_mm.p99>3"), evidence, ())
    assert outcome.failed and str(outcome) == "tip_error_mm.p99>3 (it is not known)"


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "'' is not a condition"),
        ("tip_error_mm.p99", "'tip_error_mm.p99' is not a condition"),
        ("tip_error_mm>3", "'tip_error_mm' is not known, expected problems, leaps,"),
        ("tip_error.p99>3", "of tip_error_mm, marker_error_mm"),
        ("tip_error_mm.median>3", "'tip_error_mm.median' is not known"),
        ("leaps.max>3", "'leaps.max' is not known"),
        ("leaps>1e999", "is not a number"),
        ("leaps>--1", "is not a number"),
        ("leaps>0,,", "'' is not a condition"),
        ("__import__('os')>0", "is not a condition"),
        ("leaps>0," * 200, "expected at most 1000"),
    ],
)
def test_conditions_that_are_not_understood_are_reported_in_a_sentence(text: str, reported: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_conditions(text)
    assert reported in str(caught.value)
    assert "\n" not in str(caught.value)
