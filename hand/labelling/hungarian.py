"""Minimum-cost assignment by the Hungarian method, and by local search if pairs of assignments have costs, too."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

IMPOSSIBLE_COST = 1e6
"""Cost of an assignment that is made only if there is no alternative."""


def minimum_cost_assignment(costs: Floats) -> Ints:
    """Assign to each row its own column such that the sum of costs is minimal. Returns (R,) columns.

    costs: (R, N), R <= N, all finite.

    Kuhn's method with potentials and shortest augmenting paths (Jonker & Volgenant 1987), in O(R² N).
    """
    rows, columns = costs.shape
    row_potentials, column_potentials = np.zeros(rows + 1), np.zeros(columns + 1)
    owner = np.zeros(columns + 1, int)
    padded = np.zeros((rows + 1, columns + 1))
    padded[1:, 1:] = costs
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        nearest, previous = np.full(columns + 1, np.inf), np.zeros(columns + 1, int)
        used = np.zeros(columns + 1, bool)
        while owner[column]:
            used[column] = True
            current_row = owner[column]
            reduced = padded[current_row] - row_potentials[current_row] - column_potentials
            is_nearer = ~used & (reduced < nearest)
            nearest[is_nearer], previous[is_nearer] = reduced[is_nearer], column
            unused_distance = np.where(used, np.inf, nearest)
            unused_distance[0] = np.inf
            next_column = int(unused_distance.argmin())
            step = nearest[next_column]
            row_potentials[owner[used]] += step
            column_potentials[used] -= step
            nearest[~used] -= step
            column = next_column
        while column:
            owner[column] = owner[previous[column]]
            column = int(previous[column])
    result = np.zeros(rows, int)
    assigned_columns = np.flatnonzero(owner[1:])
    result[owner[1:][assigned_columns] - 1] = assigned_columns
    return result


@dataclass(frozen=True, slots=True, eq=False)
class AssignmentCosts:
    """Costs of assigning M markers to C spots. The last marker, M − 1, stands for 'none'."""

    single: Floats
    """(C, M)"""
    pairs: Floats
    """(C, C, M, M) for the markers at two spots, symmetric; zero for a spot and itself."""

    def total(self, labels: Ints) -> float:
        """Return the total cost of assigning markers (C,) to the spots."""
        spots = np.arange(len(labels))
        together = self.pairs[spots[:, None], spots, labels[:, None], labels]
        return float(self.single[spots, labels].sum() + together.sum() / 2)

    def with_others_fixed(self, labels: Ints) -> Floats:
        """Return the cost (C, M) of each marker at each spot while the other spots keep their markers."""
        spots = np.arange(len(labels))
        total: Floats = self.single + self.pairs[:, spots, :, labels].sum(0)
        return total


def assign_markers(costs: AssignmentCosts) -> Ints:
    """Assign a marker (C,) to each spot, M − 1 for none, such that no exchange lowers the cost."""
    labels = assign_without_pairs(costs.single)
    best_cost = costs.total(labels)
    for _ in range(10):
        trial = assign_without_pairs(costs.with_others_fixed(labels))
        trial_cost = costs.total(trial)
        if trial_cost >= best_cost - 1e-9:
            break
        labels, best_cost = trial, trial_cost
    return _apply_exchanges(costs, labels)


def assign_without_pairs(single: Floats) -> Ints:
    """Return markers (C,) of least cost without pair costs; any number of spots may get 'none'."""
    spots, none = single.shape[0], single.shape[1] - 1
    widened = np.concatenate([single[:, :none], np.full((spots, spots), IMPOSSIBLE_COST)], axis=1)
    widened[np.arange(spots), none + np.arange(spots)] = single[:, none]
    assigned: Ints = np.minimum(minimum_cost_assignment(np.minimum(widened, IMPOSSIBLE_COST)), none)
    return assigned


def _apply_exchanges(costs: AssignmentCosts, labels: Ints) -> Ints:
    """Apply the exchanges that lower the cost, best first."""
    labels = labels.copy()
    for _ in range(100):
        change, pairs = _best_exchange(costs, labels)
        if change >= -1e-9:
            break
        for spot, marker in pairs:
            labels[spot] = marker
    return labels


def _best_exchange(costs: AssignmentCosts, labels: Ints) -> tuple[float, list[tuple[int, int]]]:
    """Return the best exchange, of two spots' markers or of a spot's marker for a free one.

    Returns:
        The change in cost, and the new pairs of spot and marker.
    """
    swaps, changes = exchange_costs(costs, labels)
    a, b = np.unravel_index(int(swaps.argmin()), swaps.shape)
    spot, marker = np.unravel_index(int(changes.argmin()), changes.shape)
    if swaps[a, b] < changes[spot, marker]:
        return float(swaps[a, b]), [(int(a), int(labels[b])), (int(b), int(labels[a]))]
    return float(changes[spot, marker]), [(int(spot), int(marker))]


def exchange_costs(costs: AssignmentCosts, labels: Ints) -> tuple[Floats, Floats]:
    """Return the change in cost of every exchange; infinite where there is nothing to exchange.

    Returns:
        (C, C) for exchanging the markers of two spots, (C, M) for giving a spot a free marker.
    """
    spots, none = np.arange(len(labels)), costs.single.shape[1] - 1
    single_changes = costs.with_others_fixed(labels)
    current = single_changes[spots, labels]
    changes = single_changes - current[:, None]
    changes[:, np.setdiff1d(labels, [none])] = np.inf
    changes[spots, labels] = np.inf
    after_exchange = single_changes[spots[:, None], labels[None]]
    # Both terms assume that the other spot keeps its marker, which this corrects.
    a, b = spots[:, None], spots[None]
    la, lb = labels[:, None], labels[None]
    pair = costs.pairs[a, b, lb, la] + costs.pairs[a, b, la, lb] - costs.pairs[a, b, lb, lb] - costs.pairs[a, b, la, la]
    swaps = after_exchange + after_exchange.T - current[:, None] - current + pair
    swaps[labels[:, None] == labels] = np.inf
    return swaps, changes
