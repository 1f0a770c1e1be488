"""The filter of joint angles, against one least-squares problem over all frames."""

import numpy as np
import pytest
from scipy.linalg import eigh

from knuckle.hand.calibration.skin_markers.skin_fit import PosePrior
from knuckle.solvers.angle_filter import (
    MAX_INTERVAL,
    MAX_RATE,
    RANDOM_WALK_FACTOR,
    AngleMeasurement,
    AngleState,
    filter_angles,
    predict_angles,
    smooth_backwards,
)

DOFS, FRAMES = 3, 12


def positive(generator, count=None):
    shape = (DOFS, DOFS) if count is None else (count, DOFS, DOFS)
    factor = generator.normal(size=shape)
    return factor @ np.swapaxes(factor, -1, -2) + 0.1 * np.eye(DOFS)


def changing(random, slow):
    """A covariance and its change per second: each angle drifts slowly, or most of them would drift fast."""
    covariance = positive(random)
    return covariance, MAX_RATE * covariance if slow else 3 * MAX_RATE * positive(random)


@pytest.fixture(scope="module", params=[True, False], ids=["slow", "fast"])
def case(request):
    """A prior, times with a pause, and measurements; in some frames nothing is measured."""
    generator = np.random.default_rng(8)
    covariance, change = changing(generator, request.param)
    prior = PosePrior(generator.normal(size=DOFS), covariance, change)
    times = np.cumsum(generator.uniform(0.01, 0.1, FRAMES)) + np.where(np.arange(FRAMES) > 7, 2.0, 0.0)
    information = positive(generator, FRAMES)
    information[3:6] = 0.0
    gradient = generator.normal(size=(FRAMES, DOFS)) * (information.any(axis=(1, 2)))[:, None]
    return prior, times, AngleMeasurement(generator.normal(size=(FRAMES, DOFS)), information, gradient)


def stationary(prior):
    """The prior's covariance, widened in the directions whose change would make them drift too fast."""
    rates, vectors = eigh(prior.change, prior.covariance)
    modes = prior.covariance @ vectors
    return modes * np.maximum(rates / MAX_RATE, 1.0) @ modes.T


def at_once(prior, times, measured):
    """(F, D) the likeliest angles of all frames, from one dense system of equations."""
    count = len(times)
    matrix, right = np.zeros((count, DOFS, count, DOFS)), np.zeros((count, DOFS))
    precision, wide = np.linalg.inv(prior.covariance), stationary(prior)
    matrix[0, :, 0] += precision
    right[0] += precision @ prior.mean
    for k in range(count):
        matrix[k, :, k] += measured.information[k]
        right[k] += measured.gradient[k] + measured.information[k] @ measured.angles[k]
    for k in range(1, count):
        half = RANDOM_WALK_FACTOR * min(times[k] - times[k - 1], MAX_INTERVAL) * prior.change / 2
        # x_k - mean = decay (x_{k-1} - mean) + noise.
        decay = (wide - half) @ np.linalg.inv(wide + half)
        noise = np.linalg.inv(wide - decay @ wide @ decay.T)
        drift = prior.mean - decay @ prior.mean
        matrix[k, :, k] += noise
        matrix[k, :, k - 1] -= noise @ decay
        matrix[k - 1, :, k] -= decay.T @ noise
        matrix[k - 1, :, k - 1] += decay.T @ noise @ decay
        right[k] += noise @ drift
        right[k - 1] -= decay.T @ noise @ drift
    return np.linalg.solve(matrix.reshape(count * DOFS, -1), right.ravel()).reshape(count, DOFS)


def test_both_directions_give_the_likeliest_angles_of_all_frames(case):
    forward, _ = filter_angles(*case)
    np.testing.assert_allclose(smooth_backwards(forward), at_once(*case), atol=1e-9)


@pytest.mark.parametrize("count", [1, 4, FRAMES])
def test_the_filter_gives_the_likeliest_angles_of_the_frames_so_far(case, count):
    prior, times, measured = case
    part = AngleMeasurement(measured.angles[:count], measured.information[:count], measured.gradient[:count])
    forward, state = filter_angles(prior, times, measured)
    np.testing.assert_allclose(forward.angles[count - 1], at_once(prior, times[:count], part)[-1], atol=1e-9)
    np.testing.assert_allclose(state.mean, forward.angles[-1], atol=1e-12)


def test_without_markers_angles_drift_to_the_mean_pose_and_its_spread(case):
    prior, _, measured = case
    nothing = AngleMeasurement(np.zeros((400, DOFS)), np.zeros((400, DOFS, DOFS)), np.zeros((400, DOFS)))
    _, seen = filter_angles(prior, np.zeros(1), AngleMeasurement(*(each[:1] for each in vars_of(measured))))
    _, last = filter_angles(prior, np.linspace(0.5, 200.0, 400), nothing, seen)
    np.testing.assert_allclose(last.mean, prior.mean, atol=1e-6)
    np.testing.assert_allclose(last.covariance, stationary(prior), atol=1e-6)


def test_a_prediction_is_the_filter_without_a_measurement(case):
    prior, _, measured = case
    nothing = AngleMeasurement(np.zeros((1, DOFS)), np.zeros((1, DOFS, DOFS)), np.zeros((1, DOFS)))
    _, seen = filter_angles(prior, np.zeros(1), AngleMeasurement(*(each[:1] for each in vars_of(measured))))
    _, later = filter_angles(prior, np.array([0.2]), nothing, seen)
    mean, covariance = predict_angles(prior, seen, 0.2)
    np.testing.assert_allclose(mean, later.mean, atol=1e-12)
    np.testing.assert_allclose(covariance, later.covariance, atol=1e-12)


def test_angles_that_change_fast_keep_most_of_what_they_were_for_half_a_second():
    random = np.random.default_rng(5)
    covariance = positive(random)
    prior = PosePrior(np.zeros(DOFS), covariance, 20.0 * covariance)
    before = AngleState(0.0, random.normal(size=DOFS), 0.01 * covariance)
    mean, _ = predict_angles(prior, before, 0.5)
    assert np.all(mean / before.mean > 0.7)
    _, soon = predict_angles(prior, before, 0.001)
    wandered = (soon - before.covariance) / (2 * RANDOM_WALK_FACTOR * 0.001)
    np.testing.assert_allclose(wandered, prior.change, rtol=0.01)


def vars_of(measured):
    return measured.angles, measured.information, measured.gradient
