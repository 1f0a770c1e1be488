"""Extend labels from identified trajectories to the others by region growing.

A trajectory is identified by its position on the hand, its distances to identified markers, and continuity in time. A
spot is one of the positions on a hand at which a marker of the set sits.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..generators import Progress, Steps
from .label_confidence import fragment_confidence, marker_confidence
from .palm_candidates import MARKER_PLACEMENT_SD_M, MEASURED_SD_FACTOR, SKIN_SD_M
from .shape_model import HandShape
from .trajectories import Trajectories, select_evenly

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COMPARED_FRAMES = 12
"""Number of frames of a trajectory for which costs are computed."""
MAX_FRAGMENTS = 3000
"""Maximum number of unlabelled trajectories that are tried, the longest first; the rest is noise."""
MIN_MARGINS = (1.0, 0.2)
"""Minimum difference in cost between the best spot and the second best, in the first pass and in the second."""
MAX_COST = 10.0
"""Cost above which a trajectory does not belong to this hand."""
MAX_LINK_S = 0.5
"""s, longest gap over which a spot's last position predicts its next."""
GAP_SPEED = 1.0
"""m/s, assumed speed of a marker in a gap."""
MAX_OVERLAP = 0.02
"""Maximum fraction of a trajectory's frames in which another trajectory already has its spot: swapped markers overlap
briefly."""
PREDICTION_SD_M = 0.01
"""m, standard deviation of a marker's position from the one that the hand's pose predicts."""
PALM_SPOT_SD_M = 0.004
"""m, standard deviation of a spot on the palm, the unit of the log determinants of all spots' covariances."""


@dataclass(frozen=True, slots=True, eq=False)
class TrackLabels:
    """The spot of each of K trajectories."""

    spot: Ints
    """(K,) indices of spots; −1 if unknown, or if the trajectory does not belong to the hand."""
    confidence: Floats
    """(K,) 0..1."""


@dataclass(slots=True, eq=False)
class _KnownPositions:
    """Known positions of the hand's C spots in F frames; updated as fragments are identified."""

    positions: Floats
    """(F, C, 3) m, NaN where unknown."""
    is_known: Bools
    """(F, C)"""
    predicted: Floats | None
    """(F, C, 3) m, positions by the hand's pose, NaN where unknown; None without poses."""

    def add(self, rows: Ints, spot: int, positions: Floats) -> None:
        """Add a trajectory's positions (N, 3) in frames (N,) where the spot's position is not known yet."""
        is_new = ~self.is_known[rows, spot]
        self.positions[rows[is_new], spot] = positions[is_new]
        self.is_known[rows[is_new], spot] = True


def label_fragments(
    tracks: Trajectories,
    shape: HandShape,
    initial_labels: TrackLabels,
    free: Bools,
    *,
    predicted: Floats | None = None,
    margins: tuple[float, ...] = MIN_MARGINS,
) -> Steps[TrackLabels]:
    """Extend the initial labels to other trajectories.

    Args:
        tracks: K trajectories.
        shape: the hand, with C spots.
        initial_labels: the labels to start from.
        free: (K,) whether a trajectory may be assigned to this hand.
        predicted: (F, C, 3) m, positions of the spots by the hand's pose, NaN where unknown. If None, positions are
            compared with the mean shape, aligned with the palm.
        margins: see MIN_MARGINS, one for each pass.
    """
    times, positions = tracks.times, tracks.positions
    spot, confidence = initial_labels.spot.copy(), initial_labels.confidence.copy()
    rows_of = tracks.frames_and_columns()
    size = len(times), len(shape.spots)
    state = _KnownPositions(np.full((*size, 3), np.nan), np.zeros(size, bool), predicted)
    for track in np.flatnonzero(spot >= 0):
        rows, column = rows_of[track]
        state.add(rows, int(spot[track]), positions[rows, column])
    unlabelled = np.flatnonzero(free & (spot < 0))
    fragments = list(unlabelled[np.argsort(-tracks.count[unlabelled], kind="stable")][:MAX_FRAGMENTS])
    confidence_at = marker_confidence if predicted is None else fragment_confidence
    for margin in margins:
        changed = True
        while changed and fragments:
            changed = False
            for track in list(fragments):
                yield Progress(0.0, f"Identifying the other markers of the {shape.side} hand")
                rows, column = rows_of[track]
                costs = _spot_costs(times, positions[rows, column], rows, state, shape)
                open_costs = np.where(state.is_known[rows].mean(0) > MAX_OVERLAP, np.inf, costs)
                best = int(open_costs.argmin())
                # Poses are fitted to the labels, so a wrong label makes its spot fit: occupied spots compete, too.
                rivals = np.delete(open_costs if predicted is None else costs, best)
                rival = min(float(rivals.min()), MAX_COST)
                if open_costs[best] > MAX_COST or rival - costs[best] < margin:
                    continue
                spot[track], confidence[track] = best, float(confidence_at(rival - costs[best]))
                state.add(rows, best, positions[rows, column])
                fragments.remove(track)
                changed = True
    return TrackLabels(spot, confidence)


def _spot_costs(times: Floats, positions: Floats, rows: Ints, state: _KnownPositions, shape: HandShape) -> Floats:
    """Return the cost (C,) of each spot for positions (N, 3) in frames (N,); infinite without a pose or palm."""
    compared = select_evenly(np.arange(len(rows)), COMPARED_FRAMES)
    predicted = state.predicted
    if predicted is None:
        usable = (state.is_known[rows[compared]] & shape.palm).sum(1) >= 3
    else:
        usable = np.isfinite(predicted[rows[compared], 0, 0])
    if not usable.any():
        return np.full(len(shape.spots), np.inf)
    compared = compared[usable]
    observed, is_known = positions[compared], state.is_known[rows[compared]]
    spots = np.where(is_known[..., None], state.positions[rows[compared]], 0.0)
    if predicted is None:
        cost = _palm_costs(observed, spots, is_known, shape)
    else:
        cost = _prediction_costs(observed, predicted[rows[compared]])
    cost += _neighbour_costs(np.linalg.norm(observed[:, None] - spots, axis=-1), is_known, shape)
    cost += _continuity_costs(times, positions, rows, state)
    return cost


def _prediction_costs(observed: Floats, predicted: Floats) -> Floats:
    """Return the cost (C,) of each spot for positions (N, 3), from the spots' predicted positions (N, C, 3)."""
    squares = ((observed[:, None] - predicted) ** 2).sum(axis=-1) / PREDICTION_SD_M**2 / 2
    cost: Floats = squares.mean(axis=0)
    return cost


def _palm_costs(observed: Floats, spots: Floats, is_known: Bools, shape: HandShape) -> Floats:
    """Return the cost (C,) of each spot for positions (N, 3), from the mean shape aligned with spots (N, C, 3)."""
    palm_weights = (is_known & shape.palm).astype(float)
    transform = rot.fit_rigid(np.broadcast_to(shape.mean, spots.shape), spots, palm_weights)
    local = np.einsum("nji,nj->ni", transform[:, :3, :3], observed - transform[:, :3, 3])
    person_variance = (MARKER_PLACEMENT_SD_M * (MEASURED_SD_FACTOR if shape.is_measured else 1.0)) ** 2 + SKIN_SD_M**2
    covariances = shape.covariances + person_variance * np.eye(3)
    difference = local[:, None] - shape.mean
    cost = (np.einsum("nci,cij,ncj->c", difference, np.linalg.inv(covariances), difference) / len(observed)) / 2
    sizes: Floats = (np.linalg.slogdet(covariances)[1] - 3 * 2 * np.log(PALM_SPOT_SD_M)) / 2 / 3
    result: Floats = cost + sizes
    return result


def _neighbour_costs(distances: Floats, is_known: Bools, shape: HandShape) -> Floats:
    """Return the cost (C,) of each spot, averaged over the distances (N, C) to spots whose position is known (N, C)."""
    variance = shape.distance_variances + (0.03 * shape.mean_distances + SKIN_SD_M) ** 2
    error = (distances[:, None] - shape.mean_distances) ** 2 / variance / 2
    pair_cost = np.minimum(error + np.log(variance / SKIN_SD_M**2) / 4, 12.0)
    pair_cost = np.where(is_known[:, None], pair_cost, 0.0).sum(0) / np.maximum(is_known.sum(0), 1)
    cost: Floats = (pair_cost * shape.pair_weights).sum(1) / np.maximum(
        (shape.pair_weights * is_known.any(0)).sum(1), 0.5
    )
    return cost


def _continuity_costs(times: Floats, positions: Floats, rows: Ints, state: _KnownPositions) -> Floats:
    """Return the cost (C,) of the jumps from each spot's last position to the trajectory, and from it to the next."""
    total = np.zeros(state.is_known.shape[1])
    for row, position, direction in ((rows[0], positions[0], -1), (rows[-1], positions[-1], 1)):
        limit = int(np.searchsorted(times, times[row] + direction * MAX_LINK_S))
        span = np.arange(limit, row) if direction < 0 else np.arange(row + 1, min(limit, len(times)))
        if not len(span):
            continue
        known_in_span = state.is_known[span]
        nearest = (len(span) - 1 - known_in_span[::-1].argmax(0)) if direction < 0 else known_in_span.argmax(0)
        frames = span[nearest]
        gap = np.abs(times[row] - times[frames])
        distance = np.linalg.norm(state.positions[frames, np.arange(len(total))] - position, axis=-1)
        cost = np.minimum((distance / (0.006 + GAP_SPEED * gap)) ** 2, 4.0) / 2 - 1.0
        total += np.where(known_in_span.any(0), cost, 0.0)
    return total
