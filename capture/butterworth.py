"""Zero-phase low-pass filter of motion capture: a second-order Butterworth filter run forwards and backwards."""

import numpy as np
from numpy.typing import NDArray

from .markers import Floats

Ints = NDArray[np.intp]

PADDING = 9
"""Samples of odd reflection at each end: three times the filter's length, as in scipy.signal.filtfilt."""
_BLOCK = 64
"""Samples filtered in one matrix product; only the state between blocks is computed sequentially."""
_SIGNALS_AT_A_TIME = 32
"""Number of signals filtered at a time: the working set stays in the processor's cache."""


def coefficients(cutoff: float, rate: float) -> tuple[Floats, Floats]:
    """Return coefficients b (3,) and a (3,), by the bilinear transform with the cutoff prewarped. cutoff, rate: Hz."""
    warped = np.tan(np.pi * cutoff / rate)
    scale = 1 + np.sqrt(2) * warped + warped**2
    b = np.array([1.0, 2.0, 1.0]) * warped**2 / scale
    a = np.array([1.0, 2 * (warped**2 - 1) / scale, (1 - np.sqrt(2) * warped + warped**2) / scale])
    return b, a


def filtfilt(signals: Floats, lengths: Ints, b: Floats, a: Floats) -> Floats:
    """Return (F, C) signals filtered in both directions, each padded by odd reflection at both ends.

    Values beyond a signal's length are ignored, and undefined in the result. lengths: (C,) samples in each, at least 2.
    """
    if signals.shape[1] > _SIGNALS_AT_A_TIME:
        splits = range(_SIGNALS_AT_A_TIME, signals.shape[1], _SIGNALS_AT_A_TIME)
        parts = zip(np.split(signals, splits, axis=1), np.split(lengths, splits), strict=True)
        return np.concatenate([filtfilt(part, part_lengths, b, a) for part, part_lengths in parts], axis=1)
    column = np.arange(signals.shape[1])
    padding = min(PADDING, int(lengths.min()) - 1)
    last = lengths - 1
    index = np.arange(len(signals) + 2 * padding)[:, None]
    row = index - padding
    mirrored = np.where(row < 0, -row, np.where(row > last, 2 * last - row, row))
    padded = signals[np.clip(mirrored, 0, last), column]
    padded = np.where(row < 0, 2 * signals[0] - padded, padded)
    padded = np.where(row > last, 2 * signals[last, column] - padded, padded)
    backwards = np.maximum(lengths + 2 * padding - 1 - index, 0)
    filtered = _filter(padded, b, a)[backwards, column]
    filtered = _filter(filtered, b, a)[backwards, column]
    result: Floats = filtered[padding : padding + len(signals)]
    return result


def _filter(signals: Floats, b: Floats, a: Floats) -> Floats:
    """Return (F, C) signals filtered once, starting from the steady state of each signal's first value.

    In state space x' = A x + B u, y = C x + b0 u (direct form II transposed). Over a block of L samples the outputs are
    T u + O x, where T is the lower triangular matrix of the impulse response, and the next state is A^L x + K u.
    """
    step_state = np.array([[-a[1], 1.0], [-a[2], 0.0]])
    step_input = b[1:] - a[1:] * b[0]
    response = np.zeros(_BLOCK)
    observe = np.zeros((_BLOCK, 2))
    control = np.zeros((2, _BLOCK))
    power = np.eye(2)
    for step in range(_BLOCK):
        observe[step] = power[0]
        control[:, _BLOCK - 1 - step] = power @ step_input
        response[step] = b[0] if step == 0 else observe[step - 1] @ step_input
        power = step_state @ power
    lag = np.subtract.outer(np.arange(_BLOCK), np.arange(_BLOCK))
    impulse_response = np.where(lag >= 0, response[np.abs(lag)], 0.0)
    blocks = -(-len(signals) // _BLOCK)
    padded_signals = np.zeros((blocks * _BLOCK, signals.shape[1]))
    padded_signals[: len(signals)] = signals
    inputs = padded_signals.reshape(blocks, _BLOCK, -1)
    # The steady state for a constant input u is (I - A)^-1 B u.
    state = np.linalg.solve(np.eye(2) - step_state, step_input)[:, None] * signals[0]
    outputs = impulse_response @ inputs
    driven = control @ inputs
    for index in range(blocks):
        outputs[index] += observe @ state
        state = power @ state + driven[index]
    result: Floats = outputs.reshape(-1, signals.shape[1])[: len(signals)]
    return result
