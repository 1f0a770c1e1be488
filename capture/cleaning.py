"""Cleaning of recorded markers: filling gaps, removing spikes, low-pass filtering and resampling.

Each step takes Markers and returns new ones, with positions changed only where the step requires it.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import CaptureError
from ..hand import rotations as rot
from ..hand.finite_points import finite_points
from ..hand.lengths import lengths
from . import butterworth
from .cubic_spline import hermite, knot_slopes
from .markers import Bools, Floats, Markers
from .shared_motion import path_in_hand

SPLINE_NEIGHBOURS = 3
"""Number of positions on each side of a gap through which its spline passes."""
WINDOW = 7
"""Number of consecutive positions to which a line is fitted to test the one in the middle."""
SUSPECTS_AT_ONCE = 5000
"""Number of positions that are tested in a batch; each takes some 3 kB."""
MAD_TO_SIGMA = 1.4826
"""Standard deviation of normal noise divided by its median absolute deviation."""
MIN_CUTOFF = 1e-4
"""Lowest cutoff of the low-pass filter, as a fraction of the frame rate."""
BREAK_FACTOR = 5.0
"""Ratio of a time step to the median step above which it is a break in the recording, across which nothing is filtered
or resampled."""

Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Cleaning:
    """Settings for the cleaning of a capture."""

    gap_limit: float = 0.2
    """Gaps up to this length, in seconds, are filled; 0 fills none."""
    fragments: bool = True
    """Drop positions of one to three frames between gaps that do not fit the rest of the marker's path."""
    spikes: bool = True
    """Remove positions that leave the marker's path for one or two frames."""
    cutoff: float | None = None
    """Cutoff frequency of the low-pass filter in Hz; null for none."""

    def __post_init__(self) -> None:
        if not 0 <= self.gap_limit < np.inf:
            raise CaptureError(f"gap_limit is {self.gap_limit}, expected seconds, 0 or more")
        if self.cutoff is not None and not 0 < self.cutoff < np.inf:
            raise CaptureError(f"cutoff is {self.cutoff}, expected Hz above 0")


def clean(markers: Markers, settings: Cleaning) -> Markers:
    """Remove spikes, fill gaps and filter noise, in this order: each step depends on the previous one."""
    if settings.spikes:
        markers = remove_spikes(markers)
    if settings.gap_limit > 0:
        markers = fill_gaps(markers, settings.gap_limit)
    if settings.cutoff is not None:
        markers = low_pass(markers, settings.cutoff)
    return markers


def runs(mask: Bools) -> tuple[Ints, Ints, Ints]:
    """Return the column (R,), start row (R,) and stop row (R,), exclusive, of each run of True in a mask (F, M)."""
    edges = np.zeros((mask.shape[1], mask.shape[0] + 2), np.int8)
    edges[:, 1:-1] = mask.T
    change = np.diff(edges, axis=1)
    columns, starts = np.nonzero(change == 1)
    return columns, starts, np.nonzero(change == -1)[1]


def fill_gaps(markers: Markers, limit_s: float) -> Markers:
    """Fill gaps of up to limit_s seconds by a cubic spline through the positions around them.

    The new positions are marked as predicted. Longer gaps remain, and so do those before a marker is first seen and
    after it is last seen.
    """
    seen, times = markers.seen, markers.times
    column, start, stop = runs(~seen)
    is_enclosed = (start > 0) & (stop < len(times))
    column, start, stop = column[is_enclosed], start[is_enclosed], stop[is_enclosed]
    is_short = times[stop] - times[start] <= limit_s * (1 + 1e-9)
    column, start, stop = column[is_short], start[is_short], stop[is_short]
    if not len(column):
        return markers
    positions, predicted = markers.positions.copy(), markers.predicted.copy()
    left_slopes, right_slopes = _slopes_around(markers, column, start)
    gap = np.repeat(np.arange(len(column)), stop - start)
    frame = np.arange(len(gap)) - np.repeat(np.cumsum(stop - start) - (stop - start), stop - start) + start[gap]
    ends = (times[start - 1], times[stop])
    step = (ends[1] - ends[0])[gap]
    fraction = (times[frame] - ends[0][gap]) / step
    values = (positions[start - 1, column][gap], positions[stop, column][gap])
    positions[frame, column[gap]] = hermite(fraction, step, values, (left_slopes[gap], right_slopes[gap]))
    predicted[frame, column[gap]] = True
    return replace(markers, positions=positions, predicted=predicted)


def _slopes_around(markers: Markers, column: Ints, start: Ints) -> tuple[Floats, Floats]:
    """Return the slopes (G, 3) m/s of each gap's spline at the last position before it, and at the first after it."""
    owner, frames = np.nonzero(markers.seen.T)
    first = np.searchsorted(owner, column, "left")
    last = np.searchsorted(owner, column, "right")
    # Index into `frames` of the first position after the gap.
    next_index = first + np.cumsum(markers.seen, axis=0)[start - 1, column]
    knots_before, knots_after = (
        np.minimum(SPLINE_NEIGHBOURS, next_index - first),
        np.minimum(SPLINE_NEIGHBOURS, last - next_index),
    )
    left_slopes, right_slopes = np.zeros((len(column), 3)), np.zeros((len(column), 3))
    for left_knots in range(1, SPLINE_NEIGHBOURS + 1):
        for right_knots in range(1, SPLINE_NEIGHBOURS + 1):
            group = np.flatnonzero((knots_before == left_knots) & (knots_after == right_knots))
            if len(group):
                knots = frames[next_index[group, None] + np.arange(-left_knots, right_knots)]
                slopes = knot_slopes(markers.times[knots], markers.positions[knots, column[group, None]])
                left_slopes[group], right_slopes[group] = slopes[:, left_knots - 1], slopes[:, left_knots]
    return left_slopes, right_slopes


def remove_spikes(
    markers: Markers, deviation: float = 0.005, acceleration: float = 50.0, factor: float = 3.0
) -> Markers:
    """Turn positions that leave the marker's path for one or two frames into gaps.

    A spike fulfils three conditions. It is farther from the median of the five positions around it than `deviation` m,
    and farther than a fingertip could move away and back between the frames at `acceleration` m/s². Its distance from a
    line fitted to the seven positions around it exceeds `factor` times the typical one (Hampel's test on the
    residuals), which keeps fast motion. And nearby markers do not share its motion, as they do if a hand flips over in
    one frame (`shared_motion.py`). Predicted positions are tested, too.
    """
    seen, paths = np.ascontiguousarray(markers.seen.T), np.ascontiguousarray(markers.positions.transpose(1, 0, 2))
    spikes, suspects = np.zeros(markers.seen.shape, bool), list[_Suspects]()
    for column in range(len(markers.names)):
        frames = np.flatnonzero(seen[column])
        if len(frames) < WINDOW:
            continue
        path, times = paths[column].take(frames, axis=0), markers.times[frames]
        bound = _bounds(times, deviation, acceleration)
        padded = np.concatenate([path[2:0:-1], path, path[-2:-4:-1]])
        window = [padded[offset : offset + len(path)] for offset in range(5)]
        candidates = np.flatnonzero(lengths(path - _median_of_five(window)) > bound)
        if len(candidates):
            windows = _Windows.around(path, times, candidates)
            suspects.append(_Suspects(column, frames, candidates, bound[candidates], path[candidates], windows))
    for suspect, is_outlier in zip(suspects, _line_outliers(suspects, factor), strict=True):
        outliers = zip(suspect.indices[is_outlier].tolist(), suspect.bounds[is_outlier].tolist(), strict=True)
        indices = [
            index for index, bound in outliers if _leaves_hand(markers, suspect.column, suspect.frames, index, bound)
        ]
        spikes[suspect.frames[indices], suspect.column] = True
    positions = np.where(spikes[..., None], np.nan, markers.positions)
    return replace(markers, positions=positions, predicted=markers.predicted & ~spikes)


@dataclass(frozen=True, slots=True, eq=False)
class _Windows:
    """For each of D positions, the WINDOW positions around it."""

    positions: Floats
    """(D, 7, 3) m"""
    times: Floats
    """(D, 7) s, relative to the position in the middle."""

    @classmethod
    def around(cls, path: Floats, times: Floats, indices: Ints) -> "_Windows":
        """Return the windows around positions of a path; near its ends they are its first or last WINDOW positions."""
        rows = np.clip(indices - WINDOW // 2, 0, len(path) - WINDOW)[:, None] + np.arange(WINDOW)
        return cls(path[rows], times[rows] - times[indices, None])


@dataclass(frozen=True, slots=True, eq=False)
class _Suspects:
    """D positions of a marker that are far from the median of the positions around them."""

    column: int
    frames: Ints
    """(N,) frames in which the marker is seen."""
    indices: Ints
    """(D,) indices into `frames`."""
    bounds: Floats
    """(D,) m, see _bounds."""
    positions: Floats
    """(D, 3) m"""
    windows: _Windows


def _line_outliers(suspects: list[_Suspects], factor: float) -> list[Bools]:
    """Return, for each marker, whether its suspects are also far from the line fitted to their windows.

    They are tested in batches over all markers, since most markers have only a few.
    """
    if not suspects:
        return []
    windows = _Windows(
        np.concatenate([suspect.windows.positions for suspect in suspects]),
        np.concatenate([suspect.windows.times for suspect in suspects]),
    )
    positions, bounds = (
        np.concatenate([getattr(suspect, name) for suspect in suspects]) for name in ("positions", "bounds")
    )
    is_outlier = np.zeros(len(bounds), bool)
    for start in range(0, len(bounds), SUSPECTS_AT_ONCE):
        rows = slice(start, start + SUSPECTS_AT_ONCE)
        expected, scale = _expected_positions(_Windows(windows.positions[rows], windows.times[rows]))
        is_outlier[rows] = lengths(positions[rows] - expected) > np.maximum(bounds[rows], factor * scale)
    return np.split(is_outlier, np.cumsum([len(suspect.indices) for suspect in suspects])[:-1])


def _bounds(times: Floats, deviation: float, acceleration: float) -> Floats:
    """Return the maximum distance (N,) m of correct positions from the median of their neighbours. times: (N,) s."""
    interval = np.concatenate([[times[1] - times[0]], (times[2:] - times[:-2]) / 2, [times[-1] - times[-2]]])
    bounds: Floats = np.maximum(deviation, acceleration / 2 * np.minimum(interval, 10.0) ** 2)
    return bounds


def _leaves_hand(markers: Markers, column: int, frames: Ints, index: int, bound: float) -> bool:
    """Return whether a position is farther than `bound` m from the marker's path relative to its hand.

    It is true if that path is unknown. frames: those in which the marker is seen. index: of the position in `frames`.
    """
    first = min(max(index - WINDOW // 2, 0), len(frames) - WINDOW)
    rows, row = frames[first : first + WINDOW], index - first
    path = path_in_hand(markers.positions[rows], column, row)
    if path is None:
        return True
    expected, _ = _expected_positions(_Windows.around(path, markers.times[rows], np.array([row])))
    return bool(np.linalg.norm(path[row] - expected[0]) > bound)


def _expected_positions(windows: _Windows) -> tuple[Floats, Floats]:
    """Return the positions (D, 3) m expected from lines fitted to the windows, and the scales (D,) m of the residuals.

    The line is Siegel's repeated-median regression, which up to three outliers of seven do not affect. The scale is a
    standard deviation, estimated from the median.
    """
    window, times = windows.positions, windows.times
    others = np.array([[second for second in range(WINDOW) if second != first] for first in range(WINDOW)])
    steps = times[:, others] - times[:, :, None]
    slopes = (window[:, others] - window[:, :, None]) / steps[..., None]
    slope = np.median(np.median(slopes, axis=2), axis=1)
    detrended = window - slope[:, None] * times[..., None]
    expected = np.median(detrended, axis=1)
    residuals = np.linalg.norm(detrended - expected[:, None], axis=2)
    return expected, MAD_TO_SIGMA * np.median(residuals, axis=1)


def _median_of_five(values: list[Floats]) -> Floats:
    """Return the elementwise median of five arrays, by comparisons: ten times as fast as sorting."""
    a, b, c, d, e = values
    # Neither the minimum nor the maximum of the first four can be the median of all five.
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    median: Floats = np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), e))
    return median


def _median_step(times: Floats) -> float:
    return float(np.median(np.diff(times))) if len(times) > 1 else 1.0


def low_pass(markers: Markers, cutoff_hz: float) -> Markers:
    """Filter each unbroken stretch forwards and backwards with a second-order Butterworth low-pass.

    The two passes together attenuate by 6 dB at the cutoff. Frames are assumed to be evenly spaced. A cutoff at half
    the rate or above changes nothing. Raises CaptureError for a cutoff of 10^-4 of the rate or below.
    """
    step = _median_step(markers.times)
    if not cutoff_hz * step > MIN_CUTOFF:
        raise CaptureError(
            f"{markers.source}: a cutoff of {cutoff_hz:g} Hz, expected more than {MIN_CUTOFF / step:g} Hz"
        )
    if cutoff_hz * step >= 0.5 or len(markers.times) < 2:
        return markers
    b, a = butterworth.coefficients(cutoff_hz, 1 / step)
    positions = markers.positions.copy()
    breaks = np.flatnonzero(np.diff(markers.times) > BREAK_FACTOR * step) + 1
    parts = zip(np.concatenate([[0], breaks]), np.concatenate([breaks, [len(positions)]]), strict=True)
    for first, end in parts:
        column, start, stop = runs(markers.seen[first:end])
        length = stop - start
        # Runs of similar length are filtered together; if too short for the full padding, only runs of equal length.
        length_class = np.where(length > butterworth.PADDING, -np.ceil(np.log2(length)), length)
        for size in np.unique(length_class[length >= 2]):
            group = np.flatnonzero(length_class == size)
            longest = int(length[group].max())
            row = np.arange(longest)[:, None]
            frames = first + start[group] + np.minimum(row, length[group] - 1)
            lengths = np.repeat(length[group], 3)
            stretches = positions[frames, column[group]].reshape(longest, -1)
            filtered = butterworth.filtfilt(stretches, lengths, b, a).reshape(longest, len(group), 3)
            is_real = row < length[group]
            positions[frames[is_real], np.broadcast_to(column[group], is_real.shape)[is_real]] = filtered[is_real]
    return replace(markers, positions=positions)


def resample(markers: Markers, rate_hz: float) -> Markers:
    """Resample the markers at whole multiples of 1/rate_hz s: keys are then on whole frames of a scene.

    Positions are interpolated by cubics, rotations by slerp. Gaps remain gaps, and a sample next to a predicted
    position is predicted. Raises CaptureError for a rate that is not above 0, or that requires more than a hundred
    times the recorded frames.
    """
    times = markers.times
    if not 0 < rate_hz < np.inf:
        raise CaptureError(f"{markers.source}: a rate of {rate_hz:g} Hz, expected more than 0")
    if len(times) < 2:
        return markers
    first, last = _first_and_last_sample(times, rate_hz)
    if last - first > 100 * len(times) + 100_000:
        raise CaptureError(
            f"{markers.source}: {markers.duration:g} s at {rate_hz:g} Hz are {last - first:.0f} frames, "
            f"expected at most a hundred times the {len(times)} recorded ones"
        )
    if last < first:
        return replace(markers.select(slice(0, 1)), rate=rate_hz)
    grid = np.arange(first, last + 1) / rate_hz
    frame = np.clip(np.searchsorted(times, grid, "right") - 1, 0, len(times) - 2)
    step = (times[frame + 1] - times[frame])[:, None]
    fraction = np.clip((grid - times[frame])[:, None] / step, 0.0, 1.0)
    fraction = np.where(np.abs(fraction - np.rint(fraction)) < 1e-6, np.rint(fraction), fraction)
    positions, slopes = markers.positions, _slopes(markers)
    resampled = hermite(
        fraction,
        step,
        (positions[frame], positions[frame + 1]),
        (slopes[frame], slopes[frame + 1]),
    )
    resampled = np.where((fraction == 0)[..., None], positions[frame], resampled)
    resampled = np.where((fraction == 1)[..., None], positions[frame + 1], resampled)
    across_break = (step > max(BREAK_FACTOR * _median_step(times), 0.2)) & (fraction > 0) & (fraction < 1)
    resampled[across_break[:, 0]] = np.nan
    predicted = (markers.predicted[frame] & (fraction < 1)) | (markers.predicted[frame + 1] & (fraction > 0))
    predicted &= finite_points(resampled)
    rotations = None
    if markers.rotations is not None:
        rotations = rot.slerp(markers.rotations[frame], markers.rotations[frame + 1], fraction[..., None])
        rotations = np.where((fraction == 0)[..., None], markers.rotations[frame], rotations)
        rotations = np.where((fraction == 1)[..., None], markers.rotations[frame + 1], rotations)
        rotations[across_break[:, 0]] = np.nan
    return replace(markers, times=grid, positions=resampled, predicted=predicted, rotations=rotations, rate=rate_hz)


def resampled_count(times: Floats, rate_hz: float) -> int:
    """Return the number of whole multiples of 1/rate_hz s between the first and the last of times (F,) s."""
    first, last = _first_and_last_sample(times, rate_hz)
    return int(last - first) + 1


def _first_and_last_sample(times: Floats, rate_hz: float) -> tuple[float, float]:
    """Return the first and last whole multiple of 1/rate_hz s within the times, allowing for rounding errors."""
    return float(np.ceil(times[0] * rate_hz - 1e-6)), float(np.floor(times[-1] * rate_hz + 1e-6))


def _slopes(markers: Markers) -> Floats:
    """Return the slopes (F, M, 3) m/s of the parabolas through each position and its neighbours; next to a gap, of the
    chord to the only neighbour."""
    steps = np.diff(markers.times)[:, None, None]
    chords = np.diff(markers.positions, axis=0) / steps
    padding = np.full_like(chords[:1], np.nan)
    left_chords, right_chords = np.concatenate([padding, chords]), np.concatenate([chords, padding])
    h = np.concatenate([steps[:1], steps])
    k = np.concatenate([steps, steps[-1:]])
    slopes = (k * left_chords + h * right_chords) / (h + k)
    slopes = np.where(np.isnan(slopes), left_chords, slopes)
    slopes = np.where(np.isnan(slopes), right_chords, slopes)
    return np.where(np.isnan(slopes), 0.0, slopes)
