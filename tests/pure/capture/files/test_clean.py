"""Cleaning: laws, and scipy as the oracle of splines and filters."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle.capture import Markers
from knuckle.capture.cleaning import Cleaning, clean, fill_gaps, low_pass, remove_spikes, resample, runs
from knuckle.errors import CaptureError
from knuckle.tests.pure.capture.files.samples import Floats

GAP = np.nan


def markers_of(positions: Floats, rate: float = 100.0, times: Floats | None = None) -> Markers:
    """Markers A, B, ... of positions (F, M, 3) m."""
    frames, count = positions.shape[:2]
    stamps = np.arange(frames) / rate if times is None else times
    return Markers(tuple(chr(65 + index) for index in range(count)), stamps, positions.copy(), "test", rate, "m")


def walk(frames: int, count: int, seed: int = 0, step: float = 0.002) -> Floats:
    """(F, M, 3) m, a path that is smooth over about ten frames."""
    noise = np.random.default_rng(seed).normal(size=(frames + 20, count, 3))
    smooth = np.stack([np.convolve(noise[:, m, c], np.hanning(21), "valid") for m in range(count) for c in range(3)], 1)
    return np.cumsum(smooth[:frames].reshape(frames, count, 3) * step, axis=0)


def polynomial(times: Floats, degree: int, seed: int) -> Floats:
    """(F, 1, 3) m"""
    factors = np.random.default_rng(seed).uniform(-1, 1, (degree + 1, 1, 3))
    return sum(
        (factors[power] * times[:, None, None] ** power for power in range(degree + 1)), np.zeros((len(times), 1, 3))
    )


# --- gaps ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
@settings(max_examples=50, deadline=None)
def test_a_gap_in_a_cubic_is_filled_with_the_cubic(seed: int, degree: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.5, 1.5, 40)) * 0.01
    truth = polynomial(times, degree, seed)
    positions = truth.copy()
    start = int(rng.integers(4, 20))
    positions[start : start + int(rng.integers(1, 12))] = GAP
    filled = fill_gaps(markers_of(positions, times=times), 1.0)
    np.testing.assert_allclose(filled.positions, truth, atol=1e-9)


def test_a_gap_is_filled_as_scipy_fills_it() -> None:
    spline = pytest.importorskip("scipy.interpolate").CubicSpline
    positions = walk(200, 4)
    positions[50:60, 0] = positions[120:123, 0] = positions[80:81, 1] = positions[2:9, 2] = positions[190:199, 3] = GAP
    markers = markers_of(positions)
    filled = fill_gaps(markers, 0.2)
    for marker, start, stop in ((0, 50, 60), (0, 120, 123), (1, 80, 81), (2, 2, 9), (3, 190, 199)):
        knots = [*range(max(0, start - 3), start), *range(stop, min(200, stop + 3))]
        expected = spline(markers.times[knots], positions[knots, marker])(markers.times[start:stop])
        np.testing.assert_allclose(filled.positions[start:stop, marker], expected, atol=1e-9)


def test_what_was_measured_is_not_moved_and_what_was_filled_is_marked() -> None:
    positions = walk(300, 5, seed=2)
    lost = np.random.default_rng(0).random((300, 5)) < 0.2
    positions[lost] = GAP
    markers = markers_of(positions)
    before = markers.positions.copy()
    filled = fill_gaps(markers, 0.2)
    np.testing.assert_array_equal(markers.positions, before)
    np.testing.assert_array_equal(filled.positions[~lost], before[~lost])
    assert (filled.predicted == (filled.seen & lost)).all()


def test_long_gaps_and_both_ends_stay() -> None:
    positions = walk(100, 1)
    positions[:5] = positions[30:51] = positions[60:80] = positions[95:] = GAP
    filled = fill_gaps(markers_of(positions), 0.2)
    assert (~filled.seen[:, 0]).nonzero()[0].tolist() == [*range(5), *range(30, 51), *range(95, 100)]


def test_a_gap_between_single_positions_is_filled_by_a_line() -> None:
    positions = np.full((6, 1, 3), GAP)
    positions[1], positions[4] = 0.0, 0.3
    filled = fill_gaps(markers_of(positions), 1.0)
    np.testing.assert_allclose(filled.positions[1:5, 0, 0], [0, 0.1, 0.2, 0.3])


@pytest.mark.parametrize("frames", [1, 2])
def test_takes_too_short_to_clean_stay_as_they_are(frames: int) -> None:
    markers = markers_of(walk(frames, 2))
    cleaned = clean(markers, Cleaning(cutoff=6.0 if frames == 1 else None))
    np.testing.assert_allclose(cleaned.positions, markers.positions, atol=1e-12)


def test_markers_never_seen_stay_unseen() -> None:
    markers = markers_of(np.full((50, 2, 3), GAP))
    assert not clean(markers, Cleaning(cutoff=6.0)).seen.any()


# --- spikes -------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 5.0), st.integers(1, 2))
@settings(max_examples=200, deadline=None)
def test_spikes_of_one_or_two_frames_are_found_and_nothing_else(seed: int, height: float, length: int) -> None:
    rng = np.random.default_rng(seed)
    positions = walk(200, 3, seed=seed, step=0.0005)
    at = int(rng.integers(5, 190))
    direction = rng.normal(size=3)
    positions[at : at + length, 1] += direction / np.linalg.norm(direction) * height
    seen = remove_spikes(markers_of(positions)).seen
    assert (~seen).sum() == length
    assert not seen[at : at + length, 1].any()


@pytest.mark.parametrize("rate", [30.0, 60.0, 120.0])
@pytest.mark.parametrize("hertz", [0.5, 2.0, 5.0])
def test_fast_fingers_are_no_spikes(rate: float, hertz: float) -> None:
    """A fingertip that goes to and fro by 5 cm five times a second, noise of 0.3 mm."""
    times = np.arange(int(4 * rate)) / rate
    positions = np.zeros((len(times), 1, 3))
    positions[:, 0, 0] = 0.05 * np.sin(2 * np.pi * hertz * times + 0.3)
    positions += np.random.default_rng(1).normal(scale=0.0003, size=positions.shape)
    assert remove_spikes(markers_of(positions, rate)).seen.all()


def test_a_tap_of_a_tenth_of_a_second_is_no_spike() -> None:
    times = np.arange(90) / 30
    positions = np.zeros((90, 1, 3))
    positions[:, 0, 2] = 0.03 * np.exp(-(((times - 1.5) / 0.04) ** 2))
    assert remove_spikes(markers_of(positions, 30.0)).seen.all()


def test_a_step_is_no_spike() -> None:
    positions = np.zeros((100, 1, 3))
    positions[50:] = 0.2
    assert remove_spikes(markers_of(positions)).seen.all()


# --- low-pass -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cutoff", [1.0, 6.0, 20.0, 45.0])
def test_the_low_pass_is_scipys_filtfilt_over_each_stretch(cutoff: float) -> None:
    signal = pytest.importorskip("scipy.signal")
    b, a = signal.butter(2, cutoff, fs=100.0)
    positions = walk(400, 3, seed=4)
    positions[150:155, 0] = positions[160:162, 0] = positions[170, 0] = positions[:7, 1] = positions[390:, 2] = GAP
    markers = markers_of(positions)
    filtered = low_pass(markers, cutoff)
    assert (filtered.seen == markers.seen).all()
    for column, start, stop in zip(*runs(markers.seen), strict=True):
        stretch = positions[start:stop, column]
        padding = min(9, stop - start - 1)
        expected = signal.filtfilt(b, a, stretch, axis=0, padlen=padding) if stop - start > 1 else stretch
        np.testing.assert_allclose(filtered.positions[start:stop, column], expected, atol=1e-10)


def test_rest_passes_unchanged_and_slow_motion_nearly() -> None:
    rest = np.full((300, 2, 3), 0.7)
    np.testing.assert_allclose(low_pass(markers_of(rest), 5.0).positions, rest, atol=1e-12)
    line = np.linspace(0, 1, 300)[:, None, None] * np.ones((1, 2, 3))
    np.testing.assert_allclose(low_pass(markers_of(line), 5.0).positions[50:-50], line[50:-50], atol=1e-6)


def test_the_filter_has_no_phase() -> None:
    positions = walk(500, 1)
    forwards = low_pass(markers_of(positions), 5.0).positions
    backwards = low_pass(markers_of(positions[::-1]), 5.0).positions[::-1]
    np.testing.assert_allclose(forwards[100:-100], backwards[100:-100], atol=1e-6)


def test_a_cutoff_at_half_the_rate_changes_nothing_and_none_is_an_error() -> None:
    markers = markers_of(walk(50, 1))
    assert low_pass(markers, 50.0) is markers
    for cutoff in (0.0, -1.0, float("nan"), 1e-300):
        with pytest.raises(CaptureError, match="a cutoff of"):
            low_pass(markers, cutoff)


# --- rate ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [24.0, 60.0, 239.76])
def test_a_parabola_is_resampled_onto_itself(rate: float) -> None:
    times = np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, 200)) * 0.01
    markers = markers_of(polynomial(times, 2, 5), times=times)
    again = resample(markers, rate)
    inside = (again.times > times[1]) & (again.times < times[-2])
    np.testing.assert_allclose(again.positions[inside], polynomial(again.times, 2, 5)[inside], atol=1e-9)
    assert again.rate == rate
    np.testing.assert_allclose(again.times * rate, np.rint(again.times * rate), atol=1e-9)


def test_the_same_rate_gives_the_same_positions() -> None:
    positions = walk(100, 3)
    positions[40:50, 1] = GAP
    markers = markers_of(positions)
    again = resample(markers, 100.0)
    np.testing.assert_allclose(again.times, markers.times, atol=1e-12)
    np.testing.assert_array_equal(again.positions, markers.positions)


def test_nothing_is_made_up_inside_a_gap() -> None:
    positions = walk(100, 1)
    positions[40:50] = GAP
    again = resample(markers_of(positions), 240.0)
    gap = (again.times > 0.39 + 1e-9) & (again.times < 0.50 - 1e-9)
    assert not again.seen[gap].any()
    assert again.seen[~gap].all()


def test_nothing_is_made_up_where_the_recording_paused() -> None:
    times = np.concatenate([np.arange(50) * 0.01, 3.0 + np.arange(50) * 0.01])
    again = resample(markers_of(walk(100, 1), times=times), 50.0)
    pause = (again.times > 0.495) & (again.times < 2.995)
    assert not again.seen[pause].any()
    assert again.seen[~pause].all()


def test_predicted_marks_are_carried() -> None:
    positions = walk(100, 1)
    positions[40:45] = GAP
    again = resample(fill_gaps(markers_of(positions), 0.2), 200.0)
    marked = again.times[again.predicted[:, 0]]
    assert again.seen.all()
    assert marked.min() > 0.39
    assert marked.max() < 0.45
    assert (np.diff(marked) < 0.0051).all()


def test_a_rate_that_asks_for_any_memory_is_refused() -> None:
    markers = markers_of(walk(3, 1), times=np.array([0.0, 1.0, 1e9]))
    with pytest.raises(CaptureError, match="expected at most a hundred times"):
        resample(markers, 60.0)
    with pytest.raises(CaptureError, match="a rate of"):
        resample(markers, 0.0)


# --- all together -------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_a_rigid_move_before_cleaning_is_the_same_after_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positions = walk(120, 3, seed=seed)
    positions[rng.random((120, 3)) < 0.1] = GAP
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    moved = positions @ turn.T + rng.normal(size=3)
    chosen = Cleaning(spikes=False, cutoff=8.0)
    cleaned, moved_cleaned = clean(markers_of(positions), chosen), clean(markers_of(moved), chosen)
    shift = moved_cleaned.positions - cleaned.positions @ turn.T
    assert (cleaned.seen == moved_cleaned.seen).all()
    offsets = shift[cleaned.seen]
    assert np.abs(offsets - offsets[0]).max() < 1e-9


def test_predicted_positions_that_are_removed_are_no_longer_marked() -> None:
    positions = walk(50, 1)
    positions[25] += 1.0
    marked = np.zeros((50, 1), bool)
    marked[25] = True
    assert not remove_spikes(replace(markers_of(positions), predicted=marked)).predicted.any()
