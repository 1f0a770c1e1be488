"""How likely a reading is right, from how much worse the next best is: as it was on stripped recordings.

About 3500 pieces of 200 hands of the four recordings and of made hands, docs/labelling.md. A margin is half of a sum of
squared deviations, but no likelihood: people's hands and their markers differ by more than what costs are counted in.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

OF_MARKER = 0.6
"""The margin of a marker at which its reading is wrong by 1/e as often as at none."""
OF_SIDE = 0.4
"""The same of a side, its margin counted for each spot."""
MOST = 0.985
"""What no margin of a marker is beyond: some are wrong by far."""


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
