"""Measure how the distances between a bone's markers change: between joints they are constant, on the skin not."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS
from ..marker_sets import Spot

Floats = NDArray[np.float64]

RANGE = (2.0, 98.0)
"""Percentiles between which a length's range is measured, to exclude swaps."""
MIN_FRAMES = 30
"""Minimum number of frames in which both markers of a bone are seen."""
NOISE_RATIO = 8.0
"""Minimum ratio of a length's range to its median change between frames. The ratio of white noise is 4.3."""


def bone_stretch(spots: Mapping[str, Spot], positions: Floats) -> float:
    """Return the largest change, in m, of the distance between two markers at the ends of a phalanx.

    It is 0 if noise explains the change. positions: (F, M, 3) m of the markers at the spots, NaN where not seen.
    """
    column = {spot.joint: index for index, spot in enumerate(spots.values()) if not any(spot.offset)}
    phalanges = [
        pair for chain in CHAIN_JOINTS.values() for pair in pairwise(chain) if all(joint in column for joint in pair)
    ]
    return max((_stretch(positions[:, column[a]], positions[:, column[b]]) for a, b in phalanges), default=0.0)


def _stretch(first: Floats, second: Floats) -> float:
    """Return the change, in m, of the distance between two points (F, 3); 0 if noise explains it."""
    length = np.linalg.norm(first - second, axis=-1)
    visible = length[np.isfinite(length)]
    changes = np.abs(np.diff(length))
    changes = changes[np.isfinite(changes)]
    if min(len(visible), len(changes)) < MIN_FRAMES:
        return 0.0
    low, high = np.percentile(visible, RANGE)
    return float(high - low) if high - low > NOISE_RATIO * np.median(changes) else 0.0
