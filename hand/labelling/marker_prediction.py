"""Predict where a hand's markers are in every frame of a take, by its pose there."""

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import ShapeParameters, marker_positions
from ..calibration.skin_markers.pose_fit import VisibleMarkers, best_start, fit_poses
from ..calibration.skin_markers.priors import START_ANGLES
from ..joints import Side
from ..mirror import POINT_SIGNS
from .model_fit import MARKER_SPREAD_M, pose_model

Floats = NDArray[np.float64]

MIN_SEEN = 6
"""Markers that a pose needs."""
ITERATIONS, TOLERANCE = 8, 1e-3


def predict_markers(shape: ShapeParameters, side: Side, positions: Floats) -> Floats:
    """Positions (F, C, 3) m of all markers of a hand, from those that are known; NaN in frames with too few.

    Args:
        shape: the hand, a right one.
        side: the hand's side.
        positions: (F, C, 3) m, NaN where not known.
    """
    signs = POINT_SIGNS if side == "left" else np.ones(3)
    predicted = np.full(positions.shape, np.nan)
    rows = np.flatnonzero(np.isfinite(positions[..., 0]).sum(axis=1) >= MIN_SEEN)
    if not len(rows):
        return predicted
    seen = VisibleMarkers.from_positions(positions[rows] * signs)
    model = pose_model(shape, MARKER_SPREAD_M)
    start = best_start(model, START_ANGLES, seen, np.any(seen.visible, axis=0))
    poses, _ = fit_poses(model, start, seen, ITERATIONS, TOLERANCE)
    local = marker_positions(shape, poses.angles).positions.transpose(2, 1, 0)
    world = np.einsum("fij,fcj->fci", poses.rotations, local) + poses.positions[:, None]
    predicted[rows] = world * signs
    return predicted
