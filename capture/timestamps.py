"""Times of a recording's frames, from its timestamps and its nominal rate."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import CaptureError
from .markers import Floats

MAX_TIME_S = 1e11
"""s, maximum of a timestamp; a larger one is a damaged number."""
MAX_RATE_HZ = 5e3
"""Hz, maximum rate, nominal or measured; a higher one comes from damaged numbers. Motion capture reaches 2000 Hz."""
MAX_STEP_S = 3600.0
"""s, maximum step between two frames; a longer one is a jump of the clock."""
DEFAULT_RATE_HZ = 60.0
"""Hz, assumed for several frames without times and without a rate."""


@dataclass(frozen=True, slots=True, eq=False)
class Timestamps:
    """The frames that have a valid time, and their times."""

    frames: NDArray[np.intp]
    """(K,) indices of the frames that have a valid time, in order."""
    times: Floats
    """(K,) in s, strictly increasing."""
    rate: float
    """Hz."""
    warnings: tuple[str, ...]


def clean_timestamps(times: Floats | None, rate: float | None, frames: int, source: str) -> Timestamps:
    """Return strictly increasing times, and the rate measured from them.

    Frames without a valid time are dropped, and as few others as necessary for the times to increase.

    Args:
        times: (F,) in s, or None.
        rate: nominal rate in Hz, or None.
        frames: F.
        source: name of the capture, for messages.

    Raises:
        CaptureError: no frame has a time, and there is no rate.
    """
    if rate is not None and not 0 < rate <= MAX_RATE_HZ:
        rate = None
    if times is None:
        return _from_rate(rate, frames)
    valid = np.isfinite(times) & (np.abs(np.where(np.isfinite(times), times, 0.0)) < MAX_TIME_S)
    if not valid.any():
        if rate is None:
            raise CaptureError(f"{source}: none of the {frames} frames has a time, expected seconds")
        return _from_rate(rate, frames, ("no frame has a time: the nominal rate is used",))
    frame_indices = np.flatnonzero(valid)
    frame_indices = frame_indices[_longest_increasing(times[frame_indices])]
    warnings = _dropped_frames_warning(frames, frame_indices, times)
    increasing = times[frame_indices]
    if len(frame_indices) == 1:
        return Timestamps(frame_indices, increasing, rate or 1.0, warnings)
    increasing, jump_warnings = _remove_jumps(_snap_to_grid(increasing, rate), rate)
    measured = _measured_rate(increasing)
    if measured > MAX_RATE_HZ:
        regular = _from_rate(rate, len(increasing))
        note = f"the frames' times are {1 / measured:g} s apart, which no device reaches: taken as {regular.rate:g} Hz"
        return Timestamps(frame_indices, regular.times, regular.rate, (*warnings, note))
    return Timestamps(frame_indices, increasing, measured, warnings + jump_warnings)


def _from_rate(rate: float | None, frames: int, warnings: tuple[str, ...] = ()) -> Timestamps:
    if rate is None and frames > 1:
        note = f"neither times nor a frame rate in the file: taken as {DEFAULT_RATE_HZ:g} Hz"
        warnings += (f"{note}, give the rate if it is another",)
        rate = DEFAULT_RATE_HZ
    rate = rate or 1.0
    return Timestamps(np.arange(frames), np.arange(frames) / rate, rate, warnings)


def _longest_increasing(values: Floats) -> NDArray[np.intp]:
    """Return the indices (K,) of the longest strictly increasing subsequence: an outlier costs a single frame."""
    if (np.diff(values) > 0).all():
        return np.arange(len(values))
    tails: list[float] = []
    ends: list[int] = []
    predecessors = [-1] * len(values)
    for index, value in enumerate(values.tolist()):
        length = bisect_left(tails, value)
        predecessors[index] = ends[length - 1] if length else -1
        tails[length : length + 1] = [value]
        ends[length : length + 1] = [index]
    chain = [ends[-1]]
    while predecessors[chain[-1]] >= 0:
        chain.append(predecessors[chain[-1]])
    return np.array(chain[::-1], np.intp)


def _dropped_frames_warning(frames: int, frame_indices: NDArray[np.intp], times: Floats) -> tuple[str, ...]:
    if len(frame_indices) == frames:
        return ()
    first = int(np.setdiff1d(np.arange(frames), frame_indices)[0])
    return (
        f"{frames - len(frame_indices)} of {frames} frames were dropped: their time is missing or not after the one "
        f"before (the first is frame {first + 1}, at {times[first]:g} s)",
    )


def _snap_to_grid(times: Floats, rate: float | None) -> Floats:
    """Snap times to the grid of the nominal rate if they are that grid rounded to 2 to 6 decimals.

    A 60 Hz file written with three decimals has steps of 16 and 17 ms, which a filter would mistake for motion.
    """
    if rate is None:
        return times
    for quantum in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        if np.abs(times / quantum - np.rint(times / quantum)).max() > 1e-3:
            continue
        elapsed = times - times[0]
        steps = np.rint(elapsed * rate)
        if 2 * quantum * rate < 1 and (np.diff(steps) > 0).all() and np.abs(elapsed - steps / rate).max() <= quantum:
            grid: Floats = times[0] + steps / rate
            return grid
        return times
    return times


def _remove_jumps(times: Floats, rate: float | None) -> tuple[Floats, tuple[str, ...]]:
    """Replace each step of more than MAX_STEP_S by the median step. Return the times, and a warning about jumps."""
    steps = np.diff(times)
    jumps = np.flatnonzero(steps > MAX_STEP_S)
    if not len(jumps):
        return times, ()
    regular_steps = np.delete(steps, jumps)
    usual_step = float(np.median(regular_steps)) if len(regular_steps) else 1.0 / (rate or DEFAULT_RATE_HZ)
    first = int(jumps[0])
    note = (
        f"the clock jumps {len(jumps)} times, first by {steps[first]:g} s after {times[first] - times[0]:g} s: "
        f"the next frame is taken as {usual_step:g} s later"
    )
    steps[jumps] = usual_step
    return times[0] + np.concatenate([[0.0], np.cumsum(steps)]), (note,)


def _measured_rate(times: Floats) -> float:
    """Return the frames per second, measured over the steps between consecutive frames, without lost frames."""
    steps = np.diff(times)
    usual_step = float(np.median(steps))
    regular_steps = steps[steps < 1.5 * usual_step]
    rate = float(len(regular_steps) / regular_steps.sum())
    return float(round(rate, 6)) if rate > 1e-3 else rate
