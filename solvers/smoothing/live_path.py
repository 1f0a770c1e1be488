"""Paths that are still going on: one frame at a time, at most one frame late. What is known is passed, not kept."""

from dataclasses import dataclass
from math import isnan

import numpy as np

from .kalman_bank import FilterFrame, KalmanBank, advance, new_bank
from .motion_model import LONGEST, SHORTEST, Bools, Floats, MotionScale, NoiseRules
from .noise_estimate import RunningNoise, heard, listening


@dataclass(frozen=True, slots=True)
class PathFilter:
    """How paths are followed."""

    lag: int
    """0 or 1: frames that are waited for before a frame's place is given."""
    calm: float
    """How much a path going on as it was given counts, against 1 for where the filters see it."""
    rules: NoiseRules


@dataclass(frozen=True, slots=True, eq=False)
class PathHistory:
    """M paths of D components, as far as they were seen."""

    time: float
    """s of the last frame; NaN before the first."""
    bank: KalmanBank
    noise: RunningNoise
    given: Floats
    """(2, M, D) the last two places that were given, the newer first."""
    given_times: tuple[float, float]
    """s of the frames for which they were given."""


@dataclass(frozen=True, slots=True, eq=False)
class PathEstimate:
    """Where M paths are, or were a frame ago where that is the lag."""

    values: Floats
    """(M, D)"""
    current: Floats
    """(M, D) where they are by now, not calmed: with a lag of 0, too."""
    unseen: Floats
    """(M,) s for which the path has not been seen by now, infinite where it never was."""
    refused: Bools
    """(M,) whether the newest sample was left out as an outlier."""


def start(paths: int, width: int, scale: MotionScale) -> PathHistory:
    """Before the first frame."""
    nowhere = np.zeros((2, paths, width))
    return PathHistory(np.nan, new_bank(paths, width), listening(paths, width, scale), nowhere, (np.nan, np.nan))


def follow(
    track: PathHistory, time: float, samples: Floats, seen: Bools, how: PathFilter
) -> tuple[PathHistory, PathEstimate]:
    """One frame: samples (M, D) at time s, finite where seen (M,)."""
    first = isnan(track.time)
    dt = np.array([SHORTEST if first else min(max(time - track.time, SHORTEST), LONGEST)])
    noise = heard(track.noise, time, np.where(seen[:, None], samples, np.nan), how.rules.scale)
    filters, step = advance(track.bank, FilterFrame(dt, samples[None], seen[None], noise.variance), how.rules)
    late = how.lag > 0 and not first
    values, at = (step.before[0], track.time) if late else (step.places[0], time)
    values = _calmed(track, values, at, how.calm, noise.variance)
    begun = step.begun[0, :, None]
    given = np.stack([values, track.given[0]])
    if begun.any():
        # A path that begins anew is where it is; what was given before says nothing about it.
        given = np.where(begun, step.places[0], given)
    result = PathEstimate(values, step.places[0], filters.unseen[0], seen & ~step.taken[0])
    return PathHistory(time, filters, noise, given, (at, track.given_times[0])), result


def _calmed(track: PathHistory, values: Floats, time: float, calm: float, variance: Floats) -> Floats:
    """Values (M, D) drawn towards where the last two given lead, by `calm` parts to one, at most by the noise's size.

    What a filter adds for each sample is a step; a causal filter that errs little thus shakes (8 times the truth's
    second differences at 1 mm and 100 Hz). Going on straight costs acceleration · step² · calm: where that is more
    than the noise, calm is not worth it.
    """
    newer, older = track.given_times
    if not calm or not newer > older or not time > newer:
        return values
    going_on = track.given[0] + (track.given[0] - track.given[1]) * ((time - newer) / (newer - older))
    drawn = (going_on - values) * (calm / (1 + calm))
    squares = np.einsum("md,md->m", drawn, drawn)
    limited: Floats = values + drawn * np.sqrt(np.minimum(1.0, variance / np.maximum(squares, 1e-30)))[:, None]
    return limited
