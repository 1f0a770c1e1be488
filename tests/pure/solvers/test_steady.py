"""Angles that frames around tell where their own hardly do: laws, dense least squares, and known hands as the truth."""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.hand import kinematics
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import Coupling
from knuckle.solvers import SOLVERS
from knuckle.solvers.smoothing.angle_smoother import (
    INITIAL_DEVIATIONS,
    _smooth_measured,
    _step_fractions,
    smooth_angles,
    smooth_angles_live,
)
from knuckle.solvers.smoothing.limit_projection import project_to_limits
from knuckle.solvers.smoothing.observability import digits_of

from .hands import EIGHT, FULL, HANDS, natural, targets_at

HAND = HANDS["right"]
INDEX = [d for d in range(HAND.dofs) if HAND.joints[HAND.axis_joint[d]].startswith("index")]
TIP = HAND.site_index("index-finger-tip")


def bending(frames=120):
    """A hand that bends all its fingers once a second and stands still."""
    part = 0.4 + 0.3 * np.sin(2 * np.pi * np.arange(frames) / 100)[:, None] * np.ones(HAND.dofs)
    return Pose(HAND, np.tile(np.eye(4), (frames, 1, 1)), natural(HAND, part))


def noise_of(targets, sigma=0.0005):
    return np.full((1, 2, len(targets.sites)), sigma)


def tip(pose):
    return kinematics.site_positions(HAND, kinematics.joint_frames(HAND, pose))[:, TIP]


ACTS = {
    "whole": smooth_angles,
    "live": lambda *given: smooth_angles_live(*given)[0],
}


def test_the_smoothed_angles_are_those_of_least_squares_over_all_frames() -> None:
    """One digit of two angles over eight uneven frames, against one dense solution with numpy alone."""
    rng = np.random.default_rng(4)
    times = np.cumsum(rng.uniform(0.005, 0.03, 8))
    measured, roots = rng.normal(size=(8, 1, 2)), rng.normal(size=(8, 2, 2))
    reported = (roots @ roots.swapaxes(-1, -2))[:, None]
    reported[3] = 0.0
    unrest = 50.0
    size = 4 * len(times)
    normal, right = np.zeros((size, size)), np.zeros(size)
    # Before the first frame: anywhere about the first angles; the first step takes no time.
    normal[:4, :4] += np.diag(1 / np.repeat(INITIAL_DEVIATIONS, 2) ** 2)
    right[:2] += measured[0, 0] / INITIAL_DEVIATIONS[0] ** 2
    for k, (angles, information) in enumerate(zip(measured[:, 0], reported[:, 0], strict=True)):
        place = slice(4 * k, 4 * k + 2)
        normal[place, place] += information
        right[place] += information @ angles
        if k:
            dt = times[k] - times[k - 1]
            step = np.concatenate([-np.kron([[1, dt], [0, 1]], np.eye(2)), np.eye(4)], axis=1)
            spread = unrest * np.kron([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]], np.eye(2))
            both = slice(4 * k - 4, 4 * k + 4)
            normal[both, both] += step.T @ np.linalg.inv(spread) @ step
    expected = np.linalg.solve(normal, right).reshape(-1, 4)[:, :2]
    np.testing.assert_allclose(_smooth_measured(times, measured, reported, unrest)[:, 0], expected, atol=1e-7)


@pytest.mark.parametrize("how", ACTS)
def test_angles_that_the_markers_tell_stay(how) -> None:
    pose = bending()
    targets = targets_at(HAND, pose, FULL)
    calm = ACTS[how](HAND, targets, pose, noise_of(targets))
    assert np.rad2deg(np.abs(calm.angles - pose.angles))[10:].max() < 2.5
    assert np.linalg.norm(tip(calm) - tip(pose), axis=-1)[10:].max() < 0.001


def test_a_finger_that_is_not_seen_stays_live_and_is_on_its_way_in_a_whole_take() -> None:
    truth = bending()
    targets = targets_at(HAND, truth, FULL)
    weights = targets.weights.copy()
    finger = [column for column, name in enumerate(FULL) if name.startswith("index")]
    weights[40:70, finger] = 0.0
    targets = replace(targets, weights=weights)
    pose, _ = SOLVERS["fabrik"]().solve(HAND, targets)
    live, _ = smooth_angles_live(HAND, targets, pose, noise_of(targets))
    np.testing.assert_array_equal(live.angles[41:70, INDEX], np.repeat(live.angles[40:41, INDEX], 29, axis=0))
    whole = smooth_angles(HAND, targets, pose, noise_of(targets))
    held, on_its_way = (np.abs(p.angles - truth.angles)[40:70, INDEX].mean() for p in (pose, whole))
    assert on_its_way < 0.6 * held
    steps = np.abs(np.diff(whole.angles[:, INDEX], axis=0))
    assert steps[35:75].max() < 2 * steps[:35].max()


@pytest.mark.parametrize("tied", [False, True])
def test_a_digit_whose_step_is_cut_holds_back_those_that_it_is_tied_to(tied) -> None:
    """Ring and little finger; every finger's own last joints are tied to each other."""
    tie = np.zeros(HAND.dofs)
    for finger, value in (("ring", 1.0), ("pinky", -1.0)):
        tie[HAND.dof(f"{finger}-finger-phalanx-proximal", "flexion")] = value
    hard = tuple(replace(row, soft=False) for row in HAND.couplings)
    hand = replace(HAND, couplings=(*hard, *([Coupling(tie, -9.0, 9.0, soft=False)] if tied else [])))
    pose = Pose(hand, np.eye(4)[None], natural(hand, np.full((1, hand.dofs), 0.4)))
    targets, wanted = targets_at(hand, pose, FULL), pose.angles.copy()
    wanted[0, hand.dof("ring-finger-phalanx-proximal", "flexion")] += 0.5
    fractions = _step_fractions(hand, targets, pose, wanted, noise_of(targets))[0]
    assert fractions[3] < 0.2
    np.testing.assert_array_equal(fractions[[0, 1, 2, 4]], fractions[3] if tied else 1.0)


@pytest.mark.parametrize("how", ACTS)
def test_limits_and_hard_couplings_hold(how) -> None:
    """Angles that leap from limit to limit, with ring and little finger tied to each other."""
    tie = np.zeros(HAND.dofs)
    for finger, value in (("ring", 1.0), ("pinky", -1.0)):
        tie[HAND.dof(f"{finger}-finger-phalanx-proximal", "flexion")] = value
    hard = tuple(replace(row, soft=False) for row in HAND.couplings)
    hand = replace(HAND, couplings=(*hard, Coupling(tie, -0.1, 0.1, soft=False)))
    part = np.repeat(np.random.default_rng(0).integers(0, 2, (40, 1)), HAND.dofs, axis=1) * 0.8
    pose = Pose(hand, np.tile(np.eye(4), (40, 1, 1)), natural(HAND, part))
    targets = targets_at(hand, pose, EIGHT)
    calm = ACTS[how](hand, targets, pose, noise_of(targets, 0.02)).angles
    assert np.abs(calm - pose.angles).max() > 0.1, "the example shows nothing"
    low, high = hand.limits.T
    assert ((calm >= low - 1e-9) & (calm <= high + 1e-9)).all()
    for row in hand.couplings:
        assert (calm @ row.coefficients >= row.lower - 1e-9).all()
        assert (calm @ row.coefficients <= row.upper + 1e-9).all()


def test_without_hard_couplings_angles_are_cut_off_at_their_limits() -> None:
    angles = natural(HAND, np.random.default_rng(1).random((20, HAND.dofs)))
    wanted = angles + np.random.default_rng(2).normal(0, 1, angles.shape)
    np.testing.assert_allclose(project_to_limits(HAND, angles, wanted), np.clip(wanted, *HAND.limits.T), atol=1e-12)


@pytest.mark.parametrize("frames", [0, 1, 2])
def test_takes_of_few_frames_are_left_as_they_are(frames) -> None:
    pose = bending(frames)
    targets = targets_at(HAND, pose, FULL)
    for act in ACTS.values():
        np.testing.assert_allclose(act(HAND, targets, pose, noise_of(targets)).angles, pose.angles, atol=0.02)


def test_nothing_seen_leaves_the_pose_as_it_is() -> None:
    pose = Pose(HAND, np.tile(np.eye(4), (9, 1, 1)), np.tile(HAND.neutral, (9, 1)))
    targets = targets_at(HAND, pose, EIGHT)
    targets = replace(targets, weights=np.zeros_like(targets.weights), positions=np.zeros_like(targets.positions))
    for act in ACTS.values():
        np.testing.assert_allclose(act(HAND, targets, pose, noise_of(targets)).angles, pose.angles, atol=1e-9)


def test_every_degree_of_freedom_of_the_digits_is_in_one_of_them() -> None:
    digits = digits_of(HAND)
    np.testing.assert_array_equal(np.sort(digits[digits >= 0]), np.arange(HAND.dofs))


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_noise_of_a_millimetre_is_gone_from_the_standard_hand(standard, name) -> None:
    """As problem B, by other dice: tips to the truth, second differences over the truth's."""
    angles = standard.motion(200, 0.01, np.random.default_rng(77))
    points, _ = standard.hand.fk(angles)
    tips = points[:, :, 3] + np.random.default_rng(78).normal(0, 1.0, points[:, :, 3].shape)
    problem = {"kind": "tips", "dt": 0.01, "q_true": angles, "points_true": points, "tip_target": tips}
    for solve, shake, leap in ((standard.runner.solve_batch, 1.5, 1.2), (standard.runner.solve, 4.0, 3.0)):
        solved = solve(problem, name, smooth=True)
        figures = standard.score(problem, solved)
        assert figures["tip_true_mean_mm"] <= 1.0
        assert figures["jitter_ratio"] <= shake
        assert figures["viol"] == 0
        # Without, middle joints leap 2.5 to 3.7 times as far as they ever move: a tip below its knuckle tells no side.
        found, _ = standard.hand.fk(solved["angles"])
        steps = [np.linalg.norm(np.diff(each[20:, :, 1:3], axis=0), axis=-1).max() for each in (found, points)]
        assert steps[0] < leap * steps[1]
