"""Reduce long series to few columns with their lowest and highest values, so that no frame is lost in a plot."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def column_starts(frames: int, maximum: int) -> Ints:
    """Return the first frame (C,) of each column, C = min(frames, maximum)."""
    count = min(frames, maximum)
    starts: Ints = np.arange(count) * frames // max(count, 1)
    return starts


def highest(values: Floats, starts: Ints) -> Floats:
    """Return the maximum (C, ...) of the values (F, ...) in each column without NaN; NaN where all are."""
    columns: Floats = np.fmax.reduceat(values, starts, axis=0)
    return columns


def lowest(values: Floats, starts: Ints) -> Floats:
    """Return the minimum (C, ...) of the values (F, ...) in each column without NaN; NaN where all are."""
    columns: Floats = np.fmin.reduceat(values, starts, axis=0)
    return columns
