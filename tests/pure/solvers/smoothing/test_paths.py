"""Paths over time against dense least squares, known noise, known motion and known outliers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle.hand import rotations
from knuckle.solvers.smoothing.kalman_bank import INITIAL_COVARIANCE
from knuckle.solvers.smoothing.live_path import PathFilter, filter_frame, initial_history
from knuckle.solvers.smoothing.motion_model import (
    POSITION_SCALE,
    ROTATION_SCALE,
    NoiseRules,
    intensity,
    steps_of,
    transition,
)
from knuckle.solvers.smoothing.noise_estimate import initial_noise, update_noise, variances
from knuckle.solvers.smoothing.path_smoother import smooth, smooth_paths

RULES = NoiseRules(POSITION_SCALE, bridge=0.2)
LIVE = PathFilter(1, 1.0, NoiseRules(POSITION_SCALE, bridge=0.1))


def wander(times, paths=3, seed=0, size=0.04, hertz=1.5):
    """(F, M, 3) m: sums of sinusoids up to `hertz`, as fingertips of a moving hand."""
    rng = np.random.default_rng(seed)
    waves = rng.uniform(0.2, hertz, (4, paths, 3)), rng.uniform(0, 2 * np.pi, (4, paths, 3))
    return size / 2 * np.sin(2 * np.pi * waves[0] * times[:, None, None, None] + waves[1]).sum(1)


def noisy(truth, sigma, seed=1):
    return truth + np.random.default_rng(seed).normal(0, sigma, truth.shape)


def everywhere(values):
    return np.ones(values.shape[:2], bool)


def followed(times, values, seen, how=LIVE, scale=POSITION_SCALE):
    """(F, M, D) the places of frame f, given at frame f + lag; the last frames are cut off by the lag."""
    track, given = initial_history(values.shape[1], values.shape[2], scale), []
    for frame, time in enumerate(times):
        track, place = filter_frame(track, float(time), values[frame], seen[frame], how)
        given.append(place.values)
    return np.array(given)[how.lag :]


def off(one, other):
    """(F, M) how far apart."""
    return np.linalg.norm(one - other, axis=-1)


# --- the model ----------------------------------------------------------------------------------------------------


def test_the_motion_is_the_matrix_exponential_of_white_jerk() -> None:
    """Van Loan 1978: exp of [[-F, GGᵀ], [0, Fᵀ]] dt holds the transition and the covariance."""
    expm = pytest.importorskip("scipy.linalg").expm
    drift = np.diag([1.0, 1.0], 1)
    push = np.diag([0.0, 0.0, 1.0])
    for dt in (1e-3, 0.017, 0.3):
        both = expm(np.block([[-drift, push], [np.zeros((3, 3)), drift.T]]) * dt)
        a, q = transition(np.array(dt))
        np.testing.assert_allclose(a, both[3:, 3:].T, rtol=1e-12)
        np.testing.assert_allclose(q, both[3:, 3:].T @ both[:3, 3:], rtol=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_smoothing_is_dense_least_squares(seed) -> None:
    """All states of one path at once: the sum of squared prior, pushes and samples, each over its covariance."""
    rng = np.random.default_rng(seed)
    frames = 25
    times = np.cumsum(rng.uniform(0.005, 0.03, frames))
    values = rng.normal(0, 1, (frames, 1, 3)) + np.sin(5 * times)[:, None, None] * 3
    taken = rng.random((frames, 1)) > 0.3
    taken[0] = True
    start = np.zeros_like(taken)
    start[0] = True
    ratio = intensity(rng.uniform(0.5, 8.0, (frames, 1)))
    a, q = transition(steps_of(times))
    rows, right = [np.zeros((3, 3 * frames))], [np.zeros((3, 3))]
    rows[0][:, :3] = np.diag(1 / np.sqrt(np.diag(INITIAL_COVARIANCE)))
    right[0][0] = values[0, 0] / np.sqrt(INITIAL_COVARIANCE[0, 0])
    for k in range(1, frames):
        whitened = np.linalg.inv(np.linalg.cholesky(q[k] * ratio[k]))
        rows.append(np.zeros((3, 3 * frames)))
        rows[-1][:, 3 * k : 3 * k + 3], rows[-1][:, 3 * k - 3 : 3 * k] = whitened, -whitened @ a[k]
        right.append(np.zeros((3, 3)))
        if taken[k]:
            rows.append(np.eye(3 * frames)[3 * k : 3 * k + 1])
            right.append(values[k])
    stacked = np.concatenate(rows)
    size = np.linalg.norm(stacked, axis=0)
    dense = np.linalg.lstsq(stacked / size, np.concatenate(right), rcond=None)[0] / size[:, None]
    np.testing.assert_allclose(smooth_paths(times, values, taken, start, ratio)[:, 0], dense[::3], atol=1e-9)


def test_nothing_before_a_new_beginning_touches_what_comes_after() -> None:
    times = np.arange(60) / 100
    values = noisy(wander(times), 1e-3)
    start = np.zeros((60, 3), bool)
    start[[0, 30]] = True
    ratio = np.full((60, 3), intensity(np.array(4.0)))
    whole = smooth_paths(times, values, everywhere(values), start, ratio)
    for part in (slice(0, 30), slice(30, 60)):
        alone = smooth_paths(times[part], values[part], everywhere(values[part]), start[part], ratio[part])
        np.testing.assert_allclose(whole[part], alone, atol=1e-12)


# --- noise --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [60.0, 100.0, 240.0])
@pytest.mark.parametrize("sigma", [0.0002, 0.001, 0.003])
def test_noise_is_estimated_within_a_tenth(rate, sigma) -> None:
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.uniform(0.7, 1.3, 1500)) / rate
    values = noisy(wander(times, hertz=1.0), sigma)
    seen = rng.random(values.shape[:2]) > 0.05
    values[rng.random(values.shape[:2]) < 0.02] += 0.1
    found = np.sqrt(variances(times, values, seen, POSITION_SCALE))
    assert (np.abs(found / sigma - 1) < 0.15).all(), found / sigma


def test_noise_is_estimated_live_within_a_fifth_after_a_hundred_frames() -> None:
    times = np.arange(500) / 100
    values = noisy(wander(times, 10), 0.001)
    running, found = initial_noise(10, 3, POSITION_SCALE), []
    for frame, time in enumerate(times):
        running = update_noise(running, float(time), values[frame], POSITION_SCALE)
        found.append(np.sqrt(running.variance) / 0.001)
    assert np.abs(np.median(found[100:], axis=0) - 1).max() < 0.2


def test_samples_that_stand_still_say_nothing_of_the_noise() -> None:
    times = np.arange(300) / 100
    assert (
        variances(times, np.zeros((300, 2, 3)), np.ones((300, 2), bool), POSITION_SCALE) == POSITION_SCALE.noise**2
    ).all()


# --- what is left of noise, and of motion -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_smoothing_leaves_a_third_of_the_noise_and_no_jitter(seed) -> None:
    times = np.arange(1000) / 100
    truth = wander(times, 5, seed)
    values = noisy(truth, 0.001, seed + 50)
    done = smooth(times, values, everywhere(values), RULES)
    assert off(done.values, truth).mean() < 0.36 * off(values, truth).mean()
    shaken, smooth_ones = (off(np.diff(path, 2, axis=0), 0).mean() for path in (done.values, truth))
    assert shaken < 1.2 * smooth_ones


def test_live_with_a_frame_of_lag_leaves_less_than_without() -> None:
    times = np.arange(1000) / 100
    truth = wander(times, 5)
    values = noisy(truth, 0.001)
    rules = LIVE.rules
    with_lag = off(followed(times, values, everywhere(values), PathFilter(1, 0.0, rules)), truth[:-1]).mean()
    without = off(followed(times, values, everywhere(values), PathFilter(0, 0.0, rules)), truth).mean()
    assert with_lag < 0.8 * without < 0.8 * off(values, truth).mean()


@pytest.mark.parametrize("hertz", [0.5, 1.0, 2.0, 4.0])
def test_a_sinusoid_keeps_its_phase_and_size(hertz) -> None:
    times = np.arange(800) / 100
    values = np.zeros((800, 1, 3))
    values[:, 0, 0] = 0.03 * np.sin(2 * np.pi * hertz * times)
    done = smooth(times, noisy(values, 0.0005), everywhere(values), RULES).values[100:-100, 0, 0]
    wave = np.exp(-2j * np.pi * hertz * times[100:-100])
    gain = (done @ wave) / (values[100:-100, 0, 0] @ wave)
    assert abs(np.abs(gain) - 1) < 0.01
    assert abs(np.angle(gain)) / (2 * np.pi * hertz) < 0.0005


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
def test_a_tap_of_a_tenth_of_a_second_is_kept(rate) -> None:
    """3 cm and back within 0.1 s after a second of rest, up to 37 m/s²: offline to twice the noise, live to 3 mm."""
    times = np.arange(int(3 * rate)) / rate
    truth = np.zeros((len(times), 1, 3))
    truth[:, 0, 2] = 0.03 * np.exp(-(((times - 1.5) / 0.04) ** 2))
    values = noisy(truth, 0.0003)
    done = smooth(times, values, everywhere(values), RULES)
    assert not done.rejected.any()
    assert off(done.values, truth).max() < 0.0012
    assert off(followed(times, values, everywhere(values)), truth[:-1]).max() < 0.003


def test_a_place_given_live_is_at_most_the_noise_from_where_the_filters_see_it() -> None:
    """Calm is worth no more than the noise it takes away: without noise there is next to nothing to draw by."""
    times = np.arange(300) / 30
    truth = wander(times, hertz=3.0)
    values = noisy(truth, 0.00005)
    calmed = followed(times, values, everywhere(values))
    plain = followed(times, values, everywhere(values), PathFilter(1, 0.0, LIVE.rules))
    assert off(calmed, plain)[50:].max() < 0.002


# --- outliers -----------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.floats(0.012, 1.0), st.integers(1, 2))
@settings(max_examples=25, deadline=None)
def test_a_jump_of_one_or_two_frames_moves_nothing(seed, height, length) -> None:
    times = np.arange(120) / 100
    truth = wander(times, 2, seed % 1000)
    clean = noisy(truth, 0.0005, seed)
    jumped = clean.copy()
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=3)
    at = int(rng.integers(60, 110))
    jumped[at : at + length, 0] += direction / np.linalg.norm(direction) * height
    done = smooth(times, jumped, everywhere(jumped), RULES)
    assert done.rejected[at : at + length, 0].all()
    assert off(done.values, truth).max() < 0.004
    assert off(followed(times, jumped, everywhere(jumped)), truth[:-1])[40:].max() < 0.006


def test_two_markers_that_swap_for_a_frame_stay_where_they_were() -> None:
    times = np.arange(200) / 100
    truth = wander(times, 2) + np.array([[0, 0, 0], [0.02, 0.3, 0]])
    values = noisy(truth, 0.0005)
    values[100] = values[100, ::-1]
    assert off(smooth(times, values, everywhere(values), RULES).values, truth).max() < 0.003
    assert off(followed(times, values, everywhere(values)), truth[:-1])[30:].max() < 0.004


def test_a_marker_that_moved_for_good_is_followed_after_two_frames() -> None:
    times = np.arange(200) / 100
    truth = np.zeros((200, 1, 3))
    truth[100:] = 0.2
    values = noisy(truth, 0.0005)
    done = smooth(times, values, everywhere(values), RULES)
    assert off(done.values, truth).max() < 0.0025
    assert not done.rejected.any()
    live = followed(times, values, everywhere(values))
    assert off(live, truth[:-1])[102:].max() < 0.005


# --- gaps, pauses and the degenerate ------------------------------------------------------------------------------


def test_short_gaps_are_bridged_and_long_ones_are_not() -> None:
    times = np.arange(300) / 100
    truth = wander(times, 1)
    values = noisy(truth, 0.0003)
    seen = everywhere(values)
    seen[100:110] = seen[200:240] = seen[:5] = False
    values[~seen] = 9.0
    done = smooth(times, values, seen, RULES)
    assert done.known[100:110].all()
    assert not done.known[200:240].any()
    assert not done.known[:5].any()
    assert off(done.values, truth)[100:110].max() < 0.002
    np.testing.assert_array_equal(done.values[200:240], values[200:240])


def test_a_marker_lost_live_goes_on_ever_slower() -> None:
    times = np.arange(200) / 100
    values = np.zeros((200, 1, 3))
    values[:, 0, 0] = times
    seen = everywhere(values)
    seen[100:] = False
    path = followed(times, values, seen, PathFilter(0, 0.0, LIVE.rules))[:, 0, 0]
    steps = np.diff(path[99:130])
    assert (steps > 0).all()
    assert (np.diff(steps) < 0).all()
    assert path[-1] - path[99] < 0.06


@pytest.mark.parametrize("frames", [0, 1, 2, 6])
@pytest.mark.parametrize("seen", [True, False])
def test_takes_of_few_or_no_samples_are_finite(frames, seen) -> None:
    times = np.arange(frames) / 100
    values = np.ones((frames, 2, 3))
    here = np.full((frames, 2), seen)
    done = smooth(times, values, here, RULES)
    np.testing.assert_allclose(done.values, 1.0)
    assert (done.known == here).all()


def test_nothing_is_carried_over_a_pause() -> None:
    times = np.concatenate([np.arange(100) / 100, 5 + np.arange(100) / 100])
    truth = np.zeros((200, 1, 3))
    truth[:100, 0, 0] = times[:100]
    values = noisy(truth, 0.0002)
    assert off(smooth(times, values, everywhere(values), RULES).values, truth).max() < 0.0015


# --- turns --------------------------------------------------------------------------------------------------------


def spun(times, speed):
    """(F, 1, 4) turning about an axis that turns itself, rad/s."""
    axis = np.stack([np.cos(times), np.sin(times), 0.5 + 0 * times], -1)
    return rotations.from_axis_angle(axis / np.linalg.norm(axis, axis=-1, keepdims=True), speed * times)[:, None]


def angle(one, other):
    sine = np.linalg.norm(rotations.multiply(rotations.conjugate(one), other)[..., 1:], axis=-1)
    return 2 * np.arcsin(np.minimum(sine, 1))


@pytest.mark.parametrize("speed", [1.0, 5.0, 15.0])
def test_a_spinning_joint_is_smoothed_as_a_slow_one(speed) -> None:
    times = np.arange(600) / 100
    truth = spun(times, speed)
    turn = np.random.default_rng(0).normal(0, np.deg2rad(2), (600, 1, 3))
    values = rotations.multiply(truth, np.concatenate([np.ones((600, 1, 1)), turn / 2], -1))
    values = rotations.make_continuous(values / np.linalg.norm(values, axis=-1, keepdims=True))
    done = smooth(times, values, everywhere(values), NoiseRules(ROTATION_SCALE, 0.2)).values
    done = done / np.linalg.norm(done, axis=-1, keepdims=True)
    assert np.rad2deg(angle(done, truth).mean()) < 0.45 * np.rad2deg(angle(values, truth).mean())


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_turning_all_samples_turns_the_path_and_nothing_else(seed) -> None:
    rng = np.random.default_rng(seed)
    times = np.arange(80) / 100
    values = noisy(wander(times), 0.001)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    here = smooth(times, values, everywhere(values), RULES).values
    there = smooth(times, values @ turn.T + 2.0, everywhere(values), RULES).values
    assert np.abs(there - here @ turn.T - 2.0).max() < 1e-9
    live_here, live_there = (followed(times, path, everywhere(values)) for path in (values, values @ turn.T + 2.0))
    assert np.abs(live_there - live_here @ turn.T - 2.0).max() < 1e-8
