"""Probability that an assignment is right, from how much the next best costs, calibrated on stripped recordings.

The data are about 3500 pieces of 200 hands, from the four recordings and from synthetic hands,
docs/explanation/labelling.md. A margin is half a sum of squared deviations but no likelihood: people's hands and
markers differ by more than the costs assume.
"""

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OUTER = frozenset(joint for digit in DIGITS[2:] for joint in CHAIN_JOINTS[digit][1:])
"""Moving joints of the middle, ring and little finger."""

OF_MARKER = 0.6
"""Margin at which a marker is wrong by 1/e as often as at margin 0."""
OF_SIDE = 0.4
"""The same for a side; its margin is per spot."""
MOST = 0.985
"""Upper bound of a marker's confidence: some are wrong by a large margin."""


LONE = 0.75
"""Factor for a tip that is the only one beyond the index finger's: of eight recordings stripped like this one was
wrong; with only the ring finger's tip, all four were."""


def of_lone_tip(spots: tuple[Spot, ...], shown: Bools) -> Floats:
    """Factors (C,) on the confidence for markers at the spots in `shown` (C,): a lone outer tip is ambiguous."""
    outer = [c for c, spot in enumerate(spots) if shown[c] and spot.joint in OUTER]
    factors = np.ones(len(spots))
    if len(outer) == 1:
        factors[outer] = LONE
    return factors


def of_marker(margin: Floats) -> Floats:
    """Confidence 0.5..1 of markers; without a margin, two assignments are equally likely."""
    chance: Floats = MOST * _chance(margin, OF_MARKER)
    return chance


def of_side(margin: float) -> float:
    """Confidence 0.5..1 that a hand is where it was found and of this side."""
    return float(_chance(np.array(margin), OF_SIDE))


def _chance(margin: Floats, scale: float) -> Floats:
    chance: Floats = 1 - np.exp(-np.maximum(margin, 0.0) / scale) / 2
    return chance
