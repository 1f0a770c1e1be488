"""Smooth the markers of the hands, between cleaning and solving."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..capture.markers import Markers
from ..hand.finite_points import finite_points
from ..hand.joints import Side
from ..hand.targets import assign
from ..solvers import Smoothing
from .performer import Performer

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedMarkers:
    """Markers after smoothing."""

    markers: Markers
    """Outliers are replaced and marked as predicted, or NaN if they cannot be."""
    noise: dict[Side, Floats]
    """side -> (1, 2, T) estimated noise of the hand's markers, see solvers.smoothing.smooth.Smooth."""


def smooth_markers(
    smoothing: Smoothing, performer: Performer, markers: Markers, samples: Bools, gap_limit: float
) -> SmoothedMarkers:
    """Smooth the cleaned markers of the performer's hands. Other markers stay as they are.

    samples (F, M): True where a position was measured; cleaning filled gaps of up to gap_limit s with the others.
    """
    positions, predicted, noise = markers.positions.copy(), markers.predicted.copy(), {}
    rotations = None if markers.rotations is None else markers.rotations.copy()
    for side, measured in performer.hands.items():
        columns = [markers.names.index(label) for label in measured.spots]
        hand_rotations = None if rotations is None else rotations[:, columns]
        hand, targets = assign(
            measured.model, measured.spots, markers.times, positions.take(columns, axis=1), hand_rotations
        )
        seen = replace(targets, weights=targets.weights * samples[:, columns])
        smooth = smoothing.smooth_targets(hand, seen, gap_limit)
        noise[side] = np.median(smooth.noise, axis=0, keepdims=True)
        if smooth.targets is seen:  # nothing was smoothed
            continue
        smoothed_positions = positions.take(columns, axis=1)
        smoothed_positions[smooth.rejected] = np.nan
        np.copyto(smoothed_positions, smooth.targets.positions, where=smooth.targets.weights[..., None] > 0)
        positions[:, columns] = smoothed_positions
        predicted[:, columns] |= smooth.predicted
        if rotations is not None and hand_rotations is not None and smooth.targets.rotations is not None:
            rotations[:, columns] = np.where(np.isfinite(hand_rotations), smooth.targets.rotations, np.nan)
    is_finite = finite_points(positions)
    smoothed = replace(markers, positions=positions, predicted=predicted & is_finite, rotations=rotations)
    return SmoothedMarkers(smoothed, noise)
