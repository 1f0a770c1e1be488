"""Fingers that no marker shows, against recorded hands whose every finger was seen."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle import capture
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.kinematics import Pose
from knuckle.hand.limits import DEFAULT_LIMITS
from knuckle.hand.proportions import adult, build
from knuckle.pipeline import assignment as assigning
from knuckle.pipeline import job
from knuckle.pipeline.recipe import Recipe
from knuckle.solvers.solver import limit_excess
from knuckle.solvers.unseen_fingers import estimate_unseen_fingers


def poses(side="right", frames=40, limits=DEFAULT_LIMITS):
    """Poses drawn over the limits, with the couplings held."""
    hand = build(adult(side), limits)
    low, high = hand.limits.T
    angles = np.random.default_rng(2).uniform(low, high, (frames, hand.dofs))
    for digit in DIGITS[1:]:
        _, pip, dip, _ = (hand.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit])
        angles[:, pip] = np.minimum(angles[:, pip], 1.5 * high[dip])
        angles[:, dip] = 2 / 3 * angles[:, pip]
    return Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), angles)


def flexions(hand, digit):
    return np.array([hand.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][:3]], int)


def seen(*digits):
    return np.array([digit in digits for digit in DIGITS])


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_finger_between_two_that_bend_alike_bends_as_they_do(side):
    pose = poses(side)
    for digit in DIGITS[1:]:
        for k in range(3):
            pose.angles[:, pose.hand.dof(CHAIN_JOINTS[digit][k], "flexion")] = np.deg2rad([30, 45, 30][k])
    reported, names = estimate_unseen_fingers(pose, seen("index-finger", "pinky-finger"))
    assert names == ("middle-finger", "ring-finger")
    for digit in names:
        bend = reported.angles[:, flexions(reported.hand, digit)]
        np.testing.assert_allclose(np.rad2deg(bend), np.tile([30, 45, 30], (40, 1)), atol=1e-9)


@pytest.mark.parametrize("digits", [("index-finger",), ("ring-finger", "pinky-finger"), ("thumb", "middle-finger")])
def test_limits_and_couplings_hold_and_what_is_seen_stays(digits):
    narrow = DEFAULT_LIMITS | {("pinky-finger-phalanx-proximal", "flexion"): (5.0, 20.0)}
    pose = poses(limits=narrow)
    reported, names = estimate_unseen_fingers(pose, seen(*digits))
    assert set(names) == set(DIGITS[1:]) - set(digits)
    assert limit_excess(reported.hand, reported.angles).max() < 1e-12
    for row in reported.hand.couplings:
        assert np.abs(reported.angles @ row.coefficients).max() < 1e-9
    moved = {
        reported.hand.joints[reported.hand.axis_joint[dof]]
        for dof in np.flatnonzero((reported.angles != pose.angles).any(0))
    }
    assert not moved & {joint for digit in (*digits, "thumb") for joint in CHAIN_JOINTS[digit]}


def test_with_no_finger_seen_or_all_of_them_nothing_changes():
    pose = poses()
    for digits in ((), ("thumb",), DIGITS, DIGITS[1:]):
        reported, names = estimate_unseen_fingers(pose, seen(*digits))
        assert reported is pose and names == ()


def test_a_recorded_hands_middle_and_ring_finger_are_nearer_to_what_they_did_than_at_rest(shared):
    markers = capture.read(shared / "data/captures/two_hands_glove.c3d")
    named = assigning.assign_hands(Recipe("x"), markers).hands["right"]
    few = {"index-finger-phalanx-proximal", "pinky-finger-phalanx-proximal", "wrist"}
    few |= {f"{digit}-tip" for digit in ("thumb", "index-finger", "pinky-finger")}

    def solved(labels):
        columns = [markers.names.index(label) for label in labels]
        part = replace(
            markers,
            names=tuple(labels),
            positions=markers.positions[:, columns],
            predicted=markers.predicted[:, columns],
        )
        work = job.SolveJob(Recipe("x", hand="right"), markers=part)
        run_to_end(work.steps())
        assert work.take is not None
        return work.take, work.take.hands[0].pose

    _, whole = solved(list(named))
    take, part = solved([label for label, spot in named.items() if spot.joint in few])
    assert any("no marker on middle-finger, ring-finger of the right hand" in text for text in take.report["warnings"])
    for digit in ("middle-finger", "ring-finger"):
        dofs = flexions(whole.hand, digit)
        off = np.abs(part.angles[:, dofs] - whole.angles[:, dofs]).mean()
        at_rest = np.abs(part.hand.neutral[dofs] - whole.angles[:, dofs]).mean()
        assert off < at_rest / 2
