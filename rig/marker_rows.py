"""Markers laid out in rows of equal time steps, as the markers object shows them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..captures.markers import Markers

Floats = NDArray[np.float64]

MISSING, MEASURED, PREDICTED = 0, 1, 2
"""What is known of a marker in a row."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkerRows:
    """R rows of M markers, one every 1 / rate seconds."""

    positions: Floats
    """(R, M, 3) m, zero where missing: a mesh holds no NaN."""
    states: NDArray[np.int8]
    """(R, M) MISSING, MEASURED or PREDICTED."""
    rate: float
    """Hz"""
    first: float
    """s, the capture's own time of the first row."""


def marker_rows(markers: Markers) -> MarkerRows:
    """The frames as they are where they are evenly spaced; else the capture drawn anew on even steps.

    An even step between two frames that both saw the marker lies on the line between them.
    """
    frames, times = len(markers.times), markers.times
    rate = (frames - 1) / markers.duration if frames > 1 else max(markers.rate, 1.0)
    states = np.where(markers.seen, np.where(markers.predicted, PREDICTED, MEASURED), MISSING).astype(np.int8)
    positions = np.where(states[..., None] > 0, markers.positions, 0.0)
    even = times[0] + np.arange(frames) / rate
    rows = round(markers.duration * markers.rate) + 1
    # A pause of hours between two frames is not worth rows without end: such captures are shown frame by frame.
    if frames < 3 or np.abs(times - even).max() < 0.05 / rate or rows > 4 * frames:
        return MarkerRows(positions, states, rate, float(times[0]))
    return _evenly(positions, states, times, times[0] + np.arange(rows) / markers.rate, markers.rate)


def _evenly(
    positions: Floats, states: NDArray[np.int8], times: Floats, at: Floats, rate: float
) -> MarkerRows:
    before = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    share = np.clip((at - times[before]) / (times[before + 1] - times[before]), 0.0, 1.0)
    nearer = before + (share >= 0.5)
    both = (states[before] > 0) & (states[before + 1] > 0)
    share = np.where(both, share[:, None], (share >= 0.5)[:, None])[..., None]
    # Where nothing was recorded for longer than a step there is nothing to show.
    known = np.abs(times[nearer] - at) <= 1.0 / rate
    return MarkerRows(
        positions=positions[before] * (1 - share) + positions[before + 1] * share,
        states=np.where(known[:, None], states[nearer], MISSING).astype(np.int8),
        rate=rate,
        first=float(times[0]),
    )
