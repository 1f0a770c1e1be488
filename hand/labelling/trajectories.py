"""Trajectories: columns of positions are split where they jump, and pieces joined where one continues another."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOISE_STEP_M = 0.004
"""m: a step that differs by less from its neighbours is noise, never a jump."""
MAX_ACCELERATION = 150.0
"""m/s², more than a fingertip reaches: a larger change of velocity between two frames is a jump to another marker."""
MAX_GAP_S = 0.3
"""s over which trajectories are joined; over longer gaps the hand's position is a better predictor."""
GAP_ACCELERATION = 20.0
"""m/s², change of a marker's velocity while it is not seen."""
MAX_PREDICTION_ERROR_M = 0.03
"""m, the largest prediction error over a gap: about the distance of two fingers."""
GAP_PENALTY = 0.1
"""m/s, penalty on a gap's duration: of two equally good continuations the earlier one is chosen."""
MIN_ERROR_RATIO = 2.0
"""A join is clear if the next best has an error this many times as large."""


@dataclass(frozen=True, slots=True, eq=False)
class Trajectories:
    """K trajectories over F frames of M columns, each continuous except for short gaps."""

    times: Floats
    """(F,) s"""
    positions: Floats
    """(F, M, 3) m, NaN where not seen."""
    ids: Ints
    """(F, M) the trajectory of each column's position, −1 where the column is not seen."""
    first: Ints
    """(K,) the first frame of each."""
    last: Ints
    """(K,) the last frame of each."""
    count: Ints
    """(K,) number of frames in which each is seen."""

    def positions_in(self, frames: Ints, track_ids: Ints) -> Floats:
        """Positions (N, T, 3) m of some trajectories (T,) in some frames (N,), NaN where not seen."""
        slot_of = np.full(len(self.first), -1)
        slot_of[track_ids] = np.arange(len(track_ids))
        ids = self.ids[frames]
        row, column = np.nonzero(ids >= 0)
        slot = slot_of[ids[row, column]]
        row, column, slot = row[slot >= 0], column[slot >= 0], slot[slot >= 0]
        result = np.full((len(frames), len(track_ids), 3), np.nan)
        result[row, slot] = self.positions[frames[row], column]
        return result

    def frames_and_columns(self) -> list[tuple[Ints, Ints]]:
        """Frames and columns (N,), (N,) of each trajectory, in the order of the frames."""
        row, column = np.nonzero(self.ids >= 0)
        owner = self.ids[row, column]
        order = np.argsort(owner, kind="stable")
        cuts = np.searchsorted(owner[order], np.arange(1, len(self.first)))
        return list(zip(np.split(row[order], cuts), np.split(column[order], cuts), strict=True))


def evenly_spaced(rows: Ints, most: int) -> Ints:
    """Select at most `most` of some rows (N,), evenly spaced, with the first and the last."""
    if not len(rows):
        return rows
    selected: Ints = rows[np.unique(np.linspace(0, len(rows) - 1, most).astype(int))]
    return selected


def find_trajectories(times: Floats, positions: Floats) -> Trajectories:
    """Find the trajectories in positions (F, M, 3) m at times (F,) s, NaN where not seen."""
    visible: Bools = np.all(np.isfinite(positions), axis=-1)
    begins = visible.copy()
    begins[1:] &= ~visible[:-1] | jumps(times, positions)[1:]
    # Pieces are numbered by column, so that those of a column are consecutive.
    number = np.cumsum(begins.T.ravel()).reshape(begins.T.shape).T - 1
    piece_ids: Ints = np.where(visible, number, -1)
    column, first = np.nonzero(begins.T)
    count = np.bincount(piece_ids[visible], minlength=len(first))
    pieces = _Pieces(column, first, first + count - 1)
    first_pieces = _join_pieces(pieces, times, positions)
    _, merged = np.unique(first_pieces, return_inverse=True)
    ids = np.where(visible, merged[np.maximum(piece_ids, 0)] if len(merged) else -1, -1)
    tracks = int(merged.max()) + 1 if len(merged) else 0
    begin, end = np.full(tracks, len(times)), np.full(tracks, -1)
    np.minimum.at(begin, merged, first)
    np.maximum.at(end, merged, pieces.last)
    frame_counts = np.bincount(merged, weights=count, minlength=tracks).astype(int)
    return Trajectories(times, positions, ids, begin, end, frame_counts)


def jumps(times: Floats, positions: Floats) -> Bools:
    """Mask (F, M) of jumps: columns that contain another marker than in the frame before.

    At a jump, the step differs from both neighbouring steps by more than a hand can accelerate, or by enough that
    another column is at most half as far from the predicted position.
    """
    result = np.zeros(positions.shape[:2], bool)
    if len(positions) < 3:
        return result
    with np.errstate(invalid="ignore"):
        steps = np.diff(positions, axis=0)
        spans = np.maximum(np.diff(times), 1e-6)
        change = np.linalg.norm(np.diff(steps / spans[:, None, None], axis=0), axis=-1)
        nothing = np.full((1, positions.shape[1]), np.nan)
        step_change = np.fmin(np.concatenate([nothing, change]), np.concatenate([change, nothing])) * spans[:, None]
        known = np.where(np.isfinite(step_change), step_change, np.inf)
        typical = np.sort(known, axis=0)[np.maximum(np.isfinite(step_change).sum(0) // 2, 0), np.arange(known.shape[1])]
    limit = 2 * NOISE_STEP_M + MAX_ACCELERATION * np.minimum(spans, 0.1) ** 2
    jumped = step_change > limit[:, None]
    frame, column = np.nonzero(step_change > np.maximum(NOISE_STEP_M, 6 * typical))
    previous_step = np.where(
        np.isfinite(steps[np.maximum(frame - 1, 0), column]), steps[np.maximum(frame - 1, 0), column], 0
    )
    span_ratio = spans[frame] / spans[np.maximum(frame - 1, 0)]
    expected = positions[frame, column] + previous_step * span_ratio[:, None]
    for chunk in np.array_split(np.arange(len(frame)), max(1, len(frame) // 4096)):
        distances = np.linalg.norm(positions[frame[chunk] + 1] - expected[chunk, None], axis=-1)
        own_distance = distances[np.arange(len(chunk)), column[chunk]]
        distances[np.arange(len(chunk)), column[chunk]] = np.inf
        other_is_closer = (
            np.nanmin(np.where(np.isnan(distances), np.inf, distances), axis=1, initial=np.inf) < own_distance / 2
        )
        jumped[frame[chunk[other_is_closer]], column[chunk[other_is_closer]]] = True
    result[1:] = jumped
    return result


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """Starts and ends (P,) of pieces, ordered by column and frame."""

    column: Ints
    first: Ints
    last: Ints

    def velocity(self, times: Floats, positions: Floats, at_end: bool) -> Floats:
        """Velocity (P, 3) m/s over up to three steps at the start or end; zero for a single position."""
        steps = np.minimum(self.last - self.first, 3)
        a = self.last - steps if at_end else self.first
        b = a + steps
        span = np.where(steps > 0, times[b] - times[a], 1.0)
        speed: Floats = (positions[b, self.column] - positions[a, self.column]) / span[:, None]
        return speed


def _join_pieces(pieces: _Pieces, times: Floats, positions: Floats) -> Ints:
    """First piece (P,) of the trajectory to which each piece belongs.

    A piece continues another if each is the other's best prediction by a clear margin.
    """
    count = len(pieces.first)
    first_pieces = np.arange(count)
    if not count:
        return first_pieces
    end_velocity, start_velocity = pieces.velocity(times, positions, True), pieces.velocity(times, positions, False)
    order = np.argsort(pieces.first, kind="stable")
    starts = pieces.first[order]
    low = np.searchsorted(starts, pieces.last + 1, "left")
    high = np.searchsorted(times[starts], times[pieces.last] + MAX_GAP_S, "right")
    candidates = np.maximum(high - low, 0)
    earlier = np.repeat(np.arange(count), candidates)
    later = order[
        np.repeat(low, candidates) + np.arange(len(earlier)) - np.repeat(np.cumsum(candidates) - candidates, candidates)
    ]
    gap = times[pieces.first[later]] - times[pieces.last[earlier]]
    has_velocity = np.minimum(pieces.last - pieces.first, 1)
    velocity_count = np.maximum(has_velocity[earlier] + has_velocity[later], 1)[:, None]
    velocity = (end_velocity[earlier] + start_velocity[later]) / velocity_count
    displacement = (
        positions[pieces.first[later], pieces.column[later]] - positions[pieces.last[earlier], pieces.column[earlier]]
    )
    error = np.linalg.norm(displacement - velocity * gap[:, None], axis=-1)
    allowed = np.minimum(
        NOISE_STEP_M + 0.25 * np.linalg.norm(velocity, axis=-1) * gap + GAP_ACCELERATION / 2 * gap**2,
        MAX_PREDICTION_ERROR_M,
    )
    within = error <= allowed
    earlier, later, error = earlier[within], later[within], (error + GAP_PENALTY * gap)[within]
    best_of_earlier, rival_of_earlier = _two_best(earlier, error, count)
    best_of_later, rival_of_later = _two_best(later, error, count)
    pairs = np.arange(len(error))
    mutual = (best_of_earlier[earlier] == pairs) & (best_of_later[later] == pairs)
    rival = np.minimum(rival_of_earlier[earlier], rival_of_later[later])
    clear = mutual & (rival > MIN_ERROR_RATIO * error + NOISE_STEP_M / 4)
    for a, b in sorted(zip(earlier[clear], later[clear], strict=True), key=lambda pair: int(pieces.first[pair[1]])):
        first_pieces[b] = first_pieces[a]
    return first_pieces


def _two_best(owner: Ints, errors: Floats, owners: int) -> tuple[Ints, Floats]:
    """Row (O,) of each owner's least error, −1 for none, and its second least error (O,), infinite for none."""
    order = np.lexsort((errors, owner))
    sorted_owner = owner[order]
    begin = np.searchsorted(sorted_owner, np.arange(owners), "left")
    end = np.searchsorted(sorted_owner, np.arange(owners), "right")
    padded = np.append(order, [0, 0])
    first = np.where(end > begin, padded[np.minimum(begin, len(order))], -1)
    second = np.where(end > begin + 1, np.append(errors[order], [np.inf, np.inf])[begin + 1], np.inf)
    return first, second
