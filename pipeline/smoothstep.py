"""Blend weights without kinks."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def smoothstep(share: Floats) -> Floats:
    """Return 3t² − 2t³ for t clamped to 0..1: it rises from 0 to 1 with zero slope at both ends."""
    share = np.clip(share, 0.0, 1.0)
    eased: Floats = share * share * (3.0 - 2.0 * share)
    return eased
