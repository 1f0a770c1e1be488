"""Find markers of a hand whose labels are exchanged for some frames, by their trajectories and mutual distances."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .palm_candidates import TrajectorySample
from .trajectories import Trajectories, find_trajectories, select_evenly

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_FRAMES = 200
"""Maximum number of evenly spaced frames from which mutual distances are computed, and in which a swap is checked."""
MIN_UNSWAPPED_FRAMES = 10
"""Minimum number of frames without a swap from which the usual distances are computed; with fewer, all are used."""
MAX_MOVED_TRACKS = 100
"""Maximum number of trajectories that are examined among those that change columns, the longest ones."""
MAX_ERROR_RATIO = 0.25
"""A swap is clear if exchanging the labels reduces the squared error of the distances to less than this fraction."""


@dataclass(frozen=True, slots=True)
class Swap:
    """Two columns that contain each other's marker over some frames."""

    columns: tuple[int, int]
    first: int
    last: int
    is_confirmed: bool
    """Whether the distances to the hand's other markers confirm it."""


def find_swaps(times: Floats, positions: Floats) -> tuple[Swap, ...]:
    """Find swaps among the markers of one hand: two trajectories, each in the usual column of the other.

    Args:
        times: (F,) s.
        positions: (F, M, 3) m, NaN where not seen.
    """
    tracks = find_trajectories(times, positions)
    usual_columns = _usual_columns(tracks)
    row, column = np.nonzero(tracks.ids >= 0)
    owner = tracks.ids[row, column]
    moved_tracks = np.unique(owner[column != usual_columns[owner]])
    moved_tracks = moved_tracks[np.argsort(-tracks.count[moved_tracks], kind="stable")[:MAX_MOVED_TRACKS]]
    if not len(moved_tracks):
        return ()
    column_of_track = {int(track): _column_of(tracks, int(track)) for track in moved_tracks}
    unswapped = np.ones(len(times), bool)
    unswapped[row[column != usual_columns[owner]]] = False
    # Usual distances come from frames without a swap, if there are enough.
    usable = np.flatnonzero(unswapped) if unswapped.sum() >= MIN_UNSWAPPED_FRAMES else np.arange(len(times))
    sample = TrajectorySample.of(positions[select_evenly(usable, MAX_FRAMES)])
    swaps = []
    for first, second in combinations(column_of_track, 2):
        pair = (int(usual_columns[first]), int(usual_columns[second]))
        rows = np.flatnonzero(
            (column_of_track[first] == pair[1]) & (column_of_track[second] == pair[0]) & (pair[0] != pair[1])
        )
        for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else ():
            is_confirmed = _confirmed_by_distances(positions, sample, pair, run)
            swaps.append(Swap(pair, int(run[0]), int(run[-1]), is_confirmed))
    return tuple(sorted(swaps, key=lambda swap: (swap.first, swap.columns)))


def _column_of(tracks: Trajectories, track: int) -> Ints:
    """Return the column (F,) of a trajectory, −1 where it is not seen."""
    is_track = tracks.ids == track
    column: Ints = np.where(is_track.any(1), is_track.argmax(1), -1)
    return column


def _usual_columns(tracks: Trajectories) -> Ints:
    """Return the column (K,) in which each trajectory is seen most."""
    counts = np.zeros((len(tracks.first), tracks.ids.shape[1]), int)
    row, column = np.nonzero(tracks.ids >= 0)
    np.add.at(counts, (tracks.ids[row, column], column), 1)
    columns: Ints = counts.argmax(1) if counts.size else np.zeros(0, int)
    return columns


def _confirmed_by_distances(positions: Floats, sample: TrajectorySample, pair: tuple[int, int], run: Ints) -> bool:
    """Return whether the distances to other markers fit much better if the pair is exchanged in the frames `run`."""
    rows = select_evenly(run, MAX_FRAMES)
    others = np.setdiff1d(np.arange(positions.shape[1]), pair)
    errors = []
    for a, b in (pair, pair[::-1]):
        total = 0.0
        for column, assumed in ((pair[0], a), (pair[1], b)):
            distances = np.linalg.norm(positions[rows][:, others] - positions[rows, column, None], axis=-1)
            squared_error = (distances - sample.mean_distances[assumed, others]) ** 2 / (
                sample.distance_variances[assumed, others] + sample.rigid_sd**2
            )
            squared_error = squared_error[:, np.isfinite(sample.mean_distances[assumed, others])]
            is_finite = np.isfinite(squared_error)
            total += float(np.where(is_finite, squared_error, 0).sum() / max(is_finite.sum(), 1))
        errors.append(total)
    return errors[1] < MAX_ERROR_RATIO * errors[0]


def corrected_columns(frames: int, count: int, swaps: tuple[Swap, ...]) -> Ints:
    """Return the column (F, M) that contains the data of each column, with clear swaps corrected."""
    order = np.tile(np.arange(count), (frames, 1))
    for swap in swaps:
        if swap.is_confirmed:
            rows, pair = slice(swap.first, swap.last + 1), list(swap.columns)
            order[rows, pair] = order[rows, pair[::-1]]
    return order
