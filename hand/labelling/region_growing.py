"""Extend labels from known trajectories to unknown fragments, which are identified by the hand that they belong to."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..generators import Progress, Steps
from .label_confidence import marker_confidence
from .palm_candidates import MARKER_PLACEMENT_SD_M, MEASURED_SD_FACTOR, SKIN_SD_M
from .shape_model import HandShape
from .trajectories import Trajectories

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COMPARED_FRAMES = 12
"""Frames of a fragment that are compared."""
MAX_FRAGMENTS = 3000
"""The longest ones; the rest is noise."""
MIN_MARGINS = (1.0, 0.2)
"""Margin in cost of the best spot over the next: while other fragments are open, and in the last pass."""
MAX_COST = 10.0
"""Half the squared deviations per spot and neighbour above which a fragment is not of this hand."""
MAX_LINK_S = 0.5
"""s, longest gap over which a spot's last position predicts its next."""
GAP_SPEED = 1.0
"""m/s, speed of a marker over a gap."""
MAX_OVERLAP = 0.02
"""Share of a fragment's frames in which another trajectory may have its spot: remainders of swaps."""


@dataclass(frozen=True, slots=True, eq=False)
class TrackLabels:
    """What is known of K trajectories."""

    spot: Ints
    """(K,) −1 for those that are none of the hand's, or unknown."""
    confidence: Floats
    """(K,) 0..1"""


@dataclass(slots=True, eq=False)
class _KnownPositions:
    """Known positions of the hand's C spots in F frames; updated as fragments are identified."""

    positions: Floats
    """(F, C, 3) m, NaN where unknown."""
    known: Bools
    """(F, C)"""

    def add(self, rows: Ints, spot: int, places: Floats) -> None:
        """Add a fragment's positions (N, 3) in frames (N,), where the spot is not known yet."""
        new = ~self.known[rows, spot]
        self.positions[rows[new], spot] = places[new]
        self.known[rows[new], spot] = True


def label_fragments(tracks: Trajectories, shape: HandShape, start: TrackLabels, free: Bools) -> Steps[TrackLabels]:
    """Identify free trajectories (K,) by their position in the palm, their neighbours, and continuity in time."""
    times, positions = tracks.times, tracks.positions
    spot, confidence = start.spot.copy(), start.confidence.copy()
    rows_of = tracks.frames_and_columns()
    state = _KnownPositions(
        *(np.full((len(times), len(shape.spots), 3), np.nan), np.zeros((len(times), len(shape.spots)), bool))
    )
    for track in np.flatnonzero(spot >= 0):
        rows, column = rows_of[track]
        state.add(rows, int(spot[track]), positions[rows, column])
    open_ones = np.flatnonzero(free & (spot < 0))
    open_list = list(open_ones[np.argsort(-tracks.count[open_ones], kind="stable")][:MAX_FRAGMENTS])
    for margin in MIN_MARGINS:
        told = True
        while told and open_list:
            told = False
            for track in list(open_list):
                yield Progress(0.0, f"Telling what else is of the {shape.side} hand")
                rows, column = rows_of[track]
                costs = _spot_costs(times, positions[rows, column], rows, state, shape)
                best = int(costs.argmin())
                rival = min(float(np.partition(costs, 1)[1]), MAX_COST)
                if not np.isfinite(costs[best]) or costs[best] > MAX_COST or rival - costs[best] < margin:
                    continue
                spot[track], confidence[track] = best, float(marker_confidence(rival - costs[best]))
                state.add(rows, best, positions[rows, column])
                open_list.remove(track)
                told = True
    return TrackLabels(spot, confidence)


def _spot_costs(times: Floats, places: Floats, rows: Ints, state: _KnownPositions, shape: HandShape) -> Floats:
    """Cost (C,) at each spot of a fragment with positions (N, 3) in frames (N,); infinite where it cannot be."""
    taken = state.known[rows].mean(0) > MAX_OVERLAP
    looks = np.unique(np.linspace(0, len(rows) - 1, COMPARED_FRAMES).astype(int))
    palm = (state.known[rows[looks]] & shape.palm).sum(1) >= 3
    if not palm.any():
        return np.full(len(taken), np.inf)
    looks = looks[palm]
    here, known = places[looks], state.known[rows[looks]]
    spots = np.where(known[..., None], state.positions[rows[looks]], 0.0)
    held = (known & shape.palm).astype(float)
    move = rot.fit_rigid(np.broadcast_to(shape.mean, spots.shape), spots, held)
    local = np.einsum("nji,nj->ni", move[:, :3, :3], here - move[:, :3, 3])
    person = (MARKER_PLACEMENT_SD_M * (MEASURED_SD_FACTOR if shape.measured else 1.0)) ** 2 + SKIN_SD_M**2
    spread = shape.covariances + person * np.eye(3)
    off = local[:, None] - shape.mean
    cost = (np.einsum("nci,cij,ncj->c", off, np.linalg.inv(spread), off) / len(looks)) / 2
    cost += _determinant_cost(np.linalg.slogdet(spread)[1], 3)
    cost += _neighbour_costs(np.linalg.norm(here[:, None] - spots, axis=-1), known, shape)
    cost += _continuity_costs(times, places, rows, state)
    result: Floats = np.where(taken, np.inf, cost)
    return result


def _determinant_cost(log_of: Floats, sizes: int) -> Floats:
    """Half a log determinant, relative to that of a palm's spot."""
    scaled: Floats = (log_of - sizes * 2 * np.log(0.004)) / 2 / 3
    return scaled


def _neighbour_costs(apart: Floats, known: Bools, shape: HandShape) -> Floats:
    """Cost (C,) at each spot of distances (N, C) to the known spots (N, C): the mean over frames and spots."""
    variance = shape.distance_variances + (0.03 * shape.mean_distances + SKIN_SD_M) ** 2
    off = (apart[:, None] - shape.mean_distances) ** 2 / variance / 2
    each = np.minimum(off + np.log(variance / SKIN_SD_M**2) / 4, 12.0)
    each = np.where(known[:, None], each, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    weighted: Floats = (each * shape.pair_weights).sum(1) / np.maximum((shape.pair_weights * known.any(0)).sum(1), 0.5)
    return weighted


def _continuity_costs(times: Floats, places: Floats, rows: Ints, state: _KnownPositions) -> Floats:
    """Cost (C,) of a spot's jump from its last position to the fragment's start, and from its end to the next."""
    total = np.zeros(state.known.shape[1])
    for row, place, step in ((rows[0], places[0], -1), (rows[-1], places[-1], 1)):
        reach = int(np.searchsorted(times, times[row] + step * MAX_LINK_S))
        span = np.arange(reach, row) if step < 0 else np.arange(row + 1, min(reach, len(times)))
        if not len(span):
            continue
        known = state.known[span]
        at = (len(span) - 1 - known[::-1].argmax(0)) if step < 0 else known.argmax(0)
        frames = span[at]
        gap = np.abs(times[row] - times[frames])
        miss = np.linalg.norm(state.positions[frames, np.arange(len(total))] - place, axis=-1)
        cost = np.minimum((miss / (0.006 + GAP_SPEED * gap)) ** 2, 4.0) / 2 - 1.0
        total += np.where(known.any(0), cost, 0.0)
    return total
