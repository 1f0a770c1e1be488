"""Estimate the noise of samples from their residuals to a cubic over five frames.

A hand's motion is close to a cubic over five frames for more than half of the time, so the median of the residuals
measures the noise.
"""

from dataclasses import dataclass
from math import hypot, prod
from operator import sub

import numpy as np

from .motion_model import MAX_STEP, Bools, Floats, MotionScale

WINDOW = 5
CHI_SQUARED_MEDIAN = 2.366
"""Median of the χ² distribution with three degrees of freedom, for noise of positions and of quaternions."""
MIN_WINDOWS = 8
"""Minimum number of windows for an estimate."""
MIN_LOG_STEP = 0.02
"""Minimum step of a running log-variance, so that it follows changes of the noise within seconds."""


def residuals(times: Floats, values: Floats) -> Floats:
    """Return the residual (..., M, D) of WINDOW samples (..., WINDOW, M, D) at times (..., WINDOW) s to a cubic.

    This is the fourth divided difference, scaled so that white noise keeps its variance.
    """
    differences = times[..., :, None] - times[..., None, :] + np.eye(WINDOW)
    weights = 1 / np.prod(differences, axis=-1)
    weights /= np.sqrt((weights**2).sum(-1, keepdims=True))
    residual: Floats = np.einsum("...w,...wmd->...md", weights, values)
    return residual


def variances(times: Floats, values: Floats, seen: Bools, scale: MotionScale) -> Floats:
    """Estimate the variance (M,) of a component's noise from samples (F, M, D) at times (F,) s, seen (F, M)."""
    variance: Floats = np.full(values.shape[1], scale.noise**2)
    if len(times) >= WINDOW:
        window_rows = np.arange(len(times) - WINDOW + 1)[:, None] + np.arange(WINDOW)
        window_rows = window_rows[np.max(np.diff(times[window_rows]), axis=1) < MAX_STEP]
        squares = (residuals(times[window_rows], np.where(seen[..., None], values, 0.0)[window_rows]) ** 2).sum(-1)
        # Five equal samples are repeated values, not measurements.
        squares = np.where(np.all(seen[window_rows], axis=1) & (squares > 0), squares, np.nan)
        usable = np.isfinite(squares).sum(0) >= MIN_WINDOWS
        variance[usable] = np.nanmedian(squares[:, usable], axis=0) / CHI_SQUARED_MEDIAN
    floored: Floats = np.maximum(variance, scale.floor**2)
    return floored


@dataclass(frozen=True, slots=True, eq=False)
class RunningNoise:
    """State of the running noise estimate of M paths."""

    variance: Floats
    """(M,)"""
    count: Floats
    """(M,) windows used."""
    times: tuple[float, ...]
    """s, times of the last frames, at most WINDOW - 1."""
    values: Floats
    """(at most WINDOW - 1, M, D) samples of these frames, NaN where not seen."""


def initial_noise(paths: int, width: int, scale: MotionScale) -> RunningNoise:
    """Return the state before the first sample."""
    return RunningNoise(np.full(paths, scale.noise**2), np.zeros(paths), (), np.zeros((0, paths, width)))


def update_noise(running: RunningNoise, time: float, sample: Floats, scale: MotionScale) -> RunningNoise:
    """Update the estimate by one sample (M, D), NaN where not seen.

    Stochastic approximation of the median (Robbins & Monro 1951) of the log-variance: a step up if the squared residual
    is above the expected median, else a step down. Outliers cause no larger steps.
    """
    times = (*running.times, time)
    values = np.concatenate([running.values, sample[None]])
    if len(times) < WINDOW:
        return RunningNoise(running.variance, running.count, times, values)
    variance, count = running.variance, running.count
    if times[-1] - times[0] < MAX_STEP and min(map(sub, times[1:], times)) > 0:
        weights = _weights(times)
        residual = (weights @ values.reshape(WINDOW, -1)).reshape(sample.shape)
        squares = np.einsum("md,md->m", residual, residual)
        usable = squares > 0
        count = count + usable
        step = (
            np.where(squares > CHI_SQUARED_MEDIAN * variance, 1.0, -1.0)
            * usable
            * np.maximum(3 / (count + 1), MIN_LOG_STEP)
        )
        variance = np.maximum(variance * np.exp(step), scale.floor**2)
    return RunningNoise(variance, count, times[1:], values[1:])


def _weights(times: tuple[float, ...]) -> Floats:
    """Return the weights (WINDOW,) of `residuals`; Python floats are ten times as fast as arrays for so few numbers."""
    raw = [1 / prod(time - other_time for other_time in times if other_time != time) for time in times]
    weights: Floats = np.array(raw) / hypot(*raw)
    return weights
