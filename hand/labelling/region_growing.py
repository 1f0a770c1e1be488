"""Extend labels from known trajectories to unknown fragments, which are identified by the hand that they belong to."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..generators import Progress, Steps
from .label_confidence import of_marker
from .palm_candidates import ASIDE, EXACT, STRAY
from .shape_model import HandShape
from .trajectories import Trajectories

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LOOKS = 12
"""Frames of a fragment that are compared."""
MOST_FRAGMENTS = 3000
"""The longest ones; the rest is noise."""
MARGIN = (1.0, 0.2)
"""Margin in cost of the best spot over the next: while other fragments are open, and in the last pass."""
WORST = 10.0
"""Half the squared deviations per spot and neighbour above which a fragment is not of this hand."""
LINKED = 0.5
"""s, longest gap over which a spot's last position predicts its next."""
PACE = 1.0
"""m/s, speed of a marker over a gap."""
SHARED = 0.02
"""Share of a fragment's frames in which another trajectory may have its spot: remainders of swaps."""


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryStats:
    """What is known of K trajectories."""

    spot: Ints
    """(K,) −1 for those that are none of the hand's, or unknown."""
    confidence: Floats
    """(K,) 0..1"""


@dataclass(slots=True, eq=False)
class _State:
    """Known positions of the hand's C spots in F frames; updated as fragments are identified."""

    places: Floats
    """(F, C, 3) m, NaN where unknown."""
    known: Bools
    """(F, C)"""

    def add(self, rows: Ints, spot: int, places: Floats) -> None:
        """Add a fragment's positions (N, 3) in frames (N,), where the spot is not known yet."""
        new = ~self.known[rows, spot]
        self.places[rows[new], spot] = places[new]
        self.known[rows[new], spot] = True


def grow(tracks: Trajectories, shape: HandShape, start: TrajectoryStats, free: Bools) -> Steps[TrajectoryStats]:
    """Identify free trajectories (K,) by their position in the palm, their neighbours, and continuity in time."""
    times, positions = tracks.times, tracks.positions
    spot, confidence = start.spot.copy(), start.confidence.copy()
    rows_of = tracks.rows()
    state = _State(
        *(np.full((len(times), len(shape.spots), 3), np.nan), np.zeros((len(times), len(shape.spots)), bool))
    )
    for track in np.flatnonzero(spot >= 0):
        rows, column = rows_of[track]
        state.add(rows, int(spot[track]), positions[rows, column])
    open_ones = np.flatnonzero(free & (spot < 0))
    open_list = list(open_ones[np.argsort(-tracks.count[open_ones], kind="stable")][:MOST_FRAGMENTS])
    for margin in MARGIN:
        told = True
        while told and open_list:
            told = False
            for track in list(open_list):
                yield Progress(0.0, f"Telling what else is of the {shape.side} hand")
                rows, column = rows_of[track]
                costs = _costs(times, positions[rows, column], rows, state, shape)
                best = int(costs.argmin())
                rival = min(float(np.partition(costs, 1)[1]), WORST)
                if not np.isfinite(costs[best]) or costs[best] > WORST or rival - costs[best] < margin:
                    continue
                spot[track], confidence[track] = best, float(of_marker(rival - costs[best]))
                state.add(rows, best, positions[rows, column])
                open_list.remove(track)
                told = True
    return TrajectoryStats(spot, confidence)


def _costs(times: Floats, places: Floats, rows: Ints, state: _State, shape: HandShape) -> Floats:
    """Cost (C,) at each spot of a fragment with positions (N, 3) in frames (N,); infinite where it cannot be."""
    taken = state.known[rows].mean(0) > SHARED
    looks = np.unique(np.linspace(0, len(rows) - 1, LOOKS).astype(int))
    palm = (state.known[rows[looks]] & shape.palm).sum(1) >= 3
    if not palm.any():
        return np.full(len(taken), np.inf)
    looks = looks[palm]
    here, known = places[looks], state.known[rows[looks]]
    spots = np.where(known[..., None], state.places[rows[looks]], 0.0)
    held = (known & shape.palm).astype(float)
    move = rot.fit_rigid(np.broadcast_to(shape.mean, spots.shape), spots, held)
    local = np.einsum("nji,nj->ni", move[:, :3, :3], here - move[:, :3, 3])
    person = (ASIDE * (EXACT if shape.exact else 1.0)) ** 2 + STRAY**2
    spread = shape.spread + person * np.eye(3)
    off = local[:, None] - shape.mean
    cost = (np.einsum("nci,cij,ncj->c", off, np.linalg.inv(spread), off) / len(looks)) / 2
    cost += _scale(np.linalg.slogdet(spread)[1], 3)
    cost += _beside(np.linalg.norm(here[:, None] - spots, axis=-1), known, shape)
    cost += _after(times, places, rows, state)
    result: Floats = np.where(taken, np.inf, cost)
    return result


def _scale(log_of: Floats, sizes: int) -> Floats:
    """Half a log determinant, relative to that of a palm's spot."""
    scaled: Floats = (log_of - sizes * 2 * np.log(0.004)) / 2 / 3
    return scaled


def _beside(apart: Floats, known: Bools, shape: HandShape) -> Floats:
    """Cost (C,) at each spot of distances (N, C) to the known spots (N, C): the mean over frames and spots."""
    variance = shape.sway + (0.03 * shape.apart + STRAY) ** 2
    off = (apart[:, None] - shape.apart) ** 2 / variance / 2
    each = np.minimum(off + np.log(variance / STRAY**2) / 4, 12.0)
    each = np.where(known[:, None], each, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    weighted: Floats = (each * shape.weight).sum(1) / np.maximum((shape.weight * known.any(0)).sum(1), 0.5)
    return weighted


def _after(times: Floats, places: Floats, rows: Ints, state: _State) -> Floats:
    """Cost (C,) of a spot's jump from its last position to the fragment's start, and from its end to the next."""
    total = np.zeros(state.known.shape[1])
    for row, place, step in ((rows[0], places[0], -1), (rows[-1], places[-1], 1)):
        reach = int(np.searchsorted(times, times[row] + step * LINKED))
        span = np.arange(reach, row) if step < 0 else np.arange(row + 1, min(reach, len(times)))
        if not len(span):
            continue
        known = state.known[span]
        at = (len(span) - 1 - known[::-1].argmax(0)) if step < 0 else known.argmax(0)
        frames = span[at]
        gap = np.abs(times[row] - times[frames])
        miss = np.linalg.norm(state.places[frames, np.arange(len(total))] - place, axis=-1)
        cost = np.minimum((miss / (0.006 + PACE * gap)) ** 2, 4.0) / 2 - 1.0
        total += np.where(known.any(0), cost, 0.0)
    return total
