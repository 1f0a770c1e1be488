"""The fit of a hand that wore markers on its skin: it finds bones, joints and places that are known."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from knuckle.errors import HandError
from knuckle.hand.calibration.skin_markers import fit
from knuckle.hand.calibration.skin_markers.chain import marker_positions, pose_jacobian, shape_jacobian
from knuckle.hand.calibration.skin_markers.priors import INDEPENDENT_FRAMES, apply_step, mean_shape, prior_weight
from knuckle.hand.calibration.skin_markers.skin_fit import DOFS
from knuckle.hand.kinematics import Pose, joint_frames, site_positions
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
