"""The fit of a hand that wore markers on its skin: it finds bones, joints and places that are known."""

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand.calibration.skin_markers import fit
from knuckle.hand.calibration.skin_markers.chain import (
    LENGTHS,
    ROTATIONS,
    marker_positions,
    pose_jacobian,
    shape_jacobian,
)
from knuckle.hand.calibration.skin_markers.fitted_limits import fitted_limits
from knuckle.hand.calibration.skin_markers.own_dips import DIPS, PIPS, dip_shares, independent_dips
from knuckle.hand.calibration.skin_markers.pose_fit import (
    PoseModel,
    Poses,
    VisibleMarkers,
    invert,
    normal_equations,
)
from knuckle.hand.calibration.skin_markers.pose_starts import best_start
from knuckle.hand.calibration.skin_markers.pose_uncertainty import cost_of_uncertainty
from knuckle.hand.calibration.skin_markers.priors import (
    INDEPENDENT_FRAMES,
    START_ANGLES,
    apply_step,
    mean_shape,
    prior_weight,
    shape_from_fit,
    usual_pose_prior,
)
from knuckle.hand.calibration.skin_markers.skin_fit import COLUMNS, DOFS
from knuckle.hand.joints import DIGITS, KNUCKLES
from knuckle.hand.kinematics import Pose, joint_frames, site_positions
from knuckle.hand.limits import DEFAULT_LIMITS
from knuckle.hand.proportions import adult, build
from knuckle.tests.pure.hand import people
from knuckle.tests.pure.hand.skin_people import SPOTS, made, worn_by

SHAPE = mean_shape(np.array([-1, 0, 0, 1, 1, 1, 4]), np.array([0, 0, 2, 0, 1, 2, 1]), np.zeros(7, bool))
"""Markers on the palm, the thumb, the index and the little finger."""


def _places(shape, angles):
    return marker_positions(shape, angles).positions.transpose(2, 1, 0)


def test_markers_are_where_the_hands_own_kinematics_have_them():
    worn = worn_by("right")
    low, high = worn.model.limits.T
    angles = np.random.default_rng(1).uniform(low, high, (5, DOFS))
    hand = worn.model.with_sites(people.sites_of(worn))
    pose = Pose(hand, np.tile(np.eye(4), (5, 1, 1)), angles)
    expected = site_positions(hand, joint_frames(hand, pose))[:, -len(worn.markers) :]
    found = _places(people.shape_without_slides(worn), angles)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_derivatives_by_the_pose_are_those_of_differences():
    rng = np.random.default_rng(2)
    shape = apply_step(SHAPE, np.r_[np.zeros(46 + 21), rng.normal(0, 0.002, 42)])
    angles, little = rng.uniform(-0.5, 1.0, (3, DOFS)), 1e-6
    slopes = pose_jacobian(shape, marker_positions(shape, angles))[..., 6:]
    for dof in range(DOFS):
        step = little * np.eye(DOFS)[dof]
        difference = (_places(shape, angles + step) - _places(shape, angles - step)) / (2 * little)
        np.testing.assert_allclose(slopes[..., dof], difference, atol=1e-8)


def test_weighted_derivatives_by_the_pose_are_the_weights_times_them():
    rng = np.random.default_rng(2)
    shape = apply_step(SHAPE, np.r_[np.zeros(46 + 21), rng.normal(0, 0.002, 42)])
    markers, weights = marker_positions(shape, rng.uniform(-0.5, 1.0, (4, DOFS))), rng.normal(size=(3, 3, 7, 4))
    expected = weights.transpose(3, 2, 0, 1) @ pose_jacobian(shape, markers)
    np.testing.assert_allclose(pose_jacobian(shape, markers, weights), expected, atol=1e-14)


def test_derivatives_by_the_shape_are_those_of_differences():
    rng = np.random.default_rng(3)
    angles, little = rng.uniform(-0.5, 1.0, (3, DOFS)), 1e-6
    slopes = shape_jacobian(SHAPE, marker_positions(SHAPE, angles))
    for number in range(1, slopes.shape[-1]):
        step = little * np.eye(slopes.shape[-1])[number]
        difference = (_places(apply_step(SHAPE, step), angles) - _places(apply_step(SHAPE, -step), angles)) / (
            2 * little
        )
        np.testing.assert_allclose(slopes[..., number], difference, atol=1e-8)


def test_what_uncertain_poses_cost_changes_with_the_shape_as_their_spread_over_the_markers_does():
    """Against the trace of the covariance of the markers, at shapes that are changed one parameter at a time."""
    rng = np.random.default_rng(4)
    shape = apply_step(SHAPE, np.r_[np.zeros(46 + 21), rng.normal(0, 0.002, 42)])
    angles, precise = rng.uniform(-0.4, 0.8, (3, DOFS)), np.full((7, 3), 1000.0)
    mean, precision = usual_pose_prior()
    model = PoseModel(shape, precise, mean, precision, np.tile([-9.0, 9.0], (DOFS, 1)))
    poses = Poses(np.tile(np.eye(3), (3, 1, 1)), np.zeros((3, 3)), angles)
    equations = normal_equations(model, poses, VisibleMarkers.from_positions(_places(shape, angles)))
    covariance = invert(equations.matrix)
    found = cost_of_uncertainty(shape, equations, covariance)

    def spread(step):
        stepped = apply_step(shape, step)
        slopes = 1000 * pose_jacobian(stepped, marker_positions(stepped, angles)).reshape(3, 21, -1)
        return np.einsum("frn,fnk,frk->", slopes, covariance, slopes)

    steps = 1e-5 * np.eye(len(found.gradient))
    differences = np.array([(spread(step) - spread(-step)) / 2e-5 for step in steps])
    np.testing.assert_allclose(2 * found.gradient, differences, rtol=1e-6, atol=1e-4)
    step = rng.normal(0, 0.002, len(steps))
    step[:1], step[ROTATIONS:LENGTHS] = 0, 0
    np.testing.assert_allclose(found.cost(step), spread(step) - spread(0 * step), rtol=1e-9)


def test_little_and_ring_fingers_bend_farther_against_a_palm_that_does_not_arch():
    """The ring finger's metacarpal flexes by some 15 degrees, the little finger's by some 25."""
    limits = DEFAULT_LIMITS | fitted_limits(np.zeros((20, DOFS)))
    index, middle, ring, little = (limits[knuckle, "flexion"][1] for knuckle in KNUCKLES)
    assert (middle - index, ring - index, little - index) == (0, 15, 25)


def test_limits_hold_the_usual_ones_and_what_was_seen():
    """The zero of a fitted hand's angles is known to some ten degrees."""
    seen = np.linspace(-0.3, 0.6, 20)[:, None] * np.linspace(0.2, 1.0, DOFS)
    limits = DEFAULT_LIMITS | fitted_limits(seen)
    for key, (low, high) in DEFAULT_LIMITS.items():
        assert limits[key][0] <= low - 10 and limits[key][1] >= high + 10, key
    found = build(adult("right"), limits).limits
    assert np.all(found[:, 0] <= seen.min(axis=0))
    assert np.all(found[:, 1] >= seen.max(axis=0))


def test_a_dip_tells_only_of_its_own_pip():
    """What was known of the other angles stays, and of each PIP with its DIP."""
    rng = np.random.default_rng(6)
    factor = rng.normal(0, 0.3, (DOFS, DOFS))
    covariance = factor @ factor.T + 0.01 * np.eye(DOFS)
    found = independent_dips(covariance, dip_shares(covariance))
    others = np.setdiff1d(np.arange(DOFS), DIPS)
    np.testing.assert_allclose(found[np.ix_(others, others)], covariance[np.ix_(others, others)], atol=1e-12)
    precision = np.linalg.inv(found)
    for pip, dip in zip(PIPS, DIPS, strict=True):
        pair = np.ix_([pip, dip], [pip, dip])
        np.testing.assert_allclose(found[pair], covariance[pair], atol=1e-12)
        rest = np.setdiff1d(np.arange(DOFS), [pip, dip])
        np.testing.assert_allclose(precision[dip, rest], 0, atol=1e-8 * precision[dip, dip])


def test_markers_sit_where_the_skin_has_them_in_the_mean_pose():
    """Joints that are bent as usual, by the hand's own kinematics, against the fit's markers with their slides."""
    rng, plain = np.random.default_rng(5), worn_by("right")
    slides = rng.normal(0, 0.003, plain.markers.slides.shape)
    slides[[*range(2, 15, 3)], 1] = slides[15:] = 0
    worn = replace(plain, markers=replace(plain.markers, slides=slides))
    hand, mean = worn.model.with_sites(people.sites_of(worn)), worn.poses.mean[None]
    frames = joint_frames(hand, Pose(hand, np.eye(4)[None], mean))
    expected = _places(shape_from_fit(worn), mean)
    np.testing.assert_allclose(site_positions(hand, frames)[:, -len(worn.markers) :], expected, atol=1e-12)


def test_no_finger_starts_from_a_fist_while_its_own_markers_show_it_straight():
    """Whatever the others do: half open is the farthest from either that a finger starts."""
    shape, rng = shape_from_fit(worn_by("right")), np.random.default_rng(8)
    straight, _, fist = START_ANGLES
    bent = rng.random((40, len(DIGITS))) < 0.5
    angles = np.tile(straight, (40, 1))
    for digit, columns in enumerate(COLUMNS[1:], start=1):
        own = columns[columns >= 0]
        angles[:, own] = np.where(bent[:, digit, None], fist[own], straight[own])
    model = PoseModel(shape, np.full((18, 3), 1000.0), *usual_pose_prior(), np.tile([-2.0, 2.0], (DOFS, 1)))
    seen = VisibleMarkers.from_positions(_places(shape, angles))
    found = best_start(model, START_ANGLES, seen, np.ones(18, bool))
    off = np.rad2deg(np.abs(found.angles - angles)[:, PIPS])
    assert off.max() < 60, f"the PIP of a finger starts {off.max():.0f} degrees off"


@pytest.fixture(scope="module", params=["right", "left"])
def again(request):
    """A made take with 0.5 mm of noise, and the hand that is fitted to it."""
    take = made(request.param, noise=NOISE)
    return take, fit(take.positions, 100.0, SPOTS, request.param)


NOISE = 0.0005
"""m on each axis"""


def test_a_made_hand_is_found_again(again):
    take, found = again
    bones = 1000 * np.abs(found.proportions.phalanges - take.worn.proportions.phalanges)
    off = 1000 * np.linalg.norm(found.markers.offsets - take.worn.markers.offsets, axis=1)[:-3]
    assert found.side == take.worn.side
    assert bones.mean() < 2.0, f"bones are {bones.mean():.2f} mm off, {bones.max():.2f} at most"
    assert off.mean() < 3.0, f"the digits' markers are {off.mean():.2f} mm from where they were worn"


def test_the_bone_of_a_marker_is_found_whatever_its_name_says(again):
    take, found = again
    assert found.markers.digits.tolist() == take.worn.markers.digits.tolist()
    assert found.markers.bones.tolist() == take.worn.markers.bones.tolist()


def test_the_back_of_a_hand_is_found_where_no_marker_is_on_a_proximal_phalanx():
    """The fit could begin on the palm's side of the markers, and then took the other bone for the middle phalanx."""
    take = made("right", noise=NOISE)
    spots = {label: spot for label, spot in SPOTS.items() if not label.endswith("A")}
    worn = [list(SPOTS).index(label) for label in spots]
    found = fit(take.positions[:, worn], 100.0, spots, "right")
    assert found.markers.bones.tolist() == take.worn.markers.bones[worn].tolist()
    bones = 1000 * np.abs(found.proportions.phalanges - take.worn.proportions.phalanges)
    assert bones.mean() < 3.0, f"bones are {bones.mean():.2f} mm off, {bones.max():.2f} at most"


def test_how_much_markers_shake_is_measured(again):
    middle = float(np.median(again[1].markers.spreads))
    assert 0.8 * NOISE < middle < 1.6 * NOISE, f"{1000 * middle:.2f} mm, {1000 * NOISE:.1f} mm were added"


def test_several_takes_are_one_performer():
    takes = [made("right", seed=seed, noise=0.0005).positions[:150] for seed in (1, 2)]
    one = fit(takes, 100.0, SPOTS, "right")
    assert one.markers.labels == tuple(SPOTS)


def test_too_short_a_take_is_refused_in_a_sentence():
    with pytest.raises(HandError, match="5 frames show half of its markers"):
        fit(made("right").positions[:5], 100.0, SPOTS, "right")


def test_frames_beyond_the_independent_ones_say_no_more_against_the_prior():
    """Each frame weighs one: of a long take all frames together weigh as much against the prior as of a short one."""
    enough = int(INDEPENDENT_FRAMES)
    assert [prior_weight(frames) for frames in (1, enough // 2, enough)] == [1.0, 1.0, 1.0]
    assert [frames / prior_weight(frames) for frames in (2 * enough, 50 * enough)] == [enough, enough]


def test_how_fast_joints_move_is_told_from_how_markers_shake(monkeypatch):
    """A random walk of angles, beside noise that is as large as its steps."""
    rng, frames, rate, step = np.random.default_rng(3), 4000, 120.0, 0.02
    mixing = np.eye(DOFS) + 0.5 * np.eye(DOFS, k=1)
    walk = np.cumsum(step * rng.normal(size=(frames, DOFS)) @ mixing, axis=0)
    seen = walk + step * rng.normal(size=walk.shape)

    def fitted(_model: Any, markers: Any) -> Any:
        return SimpleNamespace(poses=SimpleNamespace(angles=seen[: len(markers)]))

    module = import_module("knuckle.hand.calibration.skin_markers.fit")
    monkeypatch.setattr(module, "_fit_poses", fitted)
    monkeypatch.setattr(module.VisibleMarkers, "from_positions", lambda positions: positions)
    unused: Any = None
    found = module._motion_covariance(unused, [np.zeros((frames, 3, 3))], rate)
    np.testing.assert_allclose(np.trace(found), np.trace(step**2 * rate * mixing.T @ mixing), rtol=0.1)
