"""A bank of Kalman filters, one for each bandwidth, weighted by how well each predicts the samples.

In units of the noise's variance, covariances do not depend on the samples, so all paths share them. A path whose
sample is missing or rejected continues its motion with decaying velocity, as if the sample had been predicted exactly.
"""

from dataclasses import dataclass

import numpy as np

from .motion_model import Bools, Floats, NoiseRules, intensity, transition

BANDWIDTHS: Floats = 0.7 * 2.5 ** np.arange(5.0)
"""(G,) Hz, from a hand at rest to the fastest flick. Two more between each pair reduce no error by more than 4 %."""
INITIAL_COVARIANCE: Floats = np.diag([1.0, 1e7, 1e11])
"""Initial covariance in units of the noise's variance: the position is as good as one sample, the rest unknown."""
STUDENT_T_DOF = 40.0
"""Degrees of freedom of Student's t distribution of the samples: a sample far from all predictions still favours the
better filter, but does not outweigh its neighbours."""
VELOCITY_DECAY = 0.05
"""s, time constant of the decay of an unseen path's velocity."""


SETTLED_SAMPLES = 3
"""Number of samples after which a path's velocity is known."""


@dataclass(frozen=True, slots=True, eq=False)
class KalmanBank:
    """G filters on M paths of D components in each of B stretches of a take, in parallel; one stretch when live."""

    covariances: Floats
    """(G, B, 3, 3) of position, velocity and acceleration, in units of the noise's variance."""
    means: Floats
    """(G, B, 3, M * D)"""
    evidence: Floats
    """(G, B, M) log-likelihood of the recent samples under each filter."""
    weights: Floats
    """(G, B, M) weights of the filters by their evidence."""
    unseen: Floats
    """(B, M) s since the last accepted sample, infinite before the first."""
    rejected: Floats
    """(B, M) samples rejected since the last accepted one."""
    accepted_count: Floats
    """(B, M) samples accepted since the path started."""


@dataclass(frozen=True, slots=True, eq=False)
class FilterFrame:
    """One frame of each stretch."""

    dt: Floats
    """(B,) s since the last frame."""
    samples: Floats
    """(B, M, D), finite where seen."""
    seen: Bools
    """(B, M)"""
    variance: Floats
    """(M,) variance of the noise in a component."""


@dataclass(frozen=True, slots=True, eq=False)
class FilterStep:
    """Result of one frame."""

    accepted: Bools
    """(B, M) whether the sample was accepted."""
    started: Bools
    """(B, M) whether the path started, or restarted, with the sample."""
    positions: Floats
    """(B, M, D) filtered positions."""
    previous: Floats
    """(B, M, D) positions of the previous frame, smoothed with this frame's samples."""
    likelihood: Floats
    """(G, B, M) log-likelihood of the sample, 0 where none was accepted."""


def new_bank(paths: int, width: int, stretches: int = 1) -> KalmanBank:
    """Return the bank before the first sample."""
    count = len(BANDWIDTHS)
    return KalmanBank(
        np.broadcast_to(INITIAL_COVARIANCE, (count, stretches, 3, 3)),
        np.zeros((count, stretches, 3, paths * width)),
        np.zeros((count, stretches, paths)),
        np.full((count, stretches, paths), 1 / count),
        np.full((stretches, paths), np.inf),
        np.zeros((stretches, paths)),
        np.zeros((stretches, paths)),
    )


def advance(bank: KalmanBank, frame: FilterFrame, rules: NoiseRules) -> tuple[KalmanBank, FilterStep]:
    """Predict and update the bank by one frame."""
    dt, samples = frame.dt, frame.samples
    shape = (*bank.evidence.shape, samples.shape[-1])
    step, process_noise = transition(dt)
    propagated = step @ bank.covariances
    predicted = propagated @ step.swapaxes(-1, -2) + process_noise * _JERKS
    spread = predicted[..., 0, 0] + 1.0
    means = step @ bank.means
    expected = means[..., 0, :].reshape(shape)
    started, accepted = _gate(bank, frame, rules, expected, spread)
    innovation = (samples - expected) * accepted[..., None]
    flat = innovation.reshape(*shape[:2], -1)
    gains = predicted[..., 0] / spread[..., None]
    means += gains[..., None] * flat[..., None, :]
    covariances = predicted - gains[..., None] * predicted[..., None, 0, :]
    squares = np.einsum("gbmd,gbmd->gbm", innovation, innovation) / (spread[..., None] * frame.variance)
    fit = (STUDENT_T_DOF + 3) * np.log1p(squares / STUDENT_T_DOF) + 3 * np.log(spread)[..., None]
    likelihood = -0.5 * fit * accepted
    evidence = np.exp(-dt / rules.memory)[:, None] * bank.evidence + likelihood
    # x(t-1) given sample t: add P(t-1) Aᵀ Hᵀ / S times the innovation.
    smoothed = bank.means[..., 0, :] + (propagated[..., 0, 0] / spread)[..., None] * flat
    weights = filter_weights(evidence)
    previous = _weighted_mean(weights, smoothed.reshape(shape))
    if not accepted.all():
        means = _decay_unseen(means.reshape(*shape[:2], 3, *shape[2:]), dt, accepted).reshape(means.shape)
    if started.any():
        means = _restart(means.reshape(*shape[:2], 3, *shape[2:]), samples, started).reshape(means.shape)
        evidence = np.where(started, 0.0, evidence)
        weights = np.where(started, 1 / len(evidence), weights)
        previous = np.where((started & np.isinf(bank.unseen))[..., None], samples, previous)
    positions = _weighted_mean(weights, means[..., 0, :].reshape(shape))
    used = accepted | started
    unseen = np.where(used, 0.0, bank.unseen + dt[:, None])
    rejected = np.where(used, 0.0, bank.rejected + frame.seen)
    return (
        KalmanBank(
            covariances,
            means,
            evidence,
            weights,
            unseen,
            rejected,
            np.where(started, 1.0, bank.accepted_count + accepted),
        ),
        FilterStep(used, started, positions, previous, likelihood),
    )


_JERKS: Floats = intensity(BANDWIDTHS)[:, None, None, None]


def filter_weights(evidence: Floats) -> Floats:
    """Normalise log-likelihoods (G, ...) to the weights of the filters (softmax)."""
    likelihoods = np.exp(evidence - evidence.max(0))
    weights: Floats = likelihoods / likelihoods.sum(0)
    return weights


def _weighted_mean(weights: Floats, values: Floats) -> Floats:
    return np.asarray(np.einsum("gbm,gbmd->bmd", weights, values), np.float64)


def _gate(
    bank: KalmanBank, frame: FilterFrame, rules: NoiseRules, expected: Floats, spread: Floats
) -> tuple[Bools, Bools]:
    """Gate the samples: return (B, M) whether a path starts with its sample, and whether it accepts it.

    expected (G, B, M, D), spread (G, B): each filter's prediction, and its variance in units of the noise's.
    """
    error = frame.samples - _weighted_mean(bank.weights, expected)
    deviation = np.sqrt(frame.variance * np.einsum("gbm,gb->bm", bank.weights, spread))
    # An unseen path may have accelerated since. A path with rejected samples is gated as if just seen.
    elapsed = frame.dt[:, None] + np.where(bank.rejected > 0, 0.0, np.minimum(bank.unseen, rules.bridge))
    bound = rules.deviations * deviation + rules.scale.acceleration / 2 * elapsed**2
    bound += (bank.accepted_count < SETTLED_SAMPLES) * rules.scale.speed * frame.dt[:, None]
    outlier = np.einsum("bmd,bmd->bm", error, error) > bound * bound
    started = frame.seen & ((bank.unseen > rules.bridge) | (outlier & (bank.rejected >= rules.patience)))
    return started, frame.seen & ~outlier & ~started


def _decay_unseen(means: Floats, dt: Floats, accepted: Bools) -> Floats:
    """Decay velocity and acceleration of unseen paths in means (G, B, 3, M, D)."""
    decay = np.where(accepted, 1.0, np.exp(-dt / VELOCITY_DECAY)[:, None])[..., None]
    decayed = means.copy()
    decayed[:, :, 1:] *= decay[:, None]
    return decayed


def _restart(means: Floats, samples: Floats, started: Bools) -> Floats:
    """Start some paths at their samples, at rest, in means (G, B, 3, M, D)."""
    restarted = np.zeros_like(means)
    restarted[:, :, 0] = samples
    return np.where(started[:, None, :, None], restarted, means)
