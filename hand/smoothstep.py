"""Blend weights with zero slope at their start and end."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def smoothstep(value: Floats, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> Floats:
    """Return 3t² − 2t³, where t goes from 0 at `low` to 1 at `high` and is clamped: zero slope at both ends."""
    t = np.clip((value - np.asarray(low)) / (np.asarray(high) - np.asarray(low)), 0, 1)
    return np.asarray(t * t * (3 - 2 * t))
