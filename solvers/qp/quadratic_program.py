"""Small dense quadratic programs: minimise ½ xᵀHx + gᵀx with bounds on x and on linear rows of it.

The step of dynamical inverse kinematics (docs/explanation/dynamical.md) is one: joint limits are bounds of the
variables, couplings are rows.

There are two active-set methods. Block pivoting (Júdice & Pires 1994) starts at the working set of the frame
before, drops every constraint whose multiplier has the wrong sign and adds every violated one, all at once; most
programs need one to four such rounds. It may cycle, so programs that it does not finish go to a method that cannot
(dual_active_set.py).
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from ...errors import SolverError
from . import dual_active_set
from .kkt_system import FEASIBILITY_TOLERANCE, Bools, Floats, KktSystem, WorkingSet

MAX_ROUNDS = 8
"""Rounds of block pivoting before the dual method takes over."""
REGULARISATION = 1e-15
"""Compliance of rows in block pivoting. It keeps the system regular where all variables of an active row are active,
and is too small to show in x."""
REFINE_TOLERANCE = 1e-15
"""Violations of active rows below this fraction of the size of x are not refined."""
INFEASIBLE_COMPLIANCE = 1e-9
"""Compliance of rows in infeasible programs."""
SIGN_TOLERANCE = 1e-13
"""A multiplier of the wrong sign below this fraction of the size of x counts as zero."""


class Status(IntEnum):
    """Outcome of a program."""

    SOLVED = 0
    INFEASIBLE = 1
    """No x satisfies all constraints; see `QpSolution.x`."""
    UNFINISHED = 2
    """Rounding kept the dual method from finishing within its steps; x may violate rows."""


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticProgram:
    """Minimise ½ xᵀHx + gᵀx with low ≤ (x, Ax) ≤ high: one program, or N of them with N first in every array.

    N programs may share their rows: `rows` (p, n).
    """

    hessian: Floats
    """(n, n) H, symmetric, positive definite."""
    gradient: Floats
    """(n,) g"""
    low: Floats
    """(n + p,) lower bounds of the variables, then of the rows; -inf for none."""
    high: Floats
    """(n + p,) upper bounds; equal to the lower bounds for equality constraints."""
    rows: Floats
    """(p, n) A; p may be 0."""


@dataclass(frozen=True, slots=True, eq=False)
class QpSolution:
    """The solution of one program, or of N with N first in every array."""

    x: Floats
    """(n,) always within the variables' bounds.

    Of an infeasible program: among the x within the bounds that violate the rows least (sum of squares, rows scaled by
    a power of two to largest coefficients between 1/2 and 1), the one of least cost. Where a lower bound is above its
    upper bound, both count as their mean.
    """
    multipliers: Floats
    """(n + p,) μ of Hx + g + (I, Aᵀ)μ = 0: positive at an upper bound, negative at a lower one."""
    working: WorkingSet
    """(n + p,) active constraints: 1 at the upper bound, -1 at the lower, else 0; a warm start for the next frame."""
    status: WorkingSet
    """() Status"""


def solve(program: QuadraticProgram, start: WorkingSet | None = None) -> QpSolution:
    """Solve one program, warm-started from the working set `start` (n + p,). Raises SolverError as `solve_all` does."""
    arrays = (program.hessian, program.gradient, program.low, program.high, program.rows)
    stacked = QuadraticProgram(*(array[None] for array in arrays))
    batch = solve_all(stacked, None if start is None else start[None])
    return QpSolution(batch.x[0], batch.multipliers[0], batch.working[0], batch.status[0])


def solve_all(program: QuadraticProgram, start: WorkingSet | None = None) -> QpSolution:
    """Solve N independent programs, warm-started from the working sets `start` (N, n + p).

    Raises SolverError for values that are not finite, bounds that no number meets, and a Hessian that is not positive
    definite.
    """
    system, units, crossed = _kkt_system(program)
    values, multipliers, working, ended = _block_pivoting(system, _start_set(system, start))
    status = np.where(crossed, np.int8(Status.INFEASIBLE), np.int8(Status.SOLVED))
    if not np.all(ended):
        check(program)
        unsolved = np.flatnonzero(~ended)
        values[unsolved], multipliers[unsolved], working[unsolved], status_left = _solve_dual(
            system.select(unsolved), working[unsolved]
        )
        status[unsolved] = np.maximum(status[unsolved], status_left)
    n = system.variables
    x = np.minimum(np.maximum(values[:, :n], system.low[:, :n]), system.high[:, :n])
    return QpSolution(x, multipliers * units, working, status)


def _kkt_system(program: QuadraticProgram) -> tuple[KktSystem, Floats, Bools]:
    """Return the scaled KKT systems, the units (N, m) of their multipliers, and which programs have crossed bounds
    (N,).

    Raises SolverError.
    """
    n, m = program.gradient.shape[1], program.low.shape[1]
    try:
        np.linalg.cholesky(program.hessian)
    except np.linalg.LinAlgError:
        check(program)
        raise
    low, high = program.low, program.high
    crossing = ~((low <= high) & (low < np.inf) & (high > -np.inf))
    crossed: Bools = np.any(crossing, axis=1)
    if np.any(crossed):
        check(program)
        middle = np.add(low, high, out=np.zeros_like(low), where=crossing) / 2
        low, high = np.where(crossing, middle, low), np.where(crossing, middle, high)
    unit = _power_of_two(program.hessian.max(axis=(1, 2)))[:, None]
    hessian, linear = program.hessian / unit[:, :, None], program.gradient / unit
    linear_size = np.abs(linear).max(axis=1, keepdims=True)
    if m == n:
        return KktSystem(hessian, linear, low, high, linear_size, np.eye(m), n, 0.0), unit, crossed
    matrix, lengths = _with_rows(hessian, program.rows)
    linear = np.concatenate((linear, np.zeros((len(linear), m - n))), axis=1)
    system = KktSystem(matrix, linear, low / lengths, high / lengths, linear_size, np.eye(m), n, REGULARISATION)
    return system, unit / lengths, crossed


def _with_rows(hessian: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return (N, m, m) [[H, Aᵀ], [A, -compliance]] with A = rows / lengths, and (N or 1, m) lengths, 1 for
    variables."""
    count, n = hessian.shape[:2]
    p = rows.shape[-2]
    lengths = np.ones((len(rows) if rows.ndim == 3 else 1, n + p))
    lengths[:, n:] = _power_of_two(np.abs(rows).max(axis=-1))
    rows = rows / lengths[:, n:, None]
    matrix = np.zeros((count, n + p, n + p))
    matrix[:, :n, :n] = hessian
    matrix[:, n:, :n] = rows
    matrix[:, :n, n:] = rows.swapaxes(1, 2)
    diagonal = np.arange(n, n + p)
    matrix[:, diagonal, diagonal] = -REGULARISATION
    return matrix, lengths


def _power_of_two(size: Floats) -> Floats:
    """Return the next power of two above each size, so that dividing by it is exact; 1 for zero."""
    power: Floats = np.ldexp(1.0, np.frexp(size)[1])
    return power


def _start_set(system: KktSystem, start: WorkingSet | None) -> WorkingSet:
    """Return the working set `start` (N, m) without infinite bounds and with all equality constraints."""
    equal: WorkingSet = (system.low == system.high).astype(np.int8)
    if start is None:
        return equal
    bound = np.where(start > 0, system.high, system.low)
    working: WorkingSet = np.where(equal, equal, np.where(np.isfinite(bound), start, np.int8(0)))
    return working


def _block_pivoting(system: KktSystem, working: WorkingSet) -> tuple[Floats, Floats, WorkingSet, Bools]:
    """Return (N, m) Cx, multipliers and working sets after at most MAX_ROUNDS rounds, and (N,) which programs they
    solve."""
    values, multipliers = system.optimum(working)
    following, ended = _next_working_set(system, working, values, multipliers)
    for _ in range(MAX_ROUNDS - 1):
        unsolved = np.flatnonzero(~ended)
        if not len(unsolved):
            break
        part, active = system.select(unsolved), following[unsolved]
        values[unsolved], multipliers[unsolved] = part.optimum(active)
        working[unsolved] = active
        following[unsolved], ended[unsolved] = _next_working_set(part, active, values[unsolved], multipliers[unsolved])
    if system.compliance:
        _refine(system, working, values, multipliers, ended)
    return values, multipliers, working, ended


def _next_working_set(
    system: KktSystem, working: WorkingSet, values: Floats, multipliers: Floats
) -> tuple[WorkingSet, Bools]:
    """Return the working sets (N, m) of the next round, and (N,) whether none is needed."""
    size = system.scale(values)
    violated = system.violation(values) > FEASIBILITY_TOLERANCE * size
    has_wrong_sign = (working * multipliers < -SIGN_TOLERANCE * size) & (system.low < system.high)
    ended: Bools = ~np.any(violated | has_wrong_sign, axis=1) & np.isfinite(size[:, 0])
    if np.all(ended):
        return working, ended
    side = np.where(values > system.high, np.int8(1), np.int8(-1))
    return np.where(has_wrong_sign, np.int8(0), np.where(violated & (working == 0), side, working)), ended


def _refine(system: KktSystem, working: WorkingSet, values: Floats, multipliers: Floats, ended: Bools) -> None:
    """Refine, in place, programs whose active rows yielded enough to show in x, as nearly parallel rows do."""
    yielded = system.compliance * np.abs(multipliers[:, system.variables :])
    inexact = np.flatnonzero(ended & np.any(yielded > REFINE_TOLERANCE * system.scale(values), axis=1))
    if len(inexact):
        part, active = system.select(inexact), working[inexact]
        values[inexact], multipliers[inexact] = part.refined(active, multipliers[inexact])
        _, ended[inexact] = _next_working_set(part, active, values[inexact], multipliers[inexact])


def _solve_dual(system: KktSystem, working: WorkingSet) -> tuple[Floats, Floats, WorkingSet, WorkingSet]:
    """Return (N, m) Cx, multipliers and working sets by the dual method, and the Status (N,) of each program."""
    only_fixed = _start_set(system, None)
    only_fixed[:, system.variables :] = 0
    start = np.where(system.has_independent_rows(working)[:, None], working, only_fixed)
    rigid = system.with_compliance(0.0)
    working, reached, infeasible = dual_active_set.solve_dual(rigid, start)
    values, multipliers = rigid.optimum(working)
    status = np.where(reached, np.int8(Status.SOLVED), np.int8(Status.UNFINISHED))
    which = np.flatnonzero(infeasible)
    if len(which):
        yielding = system.select(which).with_compliance(INFEASIBLE_COMPLIANCE)
        working[which], reached, _ = dual_active_set.solve_dual(yielding, working[which])
        values[which], multipliers[which] = yielding.optimum(working[which])
        status[which] = np.where(reached, np.int8(Status.INFEASIBLE), np.int8(Status.UNFINISHED))
    return values, multipliers, working, status


def check(program: QuadraticProgram) -> None:
    """Raise SolverError for the first invalid number of N programs."""
    named = (("Hessian", program.hessian), ("gradient", program.gradient), ("rows", program.rows))
    for name, values in named:
        if not np.all(np.isfinite(values)):
            raise SolverError(
                f"quadratic program: {_first(name, ~np.isfinite(values), values)}, expected finite numbers"
            )
    bounds = (("lower bound", program.low, np.inf), ("upper bound", program.high, -np.inf))
    for name, values, never in bounds:
        is_invalid = np.isnan(values) | (values == never)
        if np.any(is_invalid):
            raise SolverError(
                f"quadratic program: {_first(name, is_invalid, values)}, expected a number that can be met"
            )
    lowest = np.asarray(np.linalg.eigvalsh(program.hessian)[:, :1], dtype=np.float64)
    if np.any(lowest <= 0):
        problem = _first("smallest eigenvalue of the Hessian", lowest <= 0, lowest)
        raise SolverError(f"quadratic program: {problem}, expected above 0: are weights or damping missing?")


def _first(name: str, is_invalid: Bools, values: Floats) -> str:
    """Return the first wrong value and where it is."""
    where = np.argwhere(is_invalid)[0]
    return f"{name} {', '.join(map(str, where))} is {values[tuple(where)]:g}"
