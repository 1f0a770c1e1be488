"""How noisy samples are, told from the samples: what five in a row leave of a cubic.

A hand's motion is nearly a cubic over five frames, and where it is not, it is so for less than half of the time: the
median tells the noise.
"""

from dataclasses import dataclass
from math import hypot, prod
from operator import sub

import numpy as np

from .motion_model import LONGEST, Bools, Floats, MotionScale

WINDOW = 5
MEDIAN = 2.366
"""The median of the sum of three squares of unit normal numbers. A quaternion's noise has three directions too."""
FEWEST = 8
"""Windows below which nothing is said about the noise."""
STEP = 0.02
"""The least step of the logarithm of a variance that is followed: noise that changes is known again in seconds."""


def residuals(times: Floats, values: Floats) -> Floats:
    """(..., M, D) how far WINDOW samples (..., WINDOW, M, D) at times (..., WINDOW) s are from a cubic.

    The fourth divided difference, scaled so that white noise keeps its variance.
    """
    apart = times[..., :, None] - times[..., None, :] + np.eye(WINDOW)
    weights = 1 / np.prod(apart, axis=-1)
    weights /= np.sqrt((weights**2).sum(-1, keepdims=True))
    left: Floats = np.einsum("...w,...wmd->...md", weights, values)
    return left


def variances(times: Floats, values: Floats, seen: Bools, scale: MotionScale) -> Floats:
    """(M,) the variance of a component's noise, of samples (F, M, D) at times (F,) s, seen (F, M)."""
    found: Floats = np.full(values.shape[1], scale.noise**2)
    if len(times) >= WINDOW:
        at = np.arange(len(times) - WINDOW + 1)[:, None] + np.arange(WINDOW)
        at = at[np.max(np.diff(times[at]), axis=1) < LONGEST]
        squares = (residuals(times[at], np.where(seen[..., None], values, 0.0)[at]) ** 2).sum(-1)
        # Five samples that are alike were not measured five times.
        squares = np.where(np.all(seen[at], axis=1) & (squares > 0), squares, np.nan)
        told = np.isfinite(squares).sum(0) >= FEWEST
        found[told] = np.nanmedian(squares[:, told], axis=0) / MEDIAN
    floored: Floats = np.maximum(found, scale.floor**2)
    return floored


@dataclass(frozen=True, slots=True, eq=False)
class RunningNoise:
    """What is known of the noise of M paths of which more samples are to come."""

    variance: Floats
    """(M,)"""
    count: Floats
    """(M,) windows heard."""
    times: tuple[float, ...]
    """(WINDOW - 1,) s of the last frames; at most."""
    values: Floats
    """(WINDOW - 1, M, D) their samples, NaN where not seen; at most."""


def listening(paths: int, width: int, scale: MotionScale) -> RunningNoise:
    """Before the first sample."""
    return RunningNoise(np.full(paths, scale.noise**2), np.zeros(paths), (), np.zeros((0, paths, width)))


def heard(running: RunningNoise, time: float, sample: Floats, scale: MotionScale) -> RunningNoise:
    """After one more sample (M, D), NaN where not seen.

    The median by stochastic approximation (Robbins & Monro 1951), on the logarithm: a step up where the residual is
    above the median expected and down where below; outliers step as far as others.
    """
    times = (*running.times, time)
    values = np.concatenate([running.values, sample[None]])
    if len(times) < WINDOW:
        return RunningNoise(running.variance, running.count, times, values)
    variance, count = running.variance, running.count
    if times[-1] - times[0] < LONGEST and min(map(sub, times[1:], times)) > 0:
        weights = _weights(times)
        left = (weights @ values.reshape(WINDOW, -1)).reshape(sample.shape)
        squares = np.einsum("md,md->m", left, left)
        told = squares > 0
        count = count + told
        step = np.where(squares > MEDIAN * variance, 1.0, -1.0) * told * np.maximum(3 / (count + 1), STEP)
        variance = np.maximum(variance * np.exp(step), scale.floor**2)
    return RunningNoise(variance, count, times[1:], values[1:])


def _weights(times: tuple[float, ...]) -> Floats:
    """(WINDOW,) as in residuals; plain numbers are ten times as fast for so few."""
    raw = [1 / prod(one - other for other in times if other != one) for one in times]
    weights: Floats = np.array(raw) / hypot(*raw)
    return weights
