"""Bones and marker offsets, fitted together to the free motion of hands that are known."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.special import huber

from knuckle.hand import kinematics, rotations
from knuckle.hand.calibration.fit_parameters import BONE_SPREAD, FIRST_JOINTS, LENGTHS, OFFSETS, SharedParameters
from knuckle.hand.calibration.joint_radii import radii_by_size
from knuckle.hand.calibration.least_squares import HUBER_THRESHOLD, FitState, NormalEquations
from knuckle.hand.calibration.levenberg_marquardt import _observable_variables, _step, parameter_spreads
from knuckle.hand.calibration.measuring import measure_proportions
from knuckle.hand.calibration.motion_fit import (
    FittedHand,
    _fitted_hand,
    _knuckle_measurements,
    apply_motion_fit,
    fit_steps,
    informative_frames,
    prepare_fit,
)
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.marker_sets import Spot, on_palm
from knuckle.hand.measured_hand import MeasuredHand
from knuckle.hand.measurements import Measurement
from knuckle.hand.proportions import adult, build, site_positions, to_wrist_frame
from knuckle.hand.targets import assign
from knuckle.tests.pure.hand.people import BACK, EIGHT, FULL, someone


def on_someone(hand, spots, seed):
    """The spots, those on joints lifted onto the skin, all of them up to some millimetres elsewhere."""
    rng = np.random.default_rng(seed)
    found = []
    for spot, place in zip(spots, site_positions(hand, spots), strict=True):
        lift = [0.0, 0.0, 0.0] if any(spot.offset) else [0.0, 0.0, 0.008]
        elsewhere = np.array(lift) + rng.uniform(-1, 1, 3) * [0.003, 0.004, 0.003]
        mirror = [1.0 if hand.side == "right" else -1.0, 1.0, 1.0]
        beside = place * mirror if on_palm(spot) else np.array(spot.offset)
        found.append(Spot("wrist" if on_palm(spot) else spot.joint, tuple((beside + elsewhere).tolist())))
    return tuple(found)


def moving(hand, spots, frames=160, *, noise=0.0005, still=()):
    """(F, M, 3) m, the markers while every joint goes through most of its range at a pace of its own."""
    labelled = {f"m{i}": spot for i, spot in enumerate(spots)}
    model, targets = assign(build(hand), labelled, np.zeros(1), np.zeros((1, len(spots), 3)))
    rng = np.random.default_rng(4)
    time = np.linspace(0, 1, frames)[:, None]
    wave = np.sin(2 * np.pi * (rng.integers(3, 9, model.dofs) * time + rng.uniform(0, 1, model.dofs)))
    low, high = model.limits.T
    twists = np.array([movement == "twist" for movement in model.movements])
    angles = np.where(twists, 0.0, (low + high) / 2 + 0.4 * (high - low) * wave)
    for digit in DIGITS[1:]:
        middle, last = (model.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][1:3])
        angles[:, last] = np.clip(2 / 3 * angles[:, middle], low[last], high[last])
    for digit in still:
        own = [dof for dof in range(model.dofs) if model.joints[model.axis_joint[dof]].startswith(digit)]
        angles[:, own] = angles[:1, own]
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, :3] = rotations.to_matrix(rotations.from_axis_angle(np.array([0.6, 0.0, 0.8]), np.sin(5 * time[:, 0])))
    root[:, :3, 3] = [0.3, -0.2, 1.0] + 0.1 * np.sin(4 * time)
    frames_of = kinematics.joint_frames(model, kinematics.Pose(model, root, angles))
    places = kinematics.site_positions(model, frames_of)[:, targets.sites]
    return places + rng.normal(0, noise, places.shape)


def names_of(spots):
    return tuple(f"m{i}" for i in range(len(spots)))


def fitted(side, spots, positions):
    proportions, at = measure_proportions(side, spots, positions)
    hand = MeasuredHand(proportions, dict(zip(names_of(spots), at, strict=True)))
    fit = fit_steps(hand, at, spots, names_of(spots), positions)
    while True:
        try:
            assert 0 <= next(fit).fraction <= 1
        except StopIteration as end:
            return hand, end.value


@pytest.mark.parametrize("side", ["left", "right"])
def test_markers_on_the_skin_tell_bones_and_where_they_sit(side):
    """With half a millimetre of noise; the distances of markers alone are several times as far off."""
    truth = someone(side)
    sit = on_someone(truth, FULL, seed=1)
    before, found = fitted(side, FULL, moving(truth, sit))
    assert isinstance(found, FittedHand)
    off = 1000 * np.abs(found.proportions.phalanges - truth.phalanges)
    was = 1000 * np.abs(before.proportions.phalanges - truth.phalanges)
    # How long a last bone is and how far along it the tip's marker sits is one number: of it the mean hand decides.
    assert off[:, :2].mean() < 1.0 < was[:, :2].mean() / 2, (
        f"{off[:, :2].mean():.2f} mm, {was[:, :2].mean():.2f} before"
    )
    beside = [i for i, spot in enumerate(sit) if spot.joint != "wrist"]
    apart = np.array([np.subtract(found.spots[i].offset, sit[i].offset) for i in beside])
    assert 1000 * np.abs(apart).mean() < 2.0
    assert found.residual_after < 0.001 < found.residual_before


def test_a_marker_set_on_the_back_is_moved_to_where_its_markers_are():
    truth = someone("right", seed=8)
    sit = on_someone(truth, BACK, seed=2)
    places = moving(truth, sit)
    _, found = fitted("right", BACK, places)
    assert isinstance(found, FittedHand)
    assert found.residual_after < 0.5 * found.residual_before
    assert [spot.joint for spot in found.spots] == [spot.joint for spot in sit]


def small(frames=6, spots=FULL, seed=1):
    """A fit that is small enough for scipy, begun."""
    truth = someone("right")
    places = moving(truth, on_someone(truth, spots, seed), frames=60)[:: 60 // frames]
    places[0, 3] = np.nan
    places[-1, 5] += 0.03  # an outlier
    proportions, at = measure_proportions("right", spots, places)
    return prepare_fit(proportions, at, spots, places, MeasuredHand(proportions, {}).model)


def test_derivatives_are_those_of_finite_differences():
    fit = small()
    problem, state = fit.problem, fit.state
    rng = np.random.default_rng(0)
    low, high = problem.reference.limits.T
    # Away from the limits and from where outliers begin to count less.
    state = replace(state, angles=np.clip(state.angles, low + 0.05, high - 0.05))
    shared = len(state.parameters.vector())
    by_pose, by_shared = np.zeros((len(state.root), 6 + problem.reference.dofs)), rng.normal(0, 1e-3, shared)
    state = problem.apply_step(state, by_pose, by_shared)
    normal = problem.normal_equations(state)
    for _ in range(5):
        pose_way, shared_way = rng.normal(0, 1, by_pose.shape), rng.normal(0, 1, shared)
        ends = []
        for sign in (1, -1):
            step = sign * 1e-6
            there = problem.apply_step(state, step * pose_way, step * shared_way)
            frames, common = problem.costs(there)
            ends.append(frames.sum() + common)
        slope = (ends[0] - ends[1]) / 2e-6
        reported = -np.sum(normal.rhs_poses * pose_way) - normal.rhs_shared @ shared_way
        assert reported == pytest.approx(slope, rel=1e-5)


def test_the_least_squares_are_scipys():
    """A few frames of a finger and the palm, one marker an outlier: from poses that are shaken scipy finds the same."""
    spots = tuple(spot for spot in FULL if not spot.joint.startswith(("thumb", "ring", "pinky", "middle")))
    spots = (*spots, *(spot for spot in FULL if spot.joint == "pinky-finger-phalanx-proximal"))
    fit = small(2, spots)
    for _ in range(3):
        for _ in fit._optimise(40):
            pass
    problem, ours = fit.problem, fit.state
    low, high = problem.reference.limits.T
    frames, dofs, shared = len(ours.root), problem.reference.dofs, len(ours.parameters.vector())

    def state_of(x):
        poses, common = x[: frames * (6 + dofs)].reshape(frames, 6 + dofs), x[frames * (6 + dofs) :]
        moved = problem.apply_step(ours, np.c_[poses[:, :6], np.zeros((frames, dofs))], common)
        return FitState(moved.parameters, moved.root, poses[:, 6:])

    def residuals(x):
        state = state_of(x)
        off = problem.residuals(state) / problem.noise
        far = np.linalg.norm(off, axis=-1, keepdims=True)
        huber = np.where(
            far <= HUBER_THRESHOLD, far, np.sqrt(HUBER_THRESHOLD * np.maximum(2 * far - HUBER_THRESHOLD, 0))
        )
        at_ease, follows = problem._pose_residuals(state)
        prior = np.sqrt(problem.prior_weight) * problem.prior.residuals(state.parameters)[0]
        return np.concatenate([(off / np.maximum(far, 1e-12) * huber).ravel(), at_ease.ravel(), follows.ravel(), prior])

    shaken = ours.angles + np.random.default_rng(3).normal(0, 0.02, ours.angles.shape)
    shaken = np.clip(shaken, low + 1e-6, high - 1e-6)
    start = np.concatenate([np.c_[np.zeros((frames, 6)), shaken].ravel(), np.zeros(shared)])
    free = np.full(6, np.inf), np.full(shared, np.inf)
    least = np.concatenate([np.tile(np.r_[-free[0], low], frames), -free[1]])
    most = np.concatenate([np.tile(np.r_[free[0], high], frames), free[1]])
    best = least_squares(residuals, start, bounds=(least, most), x_scale="jac", max_nfev=12)
    each, common = problem.costs(ours)
    assert each.sum() + common == pytest.approx(best.cost, rel=1e-3)
    away = ours.parameters.vector() - state_of(best.x).parameters.vector()
    assert 1000 * np.abs(away[LENGTHS]).max() < 0.1, "mm"


def test_a_finger_that_does_not_move_stays_a_mean_ones_and_its_spread_says_so():
    truth = someone("right")
    sit = on_someone(truth, BACK, seed=3)
    places = moving(truth, sit, still=("ring-finger",))
    proportions, at = measure_proportions("right", BACK, places)
    fit = prepare_fit(proportions, at, BACK, places, MeasuredHand(proportions, {}).model)
    for _ in fit.steps():
        pass
    share = (
        parameter_spreads(fit.problem, fit.state)[LENGTHS].reshape(5, 3) / fit.problem.mean_hand.phalanges / BONE_SPREAD
    )
    assert (share[3] > 0.6).all()
    assert share[2].min() < share[3].min(), "the middle finger moves, and tells more"
    ratio = fit.state.parameters.lengths[3] / fit.problem.mean_hand.phalanges[3] / fit.state.parameters.size
    assert np.abs(ratio - 1).max() < 3 * BONE_SPREAD


def test_markers_that_are_never_seen_stay_where_they_are_said_to_be():
    truth = someone("right")
    places = moving(truth, on_someone(truth, FULL, seed=1))
    lost = [i for i, spot in enumerate(FULL) if spot.joint.startswith("pinky-finger-") and not on_palm(spot)]
    places[:, lost] = np.nan
    places[::7, 2] = np.nan
    _, found = fitted("right", FULL, places)
    assert isinstance(found, FittedHand)
    assert np.isfinite(found.proportions.phalanges).all()
    assert 1000 * max(np.abs(found.spots[i].offset).max() for i in lost) < 0.01
    sure = [one for one in found.measurements if one.of in {f"m{i}" for i in lost}]
    assert [one.how for one in sure] == ["never seen"] * len(lost)


def test_swapped_markers_in_some_frames_change_little():
    truth = someone("right")
    places = moving(truth, on_someone(truth, FULL, seed=1))
    swapped = places.copy()
    swapped[::20, [4, 8]] = places[::20, [8, 4]]
    whole, found = (fitted("right", FULL, seen)[1] for seen in (places, swapped))
    assert 1000 * np.abs(found.proportions.phalanges - whole.proportions.phalanges).max() < 1.5, "mm"


@pytest.mark.parametrize(
    ("frames", "still", "sentence"),
    [(40, (), "40 frames show the palm"), (200, DIGITS, "no finger moves by more than")],
)
def test_a_clip_that_tells_nothing_is_reported_and_changes_nothing(frames, still, sentence):
    truth = someone("right")
    _, found = fitted("right", FULL, moving(truth, FULL, frames, still=still))
    assert isinstance(found, str)
    assert found.startswith(sentence)


def test_where_markers_sit_in_the_joints_nothing_is_better_and_it_is_reported():
    _, found = fitted("right", FULL, moving(someone("right"), FULL))
    assert isinstance(found, str)
    assert "without it they are" in found


def test_fingertips_alone_give_a_hand_whose_tips_are_where_they_are_said():
    truth = someone("right")
    before, found = fitted("right", EIGHT, moving(truth, EIGHT))
    if isinstance(found, FittedHand):
        hand = apply_motion_fit(before, found, dict(zip(names_of(EIGHT), found.spots, strict=True)))
        assert max(np.linalg.norm(hand.spots[f"m{i}"].offset) for i in range(3, 8)) < 0.004


def test_frames_are_taken_from_all_of_each_fingers_range():
    """A hand that moves for one second in half a minute: most of what is not even in time is of that second."""
    truth = someone("right")
    places = moving(truth, FULL, 2000, noise=0.0, still=DIGITS)
    second = slice(1200, 1260)
    places[second] = moving(truth, FULL, 60, noise=0.0)
    proportions, at = measure_proportions("right", FULL, places)
    rows = informative_frames(proportions, at, to_wrist_frame(proportions, at, places), 200)
    assert len(rows) <= 200
    assert ((rows >= second.start) & (rows < second.stop)).sum() > 30, "evenly in time it would be 6"


def test_variables_that_count_are_those_that_move_a_marker_that_is_seen():
    """Besides the wrist's six."""
    hand, rng = build(someone("right")), np.random.default_rng(5)
    joints, offsets = rng.integers(0, len(hand.joints), 8), rng.normal(size=(8, 3))
    seen = rng.random((20, 8)) > 0.7
    angles = np.vstack([hand.neutral, hand.neutral + 0.1 * np.eye(hand.dofs)])
    frames = kinematics.joint_frames(hand, kinematics.Pose(hand, np.tile(np.eye(4), (len(angles), 1, 1)), angles))
    places = (frames[:, joints] @ np.append(offsets, np.ones((8, 1)), axis=1)[..., None])[..., :3, 0]
    moves = np.linalg.norm(places[1:] - places[0], axis=-1) > 1e-9
    problem: Any = SimpleNamespace(markers=SimpleNamespace(joints=joints.tolist()), reference=hand, seen=seen)
    expected = [6 + moves[:, row].any(axis=1).sum() for row in seen]
    np.testing.assert_array_equal(_observable_variables(problem), expected)


def test_the_spread_of_a_knuckles_distance_is_that_of_drawn_ones():
    rng = np.random.default_rng(6)
    places, uncertain = rng.uniform(0.03, 0.09, (5, 3)), rng.uniform(0.0002, 0.003, (5, 3))
    spread = np.zeros(OFFSETS)
    spread[FIRST_JOINTS] = uncertain.ravel()
    shared = SharedParameters(1.0, places, np.zeros((5, 4)), np.zeros((5, 3)), np.zeros(5), np.zeros((0, 3)))
    drawn = 1000 * np.linalg.norm(places + uncertain * rng.normal(size=(20000, 5, 3)), axis=-1)
    found = _knuckle_measurements(shared, spread, 7)
    np.testing.assert_allclose([each.spread or 0.0 for each in found], drawn.std(axis=0), rtol=0.03)
    np.testing.assert_allclose([each.value or 0.0 for each in found], drawn.mean(axis=0), rtol=0.01)


def test_digits_that_are_kept_as_they_were_have_no_new_measurements():
    fit = small()
    names = tuple(f"m{number}" for number in range(len(FULL)))
    kept = ("middle-finger", "ring-finger")
    rows = tuple(DIGITS.index(digit) for digit in kept)
    whole, part = (_fitted_hand(fit, names, fit.state.parameters, each).measurements for each in ((), rows))
    own = {joint for digit in kept for joint in CHAIN_JOINTS[digit]}
    own |= {name for name, spot in zip(names, FULL, strict=True) if spot.joint in own and not on_palm(spot)}
    assert {each.of for each in whole if each.kind != "rho"} == {
        *names,
        *(joint for chain in CHAIN_JOINTS.values() for joint in chain[:3]),
    }
    assert [each for each in whole if each.of not in {*own, *kept}] == [each for each in part if each.of not in kept]
    assert all(each.value is None for each in part if each.of in kept)


def test_a_step_by_elimination_is_that_of_the_whole_system():
    """Four frames of six variables, some of them fixed, and three that all frames share."""
    rng, frames, own, shared = np.random.default_rng(7), 4, 6, 3
    size = frames * own + shared
    rows = rng.normal(size=(60, size))
    whole = rows.T @ rows
    for frame in range(frames):
        for other in set(range(frames)) - {frame}:
            whole[frame * own : (frame + 1) * own, other * own : (other + 1) * own] = 0.0
    rhs, fixed = rng.normal(size=size), rng.random((frames, own)) > 0.7
    poses = np.stack([whole[k : k + own, k : k + own] for k in range(0, frames * own, own)])
    mixed, last = whole[: frames * own, -shared:].reshape(frames, own, shared), whole[-shared:, -shared:]
    equations = NormalEquations(poses, mixed, last, rhs[:-shared].reshape(frames, own), rhs[-shared:])
    found = _step(equations, fixed, 0.1)
    free = np.append(~fixed.ravel(), np.ones(shared, bool))
    expected = np.zeros(size)
    damped = whole + np.diag(0.1 * np.diag(whole) + 1e-9)
    expected[free] = np.linalg.solve(damped[np.ix_(free, free)], rhs[free])
    np.testing.assert_allclose(np.concatenate([found[0].ravel(), found[1]]), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("share", [0.3, 0.99, 1.01, 4.0])
def test_a_marker_that_is_off_costs_what_hubers_loss_is(share):
    fit = small()
    problem, state = fit.problem, fit.state
    met = replace(problem, positions=problem.positions + problem.residuals(state))
    places = met.positions.copy()
    places[1, 2] += share * HUBER_THRESHOLD * problem.noise * np.array([0.6, 0.0, -0.8])
    cost = replace(problem, positions=places).costs(state)[0] - met.costs(state)[0]
    np.testing.assert_allclose(cost, [0.0, huber(HUBER_THRESHOLD, share * HUBER_THRESHOLD), *[0.0] * 4], atol=1e-9)


def test_radii_that_come_from_a_hands_size_follow_it_and_so_do_their_measurements():
    before, after = adult("right", 0.17), adult("right", 0.2)
    radii = radii_by_size(before)
    radii[2] += 0.001
    middle = 1000 * radii[:, 1]
    reported = tuple(Measurement("radius", CHAIN_JOINTS[digit][1], "", middle[row]) for row, digit in enumerate(DIGITS))
    hand = MeasuredHand(before, {}, radii=radii, measurements=reported)
    found = apply_motion_fit(hand, FittedHand(after, (), (None,) * 5, ()), {})
    np.testing.assert_allclose(found.radii[[0, 1, 3, 4]], radii_by_size(after)[[0, 1, 3, 4]])
    np.testing.assert_array_equal(found.radii[2], radii[2])
    for row, measurement in enumerate(found.measurements):
        assert measurement.value == pytest.approx(1000 * found.radii[row, 1])


def test_a_bone_is_off_by_one_if_it_is_by_its_share_of_the_mean_ones_length():
    problem = small().problem
    steps = np.zeros((15, problem.prior.matrix.shape[1]))
    steps[np.arange(15), np.arange(15) + LENGTHS.start] = BONE_SPREAD * problem.mean_hand.phalanges.ravel()
    np.testing.assert_allclose(np.linalg.norm(steps @ problem.prior.matrix.T, axis=1), 1.0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_markers_of_a_fit_that_has_not_begun_are_where_they_were(side):
    truth = someone(side)
    sit = on_someone(truth, BACK, seed=3)
    proportions, at = measure_proportions(side, BACK, moving(truth, sit, 30))
    fit = prepare_fit(proportions, at, BACK, moving(truth, sit, 30), MeasuredHand(proportions, {}).model)
    for before, found in zip(at, fit.problem.markers.fitted_spots(side, fit.state.parameters), strict=True):
        np.testing.assert_allclose(found.offset, before.offset, atol=1e-9)
