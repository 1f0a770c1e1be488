"""Corrections that take effect in the solve: their range is solved again, all other frames stay bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle import capture as captures
from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.hand import proportions
from knuckle.hand.limits import RigLimits
from knuckle.pipeline.corrections.correction import Correction, HiddenMarkers, OtherMethods, SwappedLabels, TimeRange
from knuckle.pipeline.corrections.correction_json import to_list
from knuckle.pipeline.corrections.resolving import corrected_markers
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.retarget import RestHand

MARKERS = captures.read(DEMO_CAPTURE)
TIPS = [next(name for name in MARKERS.names if part in name and "tip" in name) for part in ("index", "middle")]
FIRST, LAST = 30, 50


class LargerRig:
    """A rig with an adult's hand, larger by a tenth, without limits."""

    def limits_of(self, _hand):
        return RigLimits({}, 0)

    def rest_hand(self, hand, limited):
        return RestHand(1.1 * proportions.rest_frames_in_wrist(proportions.adult(hand.side))[:, :3, 3])


def solved(markers=MARKERS, corrections=(), rig=None, **choices):
    recipe = Recipe(str(DEMO_CAPTURE), corrections=to_list(tuple(corrections)) or None, **choices)
    job = SolveJob(recipe, rig, markers=markers)
    for _ in job.steps():
        pass
    return job.take


def correction(change, blend=0.0, span=(FIRST, LAST), **others):
    """A correction of frames, counted from 0, of the bundled capture's hand."""
    start, end = (float(MARKERS.times[row]) for row in span)
    return Correction("a", "Mend", SIDE, TimeRange(start, end, blend, blend), change, **others)


PLAIN = solved()
SIDE = PLAIN.hands[0].side


def outside():
    rows = np.arange(len(MARKERS.times))
    return (rows < FIRST) | (rows > LAST)


def same_outside(take, base):
    rows = outside()
    for ours, theirs in zip(take.hands, base.hands, strict=True):
        np.testing.assert_array_equal(ours.pose.angles[rows], theirs.pose.angles[rows])
        np.testing.assert_array_equal(ours.pose.root[rows], theirs.pose.root[rows])
        np.testing.assert_array_equal(ours.targets.positions[rows], theirs.targets.positions[rows])


def test_swapped_labels_are_those_of_the_range_alone_and_swapping_twice_is_nothing():
    once = correction(SwappedLabels((TIPS[0], TIPS[1])))
    twice = [once, replace(once, id="b")]
    columns = [MARKERS.names.index(tip) for tip in TIPS]
    changed = corrected_markers(MARKERS, [once]).positions
    wanted = MARKERS.positions.copy()
    wanted[FIRST : LAST + 1, columns] = wanted[FIRST : LAST + 1, columns[::-1]]
    np.testing.assert_array_equal(changed, wanted)
    wrong, right = solved(corrections=[once]), solved(corrections=twice)
    for take in (wrong, right):
        same_outside(take, PLAIN)
    assert np.degrees(np.abs(wrong.hands[0].pose.angles - PLAIN.hands[0].pose.angles)[FIRST : LAST + 1]).max() > 10
    np.testing.assert_allclose(right.hands[0].pose.angles, PLAIN.hands[0].pose.angles, atol=1e-6)


@pytest.mark.parametrize("blend", [0.0, 0.1])
def test_another_solver_and_smoothing_hold_in_the_range_and_are_blended(blend):
    change = OtherMethods("whole-hand")
    take, other = solved(corrections=[correction(change, blend)]), solved(solver="whole-hand")
    same_outside(take, PLAIN)
    own, base, all_other = (one.hands[0].pose.angles for one in (take, PLAIN, other))
    times = MARKERS.times
    inside = ~outside() & (times >= times[FIRST] + blend) & (times <= times[LAST] - blend)
    assert np.abs(base - all_other)[inside].max() > 0.01
    np.testing.assert_allclose(own[inside], all_other[inside], atol=1e-6)
    if blend:
        np.testing.assert_array_equal(own[[FIRST, LAST]], base[[FIRST, LAST]])


def test_a_hidden_marker_has_no_effect_in_the_range_and_is_told_as_predicted():
    column = MARKERS.names.index(TIPS[0])
    positions = MARKERS.positions.copy()
    positions[FIRST : LAST + 1, column] += 0.08
    astray = replace(MARKERS, positions=positions)
    hide = correction(HiddenMarkers((TIPS[0],)))
    base, take = solved(astray), solved(astray, [hide])
    same_outside(take, base)
    hand, target = take.hands[0], take.hands[0].labels.index(TIPS[0])
    assert not hand.measured[FIRST : LAST + 1, target].any()
    joint = hand.hand.joints.index("index-finger-tip")
    wrong, right = (
        np.degrees(np.abs(one.hands[0].pose.angles - PLAIN.hands[0].pose.angles)[FIRST : LAST + 1]).max()
        for one in (base, take)
    )
    assert right < wrong, (right, wrong)
    assert hand.predicted[FIRST + 2 : LAST - 1, joint].all()


def test_a_marker_that_is_hardly_hidden_is_as_far_off_as_it_was():
    positions = MARKERS.positions.copy()
    positions[FIRST : LAST + 1, MARKERS.names.index(TIPS[0])] += 0.08
    astray = replace(MARKERS, positions=positions)
    base, hardly, hidden = (
        solved(astray, own)
        for own in ([], *([correction(HiddenMarkers((TIPS[0],)), factor=factor)] for factor in (0.02, 1.0)))
    )
    column = base.hands[0].labels.index(TIPS[0])
    assert not hidden.hands[0].measured[FIRST : LAST + 1, column].any()
    np.testing.assert_array_equal(hardly.hands[0].measured, base.hands[0].measured)
    np.testing.assert_array_equal(hardly.hands[0].targets.weights, base.hands[0].targets.weights)
    reported = [{(one.measure, one.parts) for one in take.problems} for take in (base, hardly)]
    assert reported[0] <= reported[1]


def test_hiding_a_marker_that_was_not_seen_leaves_the_problem():
    positions = MARKERS.positions.copy()
    positions[FIRST - 10 : LAST + 11, MARKERS.names.index(TIPS[0])] = np.nan
    gap = replace(MARKERS, positions=positions)
    base, take = solved(gap), solved(gap, [correction(HiddenMarkers((TIPS[0],)), span=(FIRST - 10, LAST + 10))])
    np.testing.assert_array_equal(take.hands[0].pose.angles, base.hands[0].pose.angles)
    assert [problem.measure for problem in base.problems] == ["unseen"] and take.problems == base.problems


def test_muted_ones_and_those_of_factor_zero_change_nothing():
    change = OtherMethods("whole-hand")
    for idle in (correction(change, muted=True), correction(change, factor=0.0)):
        take = solved(corrections=[idle])
        np.testing.assert_array_equal(take.hands[0].pose.angles, PLAIN.hands[0].pose.angles)


@pytest.mark.parametrize("factor", [0.5, 0.9])
def test_as_much_of_a_correction_counts_on_a_rig_as_on_the_performers_hand(factor):
    change, inside = OtherMethods("whole-hand"), slice(FIRST, LAST + 1)
    takes = [
        solved(corrections=own, rig=LargerRig())
        for own in ([], [correction(change)], [correction(change, factor=factor)])
    ]
    for of in ("pose", "keyed"):
        plain, whole, part = (getattr(take.hands[0], of).angles[inside] for take in takes)
        assert np.abs(whole - plain).max() > 0.01
        share = ((part - plain) * (whole - plain)).sum() / ((whole - plain) ** 2).sum()
        assert share == pytest.approx(factor, abs=0.02), of


def test_what_cannot_take_effect_waits_in_words():
    far = Correction("a", "Far", SIDE, TimeRange(900.0, 901.0), HiddenMarkers((TIPS[0],)))
    gone = replace(correction(HiddenMarkers(("nose",))), id="b")
    other = replace(correction(HiddenMarkers((TIPS[0],))), id="c", hand="left" if SIDE == "right" else "right")
    take = solved(corrections=[far, gone, other])
    notes = [note for note in take.report["warnings"] if "waits" in note]
    assert "correction 'Far' waits: its range from 900.00 to 901.00 s is not in the capture" in notes[0]
    assert notes[1] == "correction 'Mend' waits: there is no marker 'nose' in the capture"
    assert notes[2] == f"correction 'Mend' waits: there is no {other.hand} hand in the take"
    np.testing.assert_array_equal(take.hands[0].pose.angles, PLAIN.hands[0].pose.angles)


def test_a_hand_of_which_all_markers_are_hidden_is_reported_once_for_each_correction_that_leaves_none():
    worn = tuple(PLAIN.report["hands"][SIDE]["markers"])
    rest = replace(correction(HiddenMarkers(worn[1:]), blend=0.05), id="b")
    first = correction(HiddenMarkers(worn[:1]), span=(40, 50))
    reported = [note for note in solved(corrections=[first, rest]).report["warnings"] if note.startswith("correction")]
    sentence = f"leaves no marker of the {SIDE} hand in 11 frames of the capture from"
    assert len(reported) == 2 and all(sentence in note for note in reported)
    alone = solved(corrections=[rest])
    assert not any(note.startswith("correction") for note in alone.report["warnings"])
    same_outside(alone, PLAIN)
