"""Goldfarb and Idnani's dual active-set method for batches of small quadratic programs: slower, but always terminates.

D. Goldfarb, A. Idnani: A numerically stable dual method for solving strictly convex quadratic programs, 1983. It starts
without constraints and adds them one at a time, the most violated first, dropping those whose multiplier would change
sign. Each added constraint raises the optimum, so no working set occurs twice and no rule against cycling is needed. A
constraint that cannot be satisfied together with the working set proves that the program is infeasible.

Instead of updating a factorisation, each step solves its working set's system again: at this size that is no slower
in NumPy, and no error accumulates.
"""

from dataclasses import dataclass

import numpy as np

from .kkt_system import FEASIBILITY_TOLERANCE, Bools, Floats, Ints, KktSystem, WorkingSet

DEPENDENCE_TOLERANCE = 1e-12
"""Squared sine of the angle to the span of the working set below which a constraint is linearly dependent on it."""
RATE_TOLERANCE = 1e-12
"""Fraction of the largest rate of a multiplier below which rates count as zero."""
MAX_STEPS = 20
"""Maximum number of steps per constraint; at most three were observed."""


@dataclass(slots=True, eq=False)
class _DualState:
    """The state of N programs that are still being solved."""

    programs: Ints
    """(N,) indices of the programs in the batch."""
    system: KktSystem
    working: WorkingSet
    values: Floats
    """(N, m) Cx"""
    multipliers: Floats
    """(N, m) signed, see kkt_system.py."""
    entering: Ints
    """(N,) the constraint being added, -1 for none."""

    def keep(self, active: Bools) -> None:
        """Drop the other programs."""
        self.system = self.system.select(np.flatnonzero(active))
        self.programs, self.working, self.values = self.programs[active], self.working[active], self.values[active]
        self.multipliers, self.entering = self.multipliers[active], self.entering[active]


def solve_dual(system: KktSystem, start: WorkingSet) -> tuple[WorkingSet, Bools, Bools]:
    """Solve N programs from the working sets `start` (N, m).

    Returns the optimal working sets (N, m), whether each was reached (N,), and whether a program is infeasible (N,).
    """
    count, m = system.linear.shape
    working, values, multipliers = _drop_wrong_signs(system, start)
    reached, is_infeasible = np.zeros((2, count), dtype=bool)
    state = _DualState(np.arange(count), system, working.copy(), values, multipliers, np.full(count, -1))
    for _ in range(MAX_STEPS * m):
        met, infeasible = _step(state)
        ended = met | infeasible
        if np.any(ended):
            working[state.programs[ended]] = state.working[ended]
            reached[state.programs[met]] = True
            is_infeasible[state.programs[infeasible]] = True
            state.keep(~ended)
            if not len(state.programs):
                break
    working[state.programs] = state.working
    return working, reached, is_infeasible


def _drop_wrong_signs(system: KktSystem, start: WorkingSet) -> tuple[WorkingSet, Floats, Floats]:
    """Return (N, m) `start` without constraints whose multiplier has the wrong sign, with its Cx and multipliers.

    Where rows of the start are linearly dependent, only the variables that are fixed remain.
    """
    working, fixed = start.copy(), system.low == system.high
    only_fixed = fixed.astype(np.int8)
    only_fixed[:, system.variables :] = 0
    while True:
        values, multipliers = system.optimum(working)
        has_wrong_sign = (working * multipliers < 0) & ~fixed
        singular = ~np.all(np.isfinite(values), axis=1)
        if not np.any(has_wrong_sign) and not np.any(singular):
            return working, values, multipliers
        working[has_wrong_sign] = 0
        working[singular] = only_fixed[singular]


def _step(state: _DualState) -> tuple[Bools, Bools]:
    """Take one step of each program, in place.

    Returns which programs had already met all constraints, and which are infeasible.
    """
    system, rows = state.system, np.arange(len(state.programs))
    violation = system.violation(state.values)
    worst = np.where(state.working == 0, violation - FEASIBILITY_TOLERANCE * system.scale(state.values), -np.inf)
    choosing = state.entering < 0
    entering = state.entering = np.where(choosing, worst.argmax(axis=1), state.entering)
    met: Bools = choosing & (worst[rows, entering] <= 0)
    side = np.where(state.values[rows, entering] > system.high[rows, entering], 1.0, -1.0)

    value_rates, multiplier_rates, independent = _rates(state, side)
    compliance = np.where(entering < system.variables, 0.0, system.compliance)
    remaining = violation[rows, entering] - compliance * np.abs(state.multipliers[rows, entering])
    closing = compliance - side * value_rates[rows, entering]
    full_step = np.divide(remaining, closing, out=np.full(len(rows), np.inf), where=independent & (closing > 0))
    noise = RATE_TOLERANCE * np.abs(multiplier_rates).max(axis=1, keepdims=True)
    shrinking = (state.working * multiplier_rates < -noise) & (system.low < system.high)
    until_zero = np.divide(-state.multipliers, multiplier_rates, out=np.full(violation.shape, np.inf), where=shrinking)
    first = until_zero.argmin(axis=1)
    partial_step = np.maximum(until_zero[rows, first], 0.0)
    infeasible: Bools = ~met & np.isinf(full_step) & np.isinf(partial_step)

    step = np.where(met | infeasible, 0.0, np.minimum(full_step, partial_step))[:, None]
    state.values += step * value_rates
    state.multipliers += step * multiplier_rates
    moving = ~met & ~infeasible
    added, dropped = rows[moving & (full_step <= partial_step)], rows[moving & (full_step > partial_step)]
    state.working[added, entering[added]] = side[added]
    state.entering[added] = -1
    state.working[dropped, first[dropped]] = 0
    state.multipliers[dropped, first[dropped]] = 0.0
    return met, infeasible


def _rates(state: _DualState, side: Floats) -> tuple[Floats, Floats, Bools]:
    """Return rates of Cx and the multipliers (N, m) as the entering multiplier grows towards `side` (N,) on the working
    set.

    Also (N,) whether the entering constraint is linearly independent of the working set; if not, x does not change.
    """
    system, rows, entering = state.system, np.arange(len(state.programs)), state.entering
    n = system.variables
    normal = np.where((entering < n)[:, None], system.identity[entering], system.matrix[rows, entering]) * side[:, None]
    normal[:, n:] = 0.0
    unknowns = system.solve(state.working, np.where(state.working == 0, -normal, 0.0))
    values, multipliers = system.constraint_values(unknowns, normal)
    multipliers = np.where(state.working == 0, 0.0, multipliers)
    multipliers[rows, entering] = side

    x = unknowns[:, :n]
    energy = np.einsum("ki,kij,kj->k", x, system.matrix[:, :n, :n], x)
    energy += system.compliance * (multipliers[:, n:] ** 2).sum(axis=1)
    return values, multipliers, energy > DEPENDENCE_TOLERANCE * (normal * normal).sum(axis=1)
