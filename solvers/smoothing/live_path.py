"""Filter paths frame by frame, at most one frame late."""

from dataclasses import dataclass
from math import isnan

import numpy as np

from .kalman_bank import FilterFrame, KalmanBank, advance, new_bank
from .motion_model import MAX_STEP, MIN_STEP, Bools, Floats, MotionScale, NoiseRules
from .noise_estimate import RunningNoise, initial_noise, update_noise


@dataclass(frozen=True, slots=True)
class PathFilter:
    """Settings of a live filter."""

    lag: int
    """0 or 1, frames of delay."""
    calm: float
    """Weight of the linear extrapolation of the output, relative to the filters' estimate."""
    rules: NoiseRules


@dataclass(frozen=True, slots=True, eq=False)
class PathHistory:
    """State of the filter on M paths of D components."""

    time: float
    """s of the last frame; NaN before the first."""
    bank: KalmanBank
    noise: RunningNoise
    outputs: Floats
    """(2, M, D) the last two output positions, the newer first."""
    output_times: tuple[float, float]
    """s, times of the two outputs."""


@dataclass(frozen=True, slots=True, eq=False)
class PathEstimate:
    """Filtered positions of M paths."""

    values: Floats
    """(M, D) the output, `lag` frames late."""
    current: Floats
    """(M, D) the filters' estimate for the newest frame."""
    unseen: Floats
    """(M,) s since the path was last seen, infinite if it never was."""
    rejected: Bools
    """(M,) whether the newest sample was rejected as an outlier."""


def initial_history(paths: int, width: int, scale: MotionScale) -> PathHistory:
    """Return the state before the first frame."""
    zeros = np.zeros((2, paths, width))
    return PathHistory(np.nan, new_bank(paths, width), initial_noise(paths, width, scale), zeros, (np.nan, np.nan))


def filter_frame(
    history: PathHistory, time: float, samples: Floats, seen: Bools, settings: PathFilter
) -> tuple[PathHistory, PathEstimate]:
    """Filter one frame: samples (M, D) at `time` s, finite where seen (M,)."""
    first = isnan(history.time)
    dt = np.array([MIN_STEP if first else min(max(time - history.time, MIN_STEP), MAX_STEP)])
    noise = update_noise(history.noise, time, np.where(seen[:, None], samples, np.nan), settings.rules.scale)
    filters, step = advance(history.bank, FilterFrame(dt, samples[None], seen[None], noise.variance), settings.rules)
    late = settings.lag > 0 and not first
    values, output_time = (step.previous[0], history.time) if late else (step.positions[0], time)
    values = _extrapolate(history, values, output_time, settings.calm, noise.variance)
    started = step.started[0, :, None]
    outputs = np.stack([values, history.outputs[0]])
    if started.any():
        # A path that restarts is not extrapolated from its previous output.
        outputs = np.where(started, step.positions[0], outputs)
    result = PathEstimate(values, step.positions[0], filters.unseen[0], seen & ~step.accepted[0])
    return PathHistory(time, filters, noise, outputs, (output_time, history.output_times[0])), result


def _extrapolate(history: PathHistory, values: Floats, time: float, calm: float, variance: Floats) -> Floats:
    """Blend values (M, D) with the linear extrapolation of the last two outputs, by at most the noise's deviation.

    The weights are 1 : calm. A causal filter with small errors jitters, as each sample adds a step: 8 times the second
    differences of the true path at 1 mm and 100 Hz. Extrapolation errs by acceleration · step² · calm, which is too
    much where it exceeds the noise.
    """
    newer, older = history.output_times
    if not calm or not newer > older or not time > newer:
        return values
    extrapolated = history.outputs[0] + (history.outputs[0] - history.outputs[1]) * ((time - newer) / (newer - older))
    correction = (extrapolated - values) * (calm / (1 + calm))
    squares = np.einsum("md,md->m", correction, correction)
    limited: Floats = values + correction * np.sqrt(np.minimum(1.0, variance / np.maximum(squares, 1e-30)))[:, None]
    return limited
