"""Smooth whole paths without lag: a Kalman filter forwards, modified Bryson-Frazier smoothing backwards."""

from dataclasses import dataclass

import numpy as np

from .kalman_bank import BANDWIDTHS, INITIAL_COVARIANCE, FilterFrame, advance, filter_weights, new_bank
from .motion_model import Bools, Floats, NoiseRules, intensity, steps_of, transition
from .noise_estimate import variances

BATCH_FRAMES = 256
"""Frames in a batch; the bandwidths are estimated in all batches of a take in parallel."""
RUN_IN_FRAMES = 64
"""Frames before a batch in which its filters converge."""


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedPaths:
    """Smoothed paths."""

    values: Floats
    """(F, M, D)"""
    known: Bools
    """(F, M) whether the path is known: its sample is accepted, or the gap is no longer than the bridge."""
    rejected: Bools
    """(F, M) samples rejected as outliers."""
    deviation: Floats
    """(M,) standard deviation of the noise in a component."""


def smooth(times: Floats, values: Floats, seen: Bools, rules: NoiseRules) -> SmoothedPaths:
    """Smooth samples (F, M, D) at times (F,) s, finite where seen (F, M). Unknown values stay as they are."""
    variance = variances(times, values, seen, rules.scale)
    likelihood, accepted, started = run_filter_bank(times, values, seen, variance, rules)
    accepted, started = _accept_new_paths(accepted, started, seen)
    ratio = intensity(estimate_bandwidths(times, likelihood, rules.memory) / rules.calm)
    paths = smooth_paths(times, values, accepted, started, ratio)
    is_known = _known_frames(times, accepted, rules.bridge)
    return SmoothedPaths(np.where(is_known[..., None], paths, values), is_known, seen & ~accepted, np.sqrt(variance))


def run_filter_bank(
    times: Floats, values: Floats, seen: Bools, variance: Floats, rules: NoiseRules
) -> tuple[Floats, Bools, Bools]:
    """Run the filter bank; return log-likelihoods (G, F, M), and whether samples are accepted and start a path (F,
    M)."""
    frames, paths, width = values.shape
    starts = np.arange(0, frames, BATCH_FRAMES)
    likelihood = np.zeros((len(BANDWIDTHS), frames, paths))
    accepted, started = np.zeros((frames, paths), bool), np.zeros((frames, paths), bool)
    steps = steps_of(times)
    bank = new_bank(paths, width, len(starts))
    for offset in range(-RUN_IN_FRAMES if frames > BATCH_FRAMES else 0, min(BATCH_FRAMES, frames)):
        rows = starts + offset
        clipped_rows = np.clip(rows, 0, frames - 1)
        inside = (rows >= 0) & (rows < frames)
        frame = FilterFrame(steps[clipped_rows], values[clipped_rows], seen[clipped_rows] & inside[:, None], variance)
        bank, step = advance(bank, frame, rules)
        if offset >= 0:
            likelihood[:, clipped_rows[inside]] = step.likelihood[:, inside]
            accepted[clipped_rows[inside]], started[clipped_rows[inside]] = step.accepted[inside], step.started[inside]
    return likelihood, accepted, started


def _accept_new_paths(accepted: Bools, started: Bools, seen: Bools) -> tuple[Bools, Bools]:
    """Accept the rejected samples directly before a restart, and move the restart to the first of them."""
    accepted, started = accepted.copy(), started.copy()
    for frame, path in np.argwhere(started):
        first = frame
        while first > 0 and seen[first - 1, path] and not accepted[first - 1, path]:
            first -= 1
        started[frame, path] = False
        accepted[first:frame, path] = started[first, path] = True
    return accepted, started


def estimate_bandwidths(times: Floats, likelihood: Floats, memory: float) -> Floats:
    """Estimate the bandwidth (F, M) Hz: the weighted geometric mean by the samples within `memory` s of each frame."""
    total = np.zeros((len(BANDWIDTHS), len(times) + 1, likelihood.shape[2]))
    np.cumsum(likelihood, axis=1, out=total[:, 1:])
    first = np.searchsorted(times, times - memory, "left")
    last = np.searchsorted(times, times + memory, "right")
    weights = filter_weights(total[:, last] - total[:, first])
    bandwidth: Floats = np.exp(np.tensordot(np.log(BANDWIDTHS), weights, 1))
    return bandwidth


def smooth_paths(times: Floats, values: Floats, accepted: Bools, started: Bools, ratio: Floats) -> Floats:
    """Smooth positions (F, M, D) given all accepted samples; a path that restarts forgets the past.

    Bierman, Factorization Methods for Discrete Sequential Estimation (1977), X.2: the smoothed mean is x − P λ, with λ
    propagated backwards by λ ← (I − K H)ᵀ λ − Hᵀ ν / S, then Aᵀ λ. No covariance is inverted.

    Args:
        times: (F,) s.
        values: (F, M, D) samples.
        accepted: (F, M) accepted samples.
        started: (F, M) frames in which a path starts.
        ratio: (F, M) intensity of the jerk over the noise's variance.
    """
    frames, paths, width = values.shape
    steps, process_noise = transition(steps_of(times))
    # One array for covariance and mean: prediction and update apply to both.
    state = np.zeros((3, 3 + width, paths))
    forward = _ForwardPass(*(np.zeros((frames, n, paths)) for n in (width, 3, 3, width)))
    samples = np.where(accepted[..., None], values, 0.0).swapaxes(1, 2)
    initial = np.zeros((3, 3 + width, paths))
    initial[:, :3] = INITIAL_COVARIANCE[..., None]
    for k, restarts in enumerate(np.any(started, axis=1)):
        state = (steps[k] @ state.reshape(3, -1)).reshape(state.shape)
        crossed = state[:, :3].swapaxes(0, 1).reshape(3, -1)
        state[:, :3] = (steps[k] @ crossed).reshape(3, 3, paths)
        state[:, :3] += process_noise[k][..., None] * ratio[k]
        weight = accepted[k] / (state[0, 0] + 1.0)
        row = -state[0]
        row[3:] += samples[k]
        gain = state[:, 0] * weight
        state += gain[:, None] * row
        row *= weight
        forward.innovations[k], forward.gains[k] = row[3:], gain
        if restarts:
            initial[0, 3:] = samples[k]
            state = np.where(started[k], initial, state)
            forward.gains[k] *= ~started[k]
            forward.innovations[k] *= ~started[k]
        forward.positions[k], forward.covariances[k] = state[0, 3:], state[0, :3]
    return _backward_pass(steps, started, forward)


@dataclass(frozen=True, slots=True, eq=False)
class _ForwardPass:
    """Results of the forward pass for the backward pass."""

    positions: Floats
    """(F, D, M) filtered positions."""
    covariances: Floats
    """(F, 3, M) covariances of position with position, velocity and acceleration."""
    gains: Floats
    """(F, 3, M) K, 0 without an accepted sample that continues the path."""
    innovations: Floats
    """(F, D, M) ν / S, 0 where the gain is."""


def _backward_pass(steps: Floats, started: Bools, forward: _ForwardPass) -> Floats:
    """Run the backward pass of `smooth_paths`: smoothed positions (F, M, D)."""
    frames, width, paths = forward.positions.shape
    adjoint = np.zeros((3, width, paths))
    adjoints = np.zeros((frames, 3, width, paths))
    restarts = np.any(started, axis=1)
    for k in range(frames - 1, -1, -1):
        adjoints[k] = adjoint
        adjoint[0] -= (forward.gains[k][:, None] * adjoint).sum(0) + forward.innovations[k]
        if restarts[k]:
            adjoint *= ~started[k]
        adjoint = (steps[k].T @ adjoint.reshape(3, -1)).reshape(adjoint.shape)
    return np.asarray(
        (forward.positions - np.einsum("fim,fidm->fdm", forward.covariances, adjoints)).swapaxes(1, 2), np.float64
    )


def _known_frames(times: Floats, accepted: Bools, bridge: float) -> Bools:
    """Return (F, M) whether a sample was accepted, or the gap between the samples around the frame is at most `bridge`
    s."""
    index = np.arange(len(times))[:, None]
    last_accepted = np.maximum.accumulate(np.where(accepted, index, -1), axis=0)
    next_accepted = np.minimum.accumulate(np.where(accepted, index, len(times))[::-1], axis=0)[::-1]
    inside = (last_accepted >= 0) & (next_accepted < len(times))
    gap = times[np.minimum(next_accepted, len(times) - 1)] - times[np.maximum(last_accepted, 0)]
    is_bridged: Bools = inside & (gap <= bridge * (1 + 1e-9))
    return is_bridged | accepted
