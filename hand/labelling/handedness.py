"""Decide between left and right by a hand's shape: labels are wrong too often (mirrored cameras, swapped gloves)."""

import numpy as np
from numpy.typing import NDArray

from ..joints import BENDING_JOINTS, Side
from ..marker_sets import Spot, palm_visible
from ..proportions import adult, to_wrist_frame

Floats = NDArray[np.float64]

FLAT = 0.01
"""Spread (rms) of the markers about a plane, as a share of that along their longest axis, up to which a hand is drawn
flat: as some skeletons are at rest, whose fingers are a millimetre on one side of the palm or the other."""


def handedness(spots: tuple[Spot, ...], positions: Floats) -> tuple[Side | None, float]:
    """Decide the side of a hand and its confidence, 0..1.

    A right hand's palm is fitted to the palm markers. Because these are nearly coplanar, it lies upside down on a left
    hand. Fingers curl and the thumb opposes towards the palm: if they are on the back, it is a left hand.

    Args:
        spots: where the M markers sit.
        positions: (F, M, 3) m, NaN where not seen.

    Returns:
        None and 0 if no frame shows three palm markers, or all markers lie in a plane in all frames.
    """
    digits = [i for i, spot in enumerate(spots) if spot.joint in BENDING_JOINTS]
    palm_seen = palm_visible(spots, positions)
    if not digits or not palm_seen.any() or _is_flat(positions[palm_seen]):
        return None, 0.0
    local = to_wrist_frame(adult("right"), spots, positions[palm_seen])[:, digits]
    depth = np.array([spots[i].offset[2] for i in digits]) - local[..., 2]
    total, spread = np.nansum(depth), np.nansum(np.abs(depth))
    if not spread > 1e-6 * depth.size:
        return None, 0.0
    return ("right" if total > 0 else "left"), float(abs(total) / spread)


def _is_flat(positions: Floats) -> bool:
    """Whether markers (F, M, 3) are in one plane in every frame; NaN where not seen."""
    centred = positions - np.nanmean(positions, axis=1, keepdims=True)
    sizes = np.linalg.svd(np.nan_to_num(centred), compute_uv=False)
    return bool((sizes[:, 2] < FLAT * sizes[:, 0]).all())
