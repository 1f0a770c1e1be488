"""Goldfarb and Idnani's dual active-set method for batches of small quadratic programs: slower, but always terminates.

D. Goldfarb, A. Idnani: A numerically stable dual method for solving strictly convex quadratic programs, 1983. It starts
without constraints and adds them one at a time, the most violated first, dropping those whose multiplier would change
sign. Each added constraint raises the optimum, so no working set occurs twice and no rule against cycling is needed. A
constraint that cannot be satisfied together with the working set proves that the program is infeasible.

Instead of updating a factorisation, each step solves the system of its working set anew: at this size that is no slower
in NumPy, and no error accumulates.
"""

from dataclasses import dataclass

import numpy as np

from .kkt_system import TOUCHING, Bools, Floats, Ints, System, WorkingSet

DEPENDENT = 1e-12
"""Squared sine of the angle to the span of the working set below which a constraint is linearly dependent on it."""
NOISE = 1e-12
"""Rates of multipliers below this part of the fastest count as zero."""
STEPS = 20
"""Most steps for each constraint; the largest number observed is three."""


@dataclass(slots=True, eq=False)
class _March:
    """The state of N programs that are still being solved."""

    programs: Ints
    """(N,) their indices in the batch."""
    system: System
    working: WorkingSet
    values: Floats
    """(N, m) Cx"""
    multipliers: Floats
    """(N, m) signed, see kkt_system.py."""
    entering: Ints
    """(N,) the constraint being added, -1 for none."""

    def keep(self, going: Bools) -> None:
        """Drop the other programs."""
        self.system = self.system.take(np.flatnonzero(going))
        self.programs, self.working, self.values = self.programs[going], self.working[going], self.values[going]
        self.multipliers, self.entering = self.multipliers[going], self.entering[going]


def march(system: System, start: WorkingSet) -> tuple[WorkingSet, Bools, Bools]:
    """Solve N programs from the working sets `start` (N, m).

    Returns the optimal working sets (N, m), whether each was reached (N,), and whether a program is infeasible (N,).
    """
    count, m = system.linear.shape
    working, values, multipliers = _let_go(system, start)
    reached, impossible = np.zeros((2, count), dtype=bool)
    now = _March(np.arange(count), system, working.copy(), values, multipliers, np.full(count, -1))
    for _ in range(STEPS * m):
        met, dead = _step(now)
        over = met | dead
        if np.any(over):
            working[now.programs[over]] = now.working[over]
            reached[now.programs[met]] = True
            impossible[now.programs[dead]] = True
            now.keep(~over)
            if not len(now.programs):
                break
    working[now.programs] = now.working
    return working, reached, impossible


def _let_go(system: System, start: WorkingSet) -> tuple[WorkingSet, Floats, Floats]:
    """(N, m) `start` without constraints whose multiplier has the wrong sign, with its Cx and multipliers.

    Where rows of the start are linearly dependent, only the variables that are fixed remain.
    """
    working, fixed = start.copy(), system.low == system.high
    only_fixed = fixed.astype(np.int8)
    only_fixed[:, system.variables :] = 0
    while True:
        values, multipliers = system.at(working)
        wrong = (working * multipliers < 0) & ~fixed
        unsound = ~np.all(np.isfinite(values), axis=1)
        if not np.any(wrong) and not np.any(unsound):
            return working, values, multipliers
        working[wrong] = 0
        working[unsound] = only_fixed[unsound]


def _step(now: _March) -> tuple[Bools, Bools]:
    """One step of each program, in place. Returns which had already met all constraints, and which are infeasible."""
    system, each = now.system, np.arange(len(now.programs))
    over = system.excess(now.values)
    worst = np.where(now.working == 0, over - TOUCHING * system.size(now.values), -np.inf)
    fresh = now.entering < 0
    enters = now.entering = np.where(fresh, worst.argmax(axis=1), now.entering)
    met: Bools = fresh & (worst[each, enters] <= 0)
    side = np.where(now.values[each, enters] > system.high[each, enters], 1.0, -1.0)

    values, multipliers, free = _rates(now, side)
    soft = np.where(enters < system.variables, 0.0, system.soft)
    left = over[each, enters] - soft * np.abs(now.multipliers[each, enters])
    closing = soft - side * values[each, enters]
    whole = np.divide(left, closing, out=np.full(len(each), np.inf), where=free & (closing > 0))
    noise = NOISE * np.abs(multipliers).max(axis=1, keepdims=True)
    shrinking = (now.working * multipliers < -noise) & (system.low < system.high)
    until = np.divide(-now.multipliers, multipliers, out=np.full(over.shape, np.inf), where=shrinking)
    first = until.argmin(axis=1)
    partial = np.maximum(until[each, first], 0.0)
    dead: Bools = ~met & np.isinf(whole) & np.isinf(partial)

    step = np.where(met | dead, 0.0, np.minimum(whole, partial))[:, None]
    now.values += step * values
    now.multipliers += step * multipliers
    taken, dropped = (each[which] for which in (~met & ~dead & (whole <= partial), ~met & ~dead & (whole > partial)))
    now.working[taken, enters[taken]] = side[taken]
    now.entering[taken] = -1
    now.working[dropped, first[dropped]] = 0
    now.multipliers[dropped, first[dropped]] = 0.0
    return met, dead


def _rates(now: _March, side: Floats) -> tuple[Floats, Floats, Bools]:
    """Rates of Cx and the multipliers (N, m) as the entering multiplier grows towards `side` (N,) on the working set.

    Also (N,) whether the entering constraint is linearly independent of the working set; if not, x does not change.
    """
    system, each, enters = now.system, np.arange(len(now.programs)), now.entering
    n = system.variables
    pull = np.where((enters < n)[:, None], system.identity[enters], system.matrix[each, enters]) * side[:, None]
    pull[:, n:] = 0.0
    unknowns = system.held(now.working, np.where(now.working == 0, -pull, 0.0))
    values, multipliers = system.answer(unknowns, pull)
    multipliers = np.where(now.working == 0, 0.0, multipliers)
    multipliers[each, enters] = side

    x = unknowns[:, :n]
    energy = np.einsum("ki,kij,kj->k", x, system.matrix[:, :n, :n], x)
    energy += system.soft * (multipliers[:, n:] ** 2).sum(axis=1)
    return values, multipliers, energy > DEPENDENT * (pull * pull).sum(axis=1)
