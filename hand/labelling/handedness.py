"""Left or right, told by a hand's shape: labels are wrong too often (mirrored cameras, swapped gloves)."""

import numpy as np
from numpy.typing import NDArray

from ..joints import BENDING_JOINTS, Side
from ..marker_sets import Spot, palm_together
from ..proportions import adult, in_palm

Floats = NDArray[np.float64]


def handedness(spots: tuple[Spot, ...], positions: Floats) -> tuple[Side | None, float]:
    """The side of a hand and how sure that is, 0..1, from marker positions (F, M, 3) m, NaN where not seen.

    A right hand's palm is laid on the palm markers. They are nearly flat, so on a left hand it comes to lie upside
    down. Fingers curl and the thumb opposes towards the palm: if they stand on the back, it is a left hand. None
    where fewer than three palm markers are seen together or the fingers tell nothing.
    """
    digits = [i for i, spot in enumerate(spots) if spot.joint in BENDING_JOINTS]
    together = palm_together(spots, positions)
    if not digits or not together.any():
        return None, 0.0
    local = in_palm(adult("right"), spots, positions[together])[:, digits]
    depth = np.array([spots[i].offset[2] for i in digits]) - local[..., 2]
    total, spread = np.nansum(depth), np.nansum(np.abs(depth))
    if not spread > 1e-6 * depth.size:
        return None, 0.0
    return ("right" if total > 0 else "left"), float(abs(total) / spread)
