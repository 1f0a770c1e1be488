"""Heat: the severity of problems of each part of a hand in each frame, in five levels."""

import numpy as np
from numpy.typing import NDArray

from .evidence import HandEvidence
from .ranking import severities

Levels = NDArray[np.uint8]

NEAR_LEVEL, PROBLEM_LEVEL = 1, 2
"""Minimum levels of frames near a threshold, and of frames with a problem."""
LEVEL_SEVERITIES = (0.5, 1.0, 2.0, 4.0)
"""Minimum severities of levels 1 to 4; 1 is the threshold of a problem."""
LEVEL_HEIGHTS = (0.0, 0.3, 0.6, 0.8, 1.0)
"""Heights of the bars of each level relative to the highest, so that color is not the only sign of it."""
LEVEL_NAMES = ("calm", "near its threshold", "a problem", "twice its threshold", "four times its threshold")


def heat(hand: HandEvidence) -> Levels:
    """Return the level (F, P), 0 to 4, of each part of a hand in each frame."""
    levels: Levels = np.searchsorted(LEVEL_SEVERITIES, severities(hand).max(axis=2), side="right").astype(np.uint8)
    return levels
