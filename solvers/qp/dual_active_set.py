"""Goldfarb and Idnani's dual active-set method on many small quadratic programs at once: slower, and always right.

D. Goldfarb, A. Idnani: A numerically stable dual method for solving strictly convex quadratic programs, 1983. It begins
without constraints and takes them in one at a time, the most violated first, letting go of those whose multiplier would
change its sign. Each constraint taken in raises the optimum, so no working set comes twice and it needs no rule against
cycles. A constraint that cannot be satisfied together with those held proves that no x satisfies all.

Instead of updating a factor, each step solves the system of its working set anew: at this size numpy takes no longer,
and nothing drifts.
"""

from dataclasses import dataclass

import numpy as np

from .kkt_system import TOUCHING, Bools, Floats, Ints, System, WorkingSet

DEPENDENT = 1e-12
"""Below about this squared sine to the constraints that are held, a constraint depends on them."""
NOISE = 1e-12
"""A multiplier that changes by less than this part of the fastest does not change."""
STEPS = 20
"""Most steps, for each constraint: far more than any program was seen to take (three)."""


@dataclass(slots=True, eq=False)
class _March:
    """Where each of N programs is on its way, and which they are of the programs asked for."""

    programs: Ints
    system: System
    working: WorkingSet
    values: Floats
    """(N, m) Cx"""
    multipliers: Floats
    """(N, m) signed."""
    entering: Ints
    """(N,) the constraint being taken in, -1 for none."""

    def keep(self, going: Bools) -> None:
        """Leaves the other programs where they are."""
        self.system = self.system.take(np.flatnonzero(going))
        self.programs, self.working, self.values = self.programs[going], self.working[going], self.values[going]
        self.multipliers, self.entering = self.multipliers[going], self.entering[going]


def march(system: System, start: WorkingSet) -> tuple[WorkingSet, Bools, Bools]:
    """(N, m) the optimal working set of each program, (N,) whether it was reached, (N,) whether no x satisfies all."""
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
    """(N, m) `start` without all that is held with the wrong sign, its Cx and multipliers.

    Where rows held at the start depend on each other only what can have one value remains.
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
    """One step of each program. Which of them had met all constraints, and which one that cannot be met."""
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
    """How Cx and the multipliers (N, m) change while the entering one's grows to its `side` (N,), the held stay held.

    And (N,) whether the entering constraint is free of those held; one that depends on them moves no x.
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
