"""Find trajectories: split columns of positions where they jump, and join the pieces that continue each other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..finite_points import finite_points
from ..lengths import lengths

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOISE_STEP_M = 0.004
"""m, difference of a step from its neighbouring steps below which it is noise, never a jump."""
MAX_ACCELERATION = 150.0
"""m/s², more than a fingertip reaches: a larger change of velocity between two frames is a jump to another marker."""
JUMP_RATIO = 6.0
"""Ratio of a step's change to its column's median change below which the step is not a jump."""
NEIGHBOURS, MIN_NEIGHBOURS, NEIGHBOUR_DISTANCE_M = 6, 4, 0.15
"""Maximum and minimum number of nearby columns from whose median the hand's change of velocity is estimated, and their
maximum distance in m."""
MAX_GAP_S = 0.3
"""s over which trajectories are joined; over longer gaps the hand's position is a better predictor."""
GAP_ACCELERATION = 20.0
"""m/s², change of a marker's velocity while it is not seen."""
MAX_PREDICTION_ERROR_M = 0.03
"""m, the largest prediction error over a gap: about the distance of two fingers."""
GAP_PENALTY = 0.1
"""m/s, penalty on a gap's duration: of two equally good continuations the earlier one is chosen."""
MIN_ERROR_RATIO = 2.0
"""Minimum ratio of the next best join's error to that of the best, for which pieces are joined."""
MAX_PAIRS = 20_000_000
"""Maximum number of pairs of pieces, or of positions, that are compared, which takes a few seconds."""
CHUNK_PAIRS = 200_000
"""Pairs that are compared at a time: some ten megabytes."""


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
    """(K,) the first frame of each trajectory."""
    last: Ints
    """(K,) the last frame of each trajectory."""
    count: Ints
    """(K,) number of frames in which each trajectory is seen."""
    max_gap: float = MAX_GAP_S
    """s, longest gap over which pieces were joined: less than MAX_GAP_S if there were too many to compare."""

    def positions_in(self, frames: Ints, track_ids: Ints) -> Floats:
        """Return positions (N, T, 3) m of some trajectories (T,) in some frames (N,), NaN where not seen."""
        slot_of = np.full(len(self.first), -1)
        slot_of[track_ids] = np.arange(len(track_ids))
        ids = self.ids[frames]
        row, column = np.nonzero(ids >= 0)
        slot = slot_of[ids[row, column]]
        row, column, slot = row[slot >= 0], column[slot >= 0], slot[slot >= 0]
        result = np.full((len(frames), len(track_ids), 3), np.nan)
        result[row, slot] = self.positions[frames[row], column]
        return result

    def positions_at(self, frames: Ints, columns: Ints) -> Floats:
        """Return positions (N, C, 3) m of the columns (N, C) in some frames (N,), NaN where a column is −1 or not
        seen."""
        return np.where((columns >= 0)[..., None], self.positions[frames[:, None], columns], np.nan)

    def frames_and_columns(self) -> list[tuple[Ints, Ints]]:
        """Return frames and columns (N,), (N,) of each trajectory, in the order of the frames."""
        row, column = np.nonzero(self.ids >= 0)
        owner = self.ids[row, column]
        order = np.argsort(owner, kind="stable")
        cuts = np.searchsorted(owner[order], np.arange(1, len(self.first)))
        return list(zip(np.split(row[order], cuts), np.split(column[order], cuts), strict=True))


def select_evenly(rows: Ints, maximum: int) -> Ints:
    """Select at most `maximum` of some rows (N,), evenly spaced, with the first and the last."""
    if not len(rows):
        return rows
    selected: Ints = rows[np.unique(np.linspace(0, len(rows) - 1, maximum).astype(int))]
    return selected


def find_trajectories(times: Floats, positions: Floats) -> Trajectories:
    """Find the trajectories in positions (F, M, 3) m at times (F,) s, NaN where not seen."""
    visible: Bools = finite_points(positions)
    begins = visible.copy()
    begins[1:] &= ~visible[:-1] | jumps(times, positions)[1:]
    # Pieces are numbered column by column.
    number = np.cumsum(begins.T.ravel()).reshape(begins.T.shape).T - 1
    piece_ids: Ints = np.where(visible, number, -1)
    column, first = np.nonzero(begins.T)
    count = np.bincount(piece_ids[visible], minlength=len(first))
    pieces = _Pieces(column, first, first + count - 1)
    first_pieces, max_gap = _join_pieces(pieces, times, positions)
    _, merged = np.unique(first_pieces, return_inverse=True)
    ids = np.where(visible, merged[np.maximum(piece_ids, 0)] if len(merged) else -1, -1)
    tracks = int(merged.max()) + 1 if len(merged) else 0
    begin, end = np.full(tracks, len(times)), np.full(tracks, -1)
    np.minimum.at(begin, merged, first)
    np.maximum.at(end, merged, pieces.last)
    frame_counts = np.bincount(merged, weights=count, minlength=tracks).astype(int)
    return Trajectories(times, positions, ids, begin, end, frame_counts, max_gap)


def jumps(times: Floats, positions: Floats) -> Bools:
    """Return whether each column (F, M) jumps, that is, contains another marker than in the previous frame.

    A step is a jump if it differs from both neighbouring steps by more than a hand can accelerate, or by an unusual
    amount while another column is at most half as far from the predicted position. An acceleration that nearby columns
    share, as when the whole hand is shaken, does not count.
    """
    result = np.zeros(positions.shape[:2], bool)
    if len(positions) < 3:
        return result
    with np.errstate(invalid="ignore"):
        steps = np.diff(positions, axis=0)
        spans = np.maximum(np.diff(times), 1e-6)
        changes = np.diff(steps / spans[:, None, None], axis=0)
        change = lengths(changes)
        is_unsteady = _step_changes(change, spans) > NOISE_STEP_M
        row, column = np.nonzero(is_unsteady[:-1] | is_unsteady[1:])
        change[row, column] = np.fmin(change[row, column], _relative_changes(positions[1:-1], changes, row, column))
        step_change = _step_changes(change, spans)
        finite_changes = np.where(np.isfinite(step_change), step_change, np.inf)
        typical_change = np.sort(finite_changes, axis=0)[
            np.maximum(np.isfinite(step_change).sum(0) // 2, 0), np.arange(finite_changes.shape[1])
        ]
    max_change = (2 * NOISE_STEP_M + MAX_ACCELERATION * np.minimum(spans, 0.1) ** 2)[:, None]
    unusual_change = np.maximum(NOISE_STEP_M, JUMP_RATIO * typical_change)
    is_jump = step_change > max_change
    frame, column = np.nonzero(step_change > unusual_change)
    previous_step = np.where(
        np.isfinite(steps[np.maximum(frame - 1, 0), column]), steps[np.maximum(frame - 1, 0), column], 0
    )
    span_ratio = spans[frame] / spans[np.maximum(frame - 1, 0)]
    expected = positions[frame, column] + previous_step * span_ratio[:, None]
    if len(frame) * positions.shape[1] > MAX_PAIRS:
        # So many unusual steps are noise, in which the closest column means nothing.
        frame = frame[:0]
    for chunk in _chunks(np.full(len(frame), positions.shape[1])):
        distances = lengths(positions[frame[chunk] + 1] - expected[chunk, None])
        own_distance = distances[np.arange(len(chunk)), column[chunk]]
        distances[np.arange(len(chunk)), column[chunk]] = np.inf
        other_is_closer = (
            np.nanmin(np.where(np.isnan(distances), np.inf, distances), axis=1, initial=np.inf) < own_distance / 2
        )
        is_jump[frame[chunk[other_is_closer]], column[chunk[other_is_closer]]] = True
    result[1:] = is_jump
    return result


def _step_changes(change: Floats, spans: Floats) -> Floats:
    """Return the difference (F − 1, M) m of each step from its more similar neighbour, from changes of velocity."""
    padding = np.full((1, change.shape[1]), np.nan)
    result: Floats = np.fmin(np.concatenate([padding, change]), np.concatenate([change, padding])) * spans[:, None]
    return result


def _relative_changes(positions: Floats, changes: Floats, row: Ints, column: Ints) -> Floats:
    """Return the change (N,) of velocity of columns (N,) in rows (N,), relative to the median of nearby columns.

    Infinite where fewer than MIN_NEIGHBOURS columns are near.
    """
    result = np.full(len(row), np.inf)
    count = min(NEIGHBOURS, positions.shape[1] - 1)
    if count < MIN_NEIGHBOURS or len(row) * positions.shape[1] > MAX_PAIRS:
        return result
    for chunk in _chunks(np.full(len(row), positions.shape[1])):
        rows, columns = row[chunk], column[chunk]
        distances = lengths(positions[rows] - positions[rows, columns, None])
        distances = np.where(np.isfinite(distances) & np.isfinite(changes[rows, :, 0]), distances, np.inf)
        distances[np.arange(len(chunk)), columns] = np.inf
        nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
        is_near = np.take_along_axis(distances, nearest, axis=1) < NEIGHBOUR_DISTANCE_M
        has_enough = is_near.sum(axis=1) >= MIN_NEIGHBOURS
        neighbour_changes = np.where(is_near[..., None], changes[rows[:, None], nearest], np.nan)[has_enough]
        result[chunk[has_enough]] = lengths(changes[rows, columns][has_enough] - _nanmedian(neighbour_changes))
    return result


def _nanmedian(values: Floats) -> Floats:
    """Return the medians (N, 3) of values (N, K, 3) without NaN, several times as fast as np.nanmedian."""
    last = np.isfinite(values[..., 0]).sum(axis=1) - 1
    # NaN is sorted to the end.
    ordered, rows = np.sort(values, axis=1), np.arange(len(values))
    median: Floats = (ordered[rows, last // 2] + ordered[rows, (last + 1) // 2]) / 2
    return median


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """Starts and ends (P,) of pieces, ordered by column and frame."""

    column: Ints
    first: Ints
    last: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """The starts or the ends of the P pieces."""

    times: Floats
    """(P,) s"""
    positions: Floats
    """(P, 3) m"""
    velocities: Floats
    """(P, 3) m/s over up to three steps, zero for a single position."""
    has_velocity: Ints
    """(P,) 1 if a piece has several positions, 0 if it has only one."""


def _ends(pieces: _Pieces, times: Floats, positions: Floats, *, last: bool) -> _Ends:
    """Return the ends of the pieces if `last`, otherwise their starts."""
    steps = np.minimum(pieces.last - pieces.first, 3)
    a = pieces.last - steps if last else pieces.first
    b = a + steps
    span = np.where(steps > 0, times[b] - times[a], 1.0)
    velocities = (positions[b, pieces.column] - positions[a, pieces.column]) / span[:, None]
    frame = b if last else a
    return _Ends(times[frame], positions[frame, pieces.column], velocities, np.minimum(steps, 1))


def _join_pieces(pieces: _Pieces, times: Floats, positions: Floats) -> tuple[Ints, float]:
    """Join pieces that continue each other: each is the other's best match, by a clear margin.

    Returns:
        (P,) the first piece of the trajectory to which each piece belongs, and the longest gap in s that was bridged.
    """
    count = len(pieces.first)
    first_pieces = np.arange(count)
    if not count:
        return first_pieces, MAX_GAP_S
    ends, starts = _ends(pieces, times, positions, last=True), _ends(pieces, times, positions, last=False)
    order = np.argsort(pieces.first, kind="stable")
    max_gap = _affordable_gap(ends, starts)
    low, candidates = _candidates(ends, starts, max_gap)
    continuations = []
    for chunk in _chunks(candidates):
        preceding = np.cumsum(candidates[chunk]) - candidates[chunk]
        earlier = np.repeat(chunk, candidates[chunk])
        later = order[np.repeat(low[chunk] - preceding, candidates[chunk]) + np.arange(len(earlier))]
        continuations.append(_continuations(ends, starts, earlier, later))
    earlier, later, error = (np.concatenate(parts) for parts in zip(*continuations, strict=True))
    best_of_earlier, rival_of_earlier = _two_best(earlier, error, count)
    best_of_later, rival_of_later = _two_best(later, error, count)
    pairs = np.arange(len(error))
    is_mutual = (best_of_earlier[earlier] == pairs) & (best_of_later[later] == pairs)
    rival = np.minimum(rival_of_earlier[earlier], rival_of_later[later])
    is_clear = is_mutual & (rival > MIN_ERROR_RATIO * error + NOISE_STEP_M / 4)
    for a, b in sorted(
        zip(earlier[is_clear], later[is_clear], strict=True), key=lambda pair: int(pieces.first[pair[1]])
    ):
        first_pieces[b] = first_pieces[a]
    return first_pieces, max_gap


def _candidates(ends: _Ends, starts: _Ends, max_gap: float) -> tuple[Ints, Ints]:
    """Return the index (P,) of the first piece that starts after each piece's end, and how many start in the gap."""
    start_times = np.sort(starts.times)
    low = np.searchsorted(start_times, ends.times, "right")
    return low, np.maximum(np.searchsorted(start_times, ends.times + max_gap, "right") - low, 0)


def _affordable_gap(ends: _Ends, starts: _Ends) -> float:
    """Return the longest gap in s, MAX_GAP_S or a fraction of it, over which at most MAX_PAIRS pairs are compared."""
    gaps = [MAX_GAP_S / 2**halvings for halvings in range(7)]
    return next((gap for gap in gaps if _candidates(ends, starts, gap)[1].sum() <= MAX_PAIRS), 0.0)


def _chunks(pairs: Ints) -> list[Ints]:
    """Return rows (N,), each with a number of pairs, in groups of about CHUNK_PAIRS pairs; at least one group."""
    group = np.cumsum(pairs) // CHUNK_PAIRS
    return np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(group)) + 1)


def _continuations(ends: _Ends, starts: _Ends, earlier: Ints, later: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the pairs (earlier, later) in which the later piece may continue the earlier one, and their errors in
    m."""
    gap = starts.times[later] - ends.times[earlier]
    velocity_count = np.maximum(ends.has_velocity[earlier] + starts.has_velocity[later], 1)[:, None]
    velocity = (ends.velocities[earlier] + starts.velocities[later]) / velocity_count
    displacement = starts.positions[later] - ends.positions[earlier]
    error = np.linalg.norm(displacement - velocity * gap[:, None], axis=-1)
    max_error = np.minimum(
        NOISE_STEP_M + 0.25 * np.linalg.norm(velocity, axis=-1) * gap + GAP_ACCELERATION / 2 * gap**2,
        MAX_PREDICTION_ERROR_M,
    )
    is_possible = error <= max_error
    return earlier[is_possible], later[is_possible], (error + GAP_PENALTY * gap)[is_possible]


def _two_best(owner: Ints, errors: Floats, owners: int) -> tuple[Ints, Floats]:
    """Return the row (O,) of each owner's least error, −1 if it has none, and its second least error (O,), infinite if
    it has none."""
    order = np.lexsort((errors, owner))
    sorted_owner = owner[order]
    begin = np.searchsorted(sorted_owner, np.arange(owners), "left")
    end = np.searchsorted(sorted_owner, np.arange(owners), "right")
    padded = np.append(order, [0, 0])
    first = np.where(end > begin, padded[np.minimum(begin, len(order))], -1)
    second = np.where(end > begin + 1, np.append(errors[order], [np.inf, np.inf])[begin + 1], np.inf)
    return first, second
