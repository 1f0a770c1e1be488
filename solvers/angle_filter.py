"""Filter the joint angles of a performer over time, forwards and in both directions.

The angles follow an Ornstein-Uhlenbeck process: a random walk, correlated as the performer's joints are, with a drift
towards the mean pose so slow that a hidden finger keeps its relation to its neighbours. Its stationary distribution is
the pose prior, widened in modes that change fast. Each frame's markers measure the angles.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..hand.calibration.skin_markers.pose_fit import invert, solve
from ..hand.calibration.skin_markers.skin_fit import PosePrior

Floats = NDArray[np.float64]

RANDOM_WALK_FACTOR = 2.0
"""Factor on the random walk's variance. It exceeds 1 because joints tend to keep their velocity."""
MAX_INTERVAL = 0.5
"""s, maximum interval between two frames; longer ones count as this."""
MAX_RATE = 0.3
"""1/s, maximum rate of a mode, which drifts towards the mean pose RANDOM_WALK_FACTOR times as fast. Joints that move
fast also rest in between: a fist that is hidden for half a second is still a fist afterwards, and does not open to the
mean pose."""


@dataclass(frozen=True, slots=True, eq=False)
class AngleMeasurement:
    """Measurements of the angles by the markers of F frames, linearised about the angles of each frame."""

    angles: Floats
    """(F, D) rad, the angles about which it is linearised."""
    information: Floats
    """(F, D, D) 1/rad²"""
    gradient: Floats
    """(F, D) 1/rad, of the log-likelihood at `angles`."""

    def weighted(self, fraction: float) -> "AngleMeasurement":
        """Return the measurement with a fraction of its information."""
        return AngleMeasurement(self.angles, fraction * self.information, fraction * self.gradient)


@dataclass(frozen=True, slots=True, eq=False)
class AngleState:
    """State of the filter after a frame."""

    time: float
    """s"""
    mean: Floats
    """(D,) rad"""
    covariance: Floats
    """(D, D) rad²"""


@dataclass(frozen=True, slots=True, eq=False)
class _Process:
    """The process in modes: independent coordinates, each with a stationary variance of 1."""

    mean: Floats
    """(D,) rad"""
    modes: Floats
    """(D, D) rad: angles = mean + modes · coordinates."""
    inverse: Floats
    """(D, D) 1/rad"""
    rates: Floats
    """(D,) 1/s, variances of the coordinates' changes per second."""

    def decays(self, intervals: Floats) -> Floats:
        """Return the factors (F, D) from a coordinate to its expected value after an interval (F,) s.

        They keep the stationary variance at 1.
        """
        half = RANDOM_WALK_FACTOR * np.clip(intervals, 0.0, MAX_INTERVAL)[:, None] * self.rates / 2
        decays: Floats = (1.0 - half) / (1.0 + half)
        return decays

    def in_modes(self, state: AngleState) -> tuple[Floats, Floats]:
        """Return the mean (D,) and covariance (D, D) of a state in coordinates."""
        return self.inverse @ (state.mean - self.mean), self.inverse @ state.covariance @ self.inverse.T


@lru_cache(maxsize=16)
def _process_of(prior: PosePrior) -> _Process:
    """Return the modes in which both the covariance and its change per second are diagonal.

    A mode whose rate is above MAX_RATE gets a larger stationary variance instead: it changes as much in a frame, but
    decays more slowly.
    """
    lower = np.linalg.cholesky(prior.covariance).astype(float, copy=False)
    change = solve(lower, solve(lower, prior.change).T)
    rates, eigenvectors = np.linalg.eigh((change + change.T) / 2)
    modes = lower @ eigenvectors * np.sqrt(np.maximum(rates / MAX_RATE, 1.0))
    return _Process(prior.mean, modes, invert(modes), np.minimum(rates, MAX_RATE))


@dataclass(frozen=True, slots=True, eq=False)
class FilteredAngles:
    """Gaussians over the angles of F frames, before and after each frame's own measurement, in modes of the process."""

    process: _Process
    predicted_means: Floats
    """(F, D)"""
    predicted_covariances: Floats
    """(F, D, D)"""
    means: Floats
    """(F, D)"""
    covariances: Floats
    """(F, D, D)"""
    decays: Floats
    """(F, D) factors from the frame before to this one."""

    @property
    def angles(self) -> Floats:
        """(F, D) rad, the means after each frame's measurement."""
        return self.process.mean + self.means @ self.process.modes.T


def filter_angles(
    prior: PosePrior, times: Floats, measured: AngleMeasurement, state: AngleState | None = None
) -> tuple[FilteredAngles, AngleState]:
    """Filter measurements at times (F,) s by those before them (Kalman 1960).

    Args:
        state: the state that the previous piece returned; None at the start of a take.

    Returns:
        The filtered angles, and the state for the next piece.
    """
    process, (count, dofs) = _process_of(prior), measured.angles.shape
    state = AngleState(float(times[0]), prior.mean, prior.covariance) if state is None else state
    mean, covariance = process.in_modes(state)
    decays = process.decays(np.diff(times, prepend=state.time))
    information, weighted_angles = _measured_in_modes(process, measured)
    means, covariances = np.empty((2, count, dofs)), np.empty((2, count, dofs, dofs))
    result = FilteredAngles(process, means[0], covariances[0], means[1], covariances[1], decays)
    identity = np.eye(dofs)
    for frame, decay in enumerate(decays):
        mean = decay * mean
        covariance = decay[:, None] * (covariance - identity) * decay + identity
        result.predicted_means[frame], result.predicted_covariances[frame] = mean, covariance
        # (C⁻¹ + I)⁻¹ by one factorisation instead of two inversions.
        covariance = solve(identity + covariance @ information[frame], covariance)
        covariance = (covariance + covariance.T) / 2
        mean = mean + covariance @ (weighted_angles[frame] - information[frame] @ mean)
        result.means[frame], result.covariances[frame] = mean, covariance
    modes = process.modes
    return result, AngleState(float(times[-1]), process.mean + modes @ mean, modes @ covariance @ modes.T)


def _measured_in_modes(process: _Process, measured: AngleMeasurement) -> tuple[Floats, Floats]:
    """Return the information (F, D, D) in modes, and its product (F, D) with each frame's own estimate of
    coordinates."""
    modes, gap = process.modes, measured.angles - process.mean
    weighted_angles = measured.gradient + (measured.information @ gap[..., None])[..., 0]
    return modes.T @ (measured.information @ modes), weighted_angles @ modes


def predict_angles(prior: PosePrior, state: AngleState, time: float) -> tuple[Floats, Floats]:
    """Return the mean (D,) rad and covariance (D, D) rad² of the angles at a time in s, by the state of the filter
    before it."""
    process = _process_of(prior)
    decay = process.modes * process.decays(np.array([time - state.time])) @ process.inverse
    stationary = process.modes @ process.modes.T
    covariance = stationary + decay @ (state.covariance - stationary) @ decay.T
    return prior.mean + decay @ (state.mean - prior.mean), covariance


def smooth_backwards(forward: FilteredAngles) -> Floats:
    """Return (F, D) rad: the angles of each frame by all frames of the take (Rauch, Tung and Striebel 1965)."""
    means = forward.means.copy()
    propagated = forward.decays[1:, :, None] * forward.covariances[:-1]
    gains = solve(forward.predicted_covariances[1:], propagated).swapaxes(1, 2)
    for frame in range(len(means) - 2, -1, -1):
        means[frame] += gains[frame] @ (means[frame + 1] - forward.predicted_means[frame + 1])
    return forward.process.mean + means @ forward.process.modes.T
