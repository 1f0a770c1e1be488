"""Frames that keep their keys: extremes of a digit's motion, and contacts of the thumb with fingertips."""

import numpy as np
from numpy.typing import NDArray

from ....capture.cleaning import runs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PROMINENCE = 10.0
"""Minimum prominence of an extreme of a point's path, relative to the tolerance of reduction."""
CONTACT_GAP = 0.02
"""m, maximum distance of the tips of thumb and finger in contact: about the thickness of both at their pads."""
CONTACT_ENDS = 0.025
"""m, distance at which a contact ends, larger than CONTACT_GAP so that noise does not start and end contacts."""


def extremes(path: Floats, prominence: float) -> Ints:
    """Return the rows (E,) where a path (F, N) reverses along its main direction by more than `prominence`.

    Between two of them the path is monotonic, except for smaller reversals (Halit and Capin, Multiscale motion
    saliency, 2011, take extremes along the principal components, too).
    """
    centred = path - path.mean(axis=0)
    _, _, axes = np.linalg.svd(centred.T @ centred)
    return turning_rows(centred @ axes[0], prominence)


def turning_rows(signal: Floats, prominence: float) -> Ints:
    """Return the rows of the extremes of a signal (F,) after which it reverses by more than `prominence`."""
    rows, low, high, rising = [], 0, 0, 0
    values = signal.tolist()
    for row, value in enumerate(values):
        if value > values[high]:
            high = row
        if value < values[low]:
            low = row
        if rising >= 0 and value < values[high] - prominence:
            if rising:
                rows.append(high)
            rising, low = -1, row
        elif rising <= 0 and value > values[low] + prominence:
            if rising:
                rows.append(low)
            rising, high = 1, row
    return np.array(rows, np.int64)


def contacts(thumb: Floats, tip: Floats) -> tuple[Bools, Ints]:
    """Return the frames (F,) in which a fingertip touches the thumb's, and the rows of each contact's start, minimum
    and end.

    thumb, tip: (F, 3) m.
    """
    gap = np.linalg.norm(thumb - tip, axis=1)
    touching = np.zeros(len(gap), bool)
    rows = []
    _, starts, stops = runs((gap < CONTACT_ENDS)[:, None])
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        nearest = start + int(np.argmin(gap[start:stop]))
        if gap[nearest] < CONTACT_GAP:
            near = start + np.flatnonzero(gap[start:stop] < CONTACT_GAP)
            touching[near[0] : near[-1] + 1] = True
            rows += [int(near[0]), nearest, int(near[-1])]
    return touching, np.unique(np.array(rows, np.int64))
