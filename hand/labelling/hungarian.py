"""Assignment at the least cost: the Hungarian method, and its refinement where pairs of choices have costs too."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

IMPOSSIBLE = 1e6
"""A cost that is taken only where there is no other choice."""


def least_cost(costs: Floats) -> Ints:
    """(R,) the column of each row, so that the sum of costs (R, N), R <= N, all finite, is least; each column once.

    Kuhn's method with potentials and shortest augmenting paths (Jonker & Volgenant 1987), R² N steps at most.
    """
    rows, columns = costs.shape
    potential_row, potential = np.zeros(rows + 1), np.zeros(columns + 1)
    owner = np.zeros(columns + 1, int)
    padded = np.zeros((rows + 1, columns + 1))
    padded[1:, 1:] = costs
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        nearest, way = np.full(columns + 1, np.inf), np.zeros(columns + 1, int)
        used = np.zeros(columns + 1, bool)
        while owner[column]:
            used[column] = True
            at = owner[column]
            reduced = padded[at] - potential_row[at] - potential
            better = ~used & (reduced < nearest)
            nearest[better], way[better] = reduced[better], column
            open_ones = np.where(used, np.inf, nearest)
            open_ones[0] = np.inf
            following = int(open_ones.argmin())
            step = nearest[following]
            potential_row[owner[used]] += step
            potential[used] -= step
            nearest[~used] -= step
            column = following
        while column:
            owner[column] = owner[way[column]]
            column = int(way[column])
    result = np.zeros(rows, int)
    taken = np.flatnonzero(owner[1:])
    result[owner[1:][taken] - 1] = taken
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """What it costs that marker m is at spot c: M markers, C spots. The last marker, M − 1, stands for 'none'."""

    single: Floats
    """(C, M)"""
    pairs: Floats
    """(C, C, M, M) for the markers at two spots, alike both ways; zero for a spot and itself."""

    def of(self, labels: Ints) -> float:
        """The cost of the markers (C,) of all spots."""
        spots = np.arange(len(labels))
        together = self.pairs[spots[:, None], spots, labels[:, None], labels]
        return float(self.single[spots, labels].sum() + together.sum() / 2)

    def each(self, labels: Ints) -> Floats:
        """(C, M) what each marker would cost at each spot while the other spots keep theirs."""
        spots = np.arange(len(labels))
        total: Floats = self.single + self.pairs[:, spots, :, labels].sum(0)
        return total


def assigned(costs: Costs) -> Ints:
    """(C,) the marker of each spot, M − 1 for none, at a cost that no exchange of two makes less."""
    labels = _one_each(costs.single)
    best = costs.of(labels)
    for _ in range(10):
        trial = _one_each(costs.each(labels))
        value = costs.of(trial)
        if value >= best - 1e-9:
            break
        labels, best = trial, value
    return _exchanged(costs, labels)


def _one_each(single: Floats) -> Ints:
    """(C,) the markers of least cost where pairs do not count; 'none' may be taken by any number of spots."""
    spots, none = single.shape[0], single.shape[1] - 1
    widened = np.concatenate([single[:, :none], np.full((spots, spots), IMPOSSIBLE)], axis=1)
    widened[np.arange(spots), none + np.arange(spots)] = single[:, none]
    found: Ints = np.minimum(least_cost(np.minimum(widened, IMPOSSIBLE)), none)
    return found


def _exchanged(costs: Costs, labels: Ints) -> Ints:
    """The labels after the exchanges that lower the cost, best first."""
    labels = labels.copy()
    for _ in range(100):
        gain, move = _best_move(costs, labels)
        if gain >= -1e-9:
            break
        for spot, marker in move:
            labels[spot] = marker
    return labels


def _best_move(costs: Costs, labels: Ints) -> tuple[float, list[tuple[int, int]]]:
    """By how much the best exchange of two spots, or of a spot with what is free, changes the cost, and what it is."""
    swaps, changes = moves(costs, labels)
    a, b = np.unravel_index(int(swaps.argmin()), swaps.shape)
    spot, marker = np.unravel_index(int(changes.argmin()), changes.shape)
    if swaps[a, b] < changes[spot, marker]:
        return float(swaps[a, b]), [(int(a), int(labels[b])), (int(b), int(labels[a]))]
    return float(changes[spot, marker]), [(int(spot), int(marker))]


def moves(costs: Costs, labels: Ints) -> tuple[Floats, Floats]:
    """((C, C) what exchanging the markers of two spots adds to the cost, (C, M) what giving a spot a free marker adds).

    Infinite where there is nothing to exchange.
    """
    spots, none = np.arange(len(labels)), costs.single.shape[1] - 1
    each = costs.each(labels)
    own = each[spots, labels]
    changes = each - own[:, None]
    changes[:, np.setdiff1d(labels, [none])] = np.inf
    changes[spots, labels] = np.inf
    crossed = each[spots[:, None], labels[None]]
    # The pair itself is counted by both with the other's old marker: put right.
    a, b = spots[:, None], spots[None]
    la, lb = labels[:, None], labels[None]
    pair = costs.pairs[a, b, lb, la] + costs.pairs[a, b, la, lb] - costs.pairs[a, b, lb, lb] - costs.pairs[a, b, la, la]
    swaps = crossed + crossed.T - own[:, None] - own + pair
    swaps[labels[:, None] == labels] = np.inf
    return swaps, changes
