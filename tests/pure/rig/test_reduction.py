"""Fewer keys: the spline that is fitted, the frames that are chosen, and those that stay."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knuckle.hand.generators import run_to_end
from knuckle.rig.keys.reduction import fewest_keys as fewest_keys_module
from knuckle.rig.keys.reduction.fewest_keys import KeyProblem, fewest_keys, thinned
from knuckle.rig.keys.reduction.salient import contacts, extremes, turning_rows
from knuckle.rig.keys.reduction.spline import BENDING_WEIGHT, Spline, fit


def path(seed, frames=200, channels=3):
    """A smooth motion, (F, C)."""
    rng = np.random.default_rng(seed)
    at = np.arange(frames)[:, None]
    waves = (
        rng.normal() * np.sin(at * rng.uniform(0.01, 0.2, channels) + rng.uniform(0, 6, channels)) for _ in range(4)
    )
    return sum(waves)


def kept(frames, *rows):
    mask = np.zeros(frames, bool)
    mask[[0, -1, *rows]] = True
    return mask


def problem(samples, tolerance, *rows):
    def error(values):
        return np.abs(values - samples).max(axis=1) / tolerance

    return KeyProblem(np.arange(len(samples), dtype=float), samples, error, kept(len(samples), *rows))


def bezier(spline, frame):
    """A Bézier curve whose handles end a third of the way, by de Casteljau's construction and bisection in time."""
    right = int(np.clip(np.searchsorted(spline.frames, frame, side="right"), 1, len(spline.frames) - 1))
    (a, b), (va, vb) = spline.frames[right - 1 : right + 1], spline.values[right - 1 : right + 1]
    reach, (sa, sb) = (b - a) / 3, spline.slopes[right - 1 : right + 1]
    corners = [
        np.append(a, va),
        np.append(a + reach, va + reach * sa),
        np.append(b - reach, vb - reach * sb),
        np.append(b, vb),
    ]
    low, high = 0.0, 1.0
    for _ in range(60):
        part, points = (low + high) / 2, corners
        while len(points) > 1:
            points = [p + part * (q - p) for p, q in pairwise(points)]
        low, high = (part, high) if points[0][0] < frame else (low, part)
    return points[0][1:]


def test_a_spline_is_the_bezier_curve_with_handles_of_a_third():
    rng = np.random.default_rng(1)
    spline = Spline(np.array([0.0, 3, 10, 11]), rng.normal(size=(4, 2)), rng.normal(size=(4, 2)))
    for frame in (0.5, 3.0, 7.25, 10.5):
        np.testing.assert_allclose(spline.at(np.array([frame]))[0], bezier(spline, frame), atol=1e-9)


def test_a_fit_is_the_least_squares_solution():
    samples, keys, frames = path(2, 80), np.array([0, 7, 8, 30, 79]), np.arange(80.0)
    fitted = fit(frames, samples, np.ones(80), keys, np.zeros(80, bool)).at(frames)
    units = np.eye(2 * len(keys)).reshape(-1, len(keys), 2)
    design = np.stack([Spline(frames[keys], one[:, :1], one[:, 1:]).at(frames)[:, 0] for one in units], axis=1)
    best = design @ np.linalg.lstsq(design, samples, rcond=None)[0]
    assert np.abs(fitted - best).max() < 1e-4 * np.abs(samples).max()


def bending(spline):
    """The integral of the squared second derivative of a spline, by Simpson's rule, which is exact for cubics."""
    total = 0.0
    for start, end in pairwise(spline.frames):
        step = (end - start) / 4
        at = spline.at(start + step * np.arange(5))
        middle = np.diff(at, 2, axis=0) / step**2
        first, last = 2 * middle[0] - middle[1], 2 * middle[2] - middle[1]
        total += (end - start) / 6 * np.sum(first**2 + 4 * middle[1] ** 2 + last**2)
    return total


def test_a_fit_weighs_the_error_against_bending():
    frames, keys, weights = np.arange(12.0), np.array([0, 1, 5, 7, 11]), np.full(12, 1e-4)
    samples = np.random.default_rng(8).normal(size=(12, 1))

    def cost(spline):
        return np.sum(weights[:, None] * (spline.at(frames) - samples) ** 2) + BENDING_WEIGHT * bending(spline)

    best = fit(frames, samples, weights, keys, np.zeros(12, bool))
    units = np.eye(2 * len(keys)).reshape(-1, 2, len(keys), 1)
    for change in (*(0.01 * units), *(-0.01 * units)):
        assert cost(best) < cost(Spline(best.frames, best.values + change[0], best.slopes + change[1]))


@given(st.integers(0, 1000), st.sampled_from([0.3, 0.03, 1e-5]))
def test_every_frame_is_within_the_error_and_kept_frames_keep_their_samples(seed, tolerance):
    samples = path(seed, 120)
    keys = run_to_end(fewest_keys(problem(samples, tolerance, 50, 51)))
    values = keys.spline.at(np.arange(120.0))
    assert np.abs(values - samples).max() <= tolerance
    assert {0, 50, 51, 119} <= set(keys.rows.tolist())
    np.testing.assert_allclose(values[[0, 50, 51, 119]], samples[[0, 50, 51, 119]], atol=1e-4 * np.abs(samples).max())


def test_a_larger_error_takes_fewer_keys():
    counts = [len(run_to_end(fewest_keys(problem(path(3), tolerance))).rows) for tolerance in (1e-3, 1e-2, 1e-1)]
    assert counts[0] > counts[1] > counts[2]


def test_a_spline_is_found_again_with_hardly_more_keys_than_it_has():
    rng = np.random.default_rng(4)
    at = np.array([0.0, 25, 40, 80, 110, 150, 199])
    samples = Spline(at, rng.normal(size=(7, 4)), rng.normal(size=(7, 4)) / 20).at(np.arange(200.0))
    assert len(run_to_end(fewest_keys(problem(samples, 0.01))).rows) <= 10


def test_what_stands_still_has_two_keys():
    assert run_to_end(fewest_keys(problem(np.ones((100, 2)), 1e-3))).rows.tolist() == [0, 99]


def test_hardly_any_key_can_be_removed_from_the_fewest():
    problems = [problem(path(seed, 300), 1e-3) for seed in range(3)]
    found = [run_to_end(fewest_keys(each)) for each in problems]
    again = [run_to_end(thinned(each, keys)) for each, keys in zip(problems, found, strict=True)]
    assert sum(len(keys.rows) for keys in again) > 0.97 * sum(len(keys.rows) for keys in found)


@pytest.mark.parametrize("frames", [2, 3, 4])
def test_few_frames_are_kept(frames):
    rows = run_to_end(fewest_keys(problem(path(5, frames) * 100, 1e-9))).rows
    assert rows[0] == 0 and rows[-1] == frames - 1


def test_weights_that_follow_the_error_save_keys(monkeypatch):
    def count():
        return sum(len(run_to_end(fewest_keys(problem(path(seed, 300), 1e-3))).rows) for seed in range(5))

    weighted = count()
    monkeypatch.setattr(fewest_keys_module, "_fitted", fewest_keys_module._fitted_once)
    assert weighted < 0.98 * count()


def test_progress_advances_in_small_steps_to_its_end():
    fractions = [0.0]
    run_to_end(fewest_keys(problem(path(7, 400), 0.01)), lambda progress: fractions.append(progress.fraction))
    assert max(abs(after - before) for before, after in pairwise(fractions)) < 0.3
    assert min(fractions) == 0.0 and max(fractions) <= 1.0 and fractions[-1] > 0.9


def test_turns_are_found_at_their_extremes_and_noise_is_none():
    at = np.arange(400)
    signal = np.cos(at * np.pi / 50)
    assert turning_rows(signal, 0.5).tolist() == [50, 100, 150, 200, 250, 300, 350]
    noisy = signal + np.random.default_rng(6).uniform(-0.1, 0.1, 400)
    assert len(turning_rows(noisy, 0.5)) == 7
    assert turning_rows(0.1 * signal, 0.5).size == 0


def test_extremes_are_turns_along_the_main_direction_wherever_the_path_is():
    at = np.arange(400)
    along, across = np.cos(at * np.pi / 50), 0.1 * np.cos(at * np.pi / 7)
    directions = np.linalg.qr(np.random.default_rng(9).normal(size=(3, 3)))[0]
    centred = along[:, None] * directions[0] + across[:, None] * directions[1]
    for offset in (0.0, 5.0 * directions[1], -5.0 * directions[2]):
        assert extremes(centred + offset, 0.5).tolist() == [50, 100, 150, 200, 250, 300, 350]


def test_a_contact_keeps_its_begin_its_nearest_frame_and_its_end():
    tip = np.zeros((100, 3))
    tip[:, 0] = 0.01 + 0.002 * np.abs(np.arange(100) - 50)
    for thumb in (np.zeros(3), np.array([0.3, -0.2, 0.1])):
        touching, rows = contacts(np.tile(thumb, (100, 1)), thumb + tip)
        assert rows.tolist() == [46, 50, 54]
        assert np.flatnonzero(touching).tolist() == list(range(46, 55))
