"""Filter the joint angles of a performer over time, forwards and in both directions.

The angles follow an Ornstein-Uhlenbeck process: they wander as the performer's joints do, and drift towards the mean
pose, so that their stationary distribution is the pose prior. Each frame measures them by its markers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..hand.calibration.skin_markers.pose_fit import solve
from ..hand.calibration.skin_markers.skin_fit import PosePrior

Floats = NDArray[np.float64]

RANDOM_WALK_FACTOR = 2.0
"""Factor on the random walk's variance, because joints tend to keep their velocity."""
MAX_INTERVAL = 0.5
"""s, a longer interval between two frames counts as this."""


@dataclass(frozen=True, slots=True, eq=False)
class AngleMeasurement:
    """The angles as the markers of F frames measure them, linearised about the angles of each frame."""

    angles: Floats
    """(F, D) rad, about which it is linearised."""
    information: Floats
    """(F, D, D) 1/rad²"""
    gradient: Floats
    """(F, D) 1/rad, of the log-likelihood at `angles`."""

    def weighted(self, share: float) -> "AngleMeasurement":
        """Return the measurement with a share of its information."""
        return AngleMeasurement(self.angles, share * self.information, share * self.gradient)


@dataclass(frozen=True, slots=True, eq=False)
class AngleState:
    """The filter after a frame."""

    time: float
    """s"""
    mean: Floats
    """(D,) rad"""
    covariance: Floats
    """(D, D) rad²"""


@dataclass(frozen=True, slots=True, eq=False)
class FilteredAngles:
    """Gaussians over the angles of F frames, before and after each frame's own measurement."""

    predicted_mean: Floats
    """(F, D) rad"""
    predicted_covariance: Floats
    """(F, D, D) rad²"""
    mean: Floats
    """(F, D) rad"""
    covariance: Floats
    """(F, D, D) rad²"""
    decay: Floats
    """(F, D, D) maps a deviation from the prior's mean in the previous frame to its expected value in this one."""


def filter_angles(
    prior: PosePrior, times: Floats, measured: AngleMeasurement, state: AngleState | None = None
) -> tuple[FilteredAngles, AngleState]:
    """Filter measurements at times (F,) s by those before them (Kalman 1960).

    Args:
        state: what the previous piece returned; None at the start of a take.

    Returns:
        The filtered angles, and the state for the next piece.
    """
    count, dofs = measured.angles.shape
    state = AngleState(float(times[0]), prior.mean, prior.covariance) if state is None else state
    mean, covariance = state.mean, state.covariance
    decays = _decays(prior, np.diff(times, prepend=state.time))
    noises = prior.covariance - decays @ prior.covariance @ decays.swapaxes(1, 2)
    means, covariances = np.empty((2, count, dofs)), np.empty((2, count, dofs, dofs))
    result = FilteredAngles(means[0], covariances[0], means[1], covariances[1], decays)
    identity = np.eye(dofs)
    for frame, (decay, noise) in enumerate(zip(decays, noises, strict=True)):
        mean = prior.mean + decay @ (mean - prior.mean)
        covariance = decay @ covariance @ decay.T + noise
        result.predicted_mean[frame], result.predicted_covariance[frame] = mean, covariance
        information = measured.information[frame]
        # (C⁻¹ + I)⁻¹ by one factorisation instead of two inversions.
        covariance = solve(identity + covariance @ information, covariance)
        covariance = (covariance + covariance.T) / 2
        mean = mean + covariance @ (measured.gradient[frame] + information @ (measured.angles[frame] - mean))
        result.mean[frame], result.covariance[frame] = mean, covariance
    return result, AngleState(float(times[-1]), mean, covariance)


def predict_angles(prior: PosePrior, state: AngleState, time: float) -> tuple[Floats, Floats]:
    """Mean (D,) rad and covariance (D, D) rad² of the angles at a time in s, by the state of the filter before it."""
    (decay,) = _decays(prior, np.array([time - state.time]))
    covariance = prior.covariance + decay @ (state.covariance - prior.covariance) @ decay.T
    return prior.mean + decay @ (state.mean - prior.mean), covariance


def _decays(prior: PosePrior, intervals: Floats) -> Floats:
    """(F, D, D) the decay over intervals (F,) s, with which the prior stays the stationary distribution."""
    change = RANDOM_WALK_FACTOR * np.clip(intervals, 0.0, MAX_INTERVAL)[:, None, None] * prior.change
    return solve(prior.covariance + change / 2, prior.covariance - change / 2).swapaxes(1, 2)


def smooth_backwards(forward: FilteredAngles) -> Floats:
    """(F, D) rad: the angles of each frame by all frames of the take (Rauch, Tung and Striebel 1965)."""
    angles = forward.mean.copy()
    carried = forward.decay[1:] @ forward.covariance[:-1]
    gains = solve(forward.predicted_covariance[1:], carried).swapaxes(1, 2)
    for frame in range(len(angles) - 2, -1, -1):
        angles[frame] += gains[frame] @ (angles[frame + 1] - forward.predicted_mean[frame + 1])
    return angles
