"""Markers resampled to rows of equal time steps, as the markers object shows them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..capture.markers import Markers

Floats = NDArray[np.float64]

MISSING, MEASURED, PREDICTED = 0, 1, 2
"""State of a marker in a row."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkerRows:
    """R rows of M markers, one every 1 / rate seconds."""

    positions: Floats
    """(R, M, 3) m, zero where missing, because a mesh must not contain NaN."""
    states: NDArray[np.int8]
    """(R, M) MISSING, MEASURED or PREDICTED."""
    rate: float
    """Hz"""
    first: float
    """s, the capture's time of the first row."""


def marker_rows(markers: Markers) -> MarkerRows:
    """Return the frames unchanged if they are evenly spaced, else the capture resampled to even steps."""
    frames, times = len(markers.times), markers.times
    nominal = markers.rate if np.isfinite(markers.rate) and markers.rate > 0 else 1.0
    rate = (frames - 1) / markers.duration if frames > 1 else nominal
    even = times[0] + np.arange(frames) / rate
    rows = round(markers.duration * nominal) + 1
    # A long pause between two frames would need too many rows: such captures are shown frame by frame.
    if frames < 3 or np.abs(times - even).max() < 0.05 / rate or rows > 4 * frames:
        return MarkerRows(*_flat(markers), rate, float(times[0]))
    at = times[0] + np.arange(rows) / nominal
    return MarkerRows(*sampled(markers, at, 1.0 / nominal), nominal, float(times[0]))


def _flat(markers: Markers) -> tuple[Floats, NDArray[np.int8]]:
    """Return positions (F, M, 3) without NaN, and states (F, M)."""
    states = np.where(markers.seen, np.where(markers.predicted, PREDICTED, MEASURED), MISSING).astype(np.int8)
    return np.where(states[..., None] > 0, markers.positions, 0.0), states


def sampled(markers: Markers, at: Floats, pause: float) -> tuple[Floats, NDArray[np.int8]]:
    """Return positions (R, M, 3) and states (R, M) at times `at` (R,) s.

    A marker present in both neighbouring frames is interpolated linearly, otherwise it is taken from the nearer frame.
    Further than `pause` s from any frame, markers are missing.
    """
    positions, states = _flat(markers)
    times = markers.times
    after = np.clip(np.searchsorted(times, at, side="right"), min(1, len(times) - 1), len(times) - 1)
    before = np.maximum(after - 1, 0)
    fraction = np.clip((at - times[before]) / np.maximum(times[after] - times[before], 1e-12), 0.0, 1.0)
    second_nearer = fraction >= 0.5
    nearer = np.where(second_nearer, after, before)
    both_known = (states[before] > 0) & (states[after] > 0)
    fraction = np.where(both_known, fraction[:, None], second_nearer[:, None])[..., None]
    near_frame = np.abs(times[nearer] - at) <= pause
    interpolated = positions[before] * (1 - fraction) + positions[after] * fraction
    return interpolated, np.where(near_frame[:, None], states[nearer], MISSING).astype(np.int8)
