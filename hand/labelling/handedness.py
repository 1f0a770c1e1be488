"""Decide between left and right by a hand's shape, since labels are often wrong (mirrored cameras, swapped gloves)."""

import numpy as np
from numpy.typing import NDArray

from ..finite_points import finite_points
from ..joints import BENDING_JOINTS, Side
from ..marker_sets import Spot, palm_visible
from ..proportions import adult, to_wrist_frame

Floats = NDArray[np.float64]

MIN_ASYMMETRY = 0.5
"""Minimum asymmetry of the markers in a frame that shows the side; it is 1 if all are on the same side of the palm."""
MIN_AGREEMENT = 0.75
"""Minimum fraction of these frames that must show the same side: damaged positions show both."""
MAX_FLATNESS = 0.01
"""Ratio of the markers' spread across their plane to that along their longest axis below which a hand is flat. Some
skeletons are flat at rest, with fingers a millimetre to either side of the palm."""


def handedness(spots: tuple[Spot, ...], positions: Floats) -> tuple[Side | None, float]:
    """Decide the side of a hand and its confidence, 0..1.

    A right hand's palm is fitted to the palm markers. Because these are nearly coplanar, it lies upside down on a left
    hand. Fingers curl and the thumb opposes towards the palm: if they are on the back, it is a left hand.

    Args:
        spots: where the M markers sit.
        positions: (F, M, 3) m, NaN where not seen.

    Returns:
        None and 0 if no frame shows three palm markers, all markers lie in a plane in all frames, or the fingers leave
        the palm's plane to one side in some frames and to the other in others.
    """
    digits = [i for i, spot in enumerate(spots) if spot.joint in BENDING_JOINTS]
    palm_seen = palm_visible(spots, positions)
    if not digits or not palm_seen.any() or _is_flat(positions[palm_seen]):
        return None, 0.0
    local = to_wrist_frame(adult("right"), spots, positions[palm_seen])[:, digits]
    depth = np.array([spots[i].offset[2] for i in digits]) - local[..., 2]
    depths, spreads = np.nansum(depth, axis=1), np.nansum(np.abs(depth), axis=1)
    total, spread = depths.sum(), spreads.sum()
    if not spread > 1e-6 * depth.size:
        return None, 0.0
    signs = np.sign(depths[np.abs(depths) > MIN_ASYMMETRY * spreads])
    if np.count_nonzero(signs == np.sign(total)) < MIN_AGREEMENT * len(signs):
        return None, 0.0
    return ("right" if total > 0 else "left"), float(abs(total) / spread)


def _is_flat(positions: Floats) -> bool:
    """Return whether markers (F, M, 3) are in one plane in every frame; NaN where not seen."""
    visible_positions = np.where(finite_points(positions)[..., None], positions, np.nan)
    centred = np.nan_to_num(visible_positions - np.nanmean(visible_positions, axis=1, keepdims=True))
    squares = np.linalg.eigvalsh(centred.swapaxes(1, 2) @ centred)
    return bool((squares[:, 0] < MAX_FLATNESS**2 * squares[:, 2]).all())
