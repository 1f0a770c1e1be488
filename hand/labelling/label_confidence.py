"""How likely a reading is right, from how much worse the next best is: as it was on stripped recordings.

About 3500 pieces of 200 hands of the four recordings and of made hands, docs/explanation/labelling.md. A margin is
half of a sum of squared deviations, but no likelihood: people's hands and their markers differ by more than what
costs are counted in.
"""

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OUTER = frozenset(joint for digit in DIGITS[2:] for joint in CHAIN_JOINTS[digit][1:])
"""What moves of the middle, ring and little finger."""

OF_MARKER = 0.6
"""The margin of a marker at which its reading is wrong by 1/e as often as at none."""
OF_SIDE = 0.4
"""The same of a side, its margin counted for each spot."""
MOST = 0.985
"""What no margin of a marker is beyond: some are wrong by far."""


LONE = 0.75
"""Of a tip that is the only one beyond the index finger's: of eight recordings so stripped one was told wrongly, of
four with the ring finger's alone all."""


def of_lone_tip(spots: tuple[Spot, ...], shown: Bools) -> Floats:
    """(C,) by what a marker's chance is multiplied, for which spots (C,) have a marker: which finger a lone tip is on
    is told by no neighbour."""
    outer = [c for c, spot in enumerate(spots) if shown[c] and spot.joint in OUTER]
    factors = np.ones(len(spots))
    if len(outer) == 1:
        factors[outer] = LONE
    return factors


def of_marker(margin: Floats) -> Floats:
    """0.5..1: with no margin, two readings are as likely."""
    chance: Floats = MOST * _chance(margin, OF_MARKER)
    return chance


def of_side(margin: float) -> float:
    """0.5..1, of a hand being where it was found and on this side."""
    return float(_chance(np.array(margin), OF_SIDE))


def _chance(margin: Floats, scale: float) -> Floats:
    chance: Floats = 1 - np.exp(-np.maximum(margin, 0.0) / scale) / 2
    return chance
