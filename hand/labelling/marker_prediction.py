"""Predict the positions of a hand's markers in every frame, from the hand's pose."""

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import ShapeParameters
from ..calibration.skin_markers.pose_fit import VisibleMarkers
from ..joints import Side
from ..mirror import POINT_SIGNS
from .model_fit import MARKER_SPREAD_M, first_poses, markers_of

Floats = NDArray[np.float64]

MIN_SEEN = 6
"""Minimum number of visible markers from which a pose is fitted."""
POSE_PASSES = 8
"""Maximum number of iterations of the poses."""


def predict_markers(shape: ShapeParameters, side: Side, positions: Floats) -> Floats:
    """Return positions (F, C, 3) m of all markers of a hand from the visible ones; NaN in frames with too few.

    Args:
        shape: the hand, a right one.
        side: the hand's side.
        positions: (F, C, 3) m, NaN where not seen.
    """
    signs = POINT_SIGNS if side == "left" else np.ones(3)
    predicted = np.full(positions.shape, np.nan)
    rows = np.flatnonzero(np.isfinite(positions[..., 0]).sum(axis=1) >= MIN_SEEN)
    if not len(rows):
        return predicted
    visible = VisibleMarkers.from_positions(positions[rows] * signs)
    predicted[rows] = markers_of(first_poses(shape, MARKER_SPREAD_M, visible, POSE_PASSES)) * signs
    return predicted
