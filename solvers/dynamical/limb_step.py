"""The step of a limb: the constrained inversion of its differential kinematics (Dynamical 3.2).

Minimise Σ w ‖J δ − v* dt‖² + λ ‖δ‖² over the step δ = ṡ dt, subject to joint limits and hard couplings.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import SCALAR, N, NumberFunctions
from ..qp import quadratic_program as qp
from .limb_kinematics import Square
from .limbs import CouplingTerm, LimbModel

Floats = NDArray[np.float64]
FIXED = 2
ROUNDS = 8
"""Most rounds of block pivoting in plain floats; programs that need more go to qp.solve_all."""


class TurnBounds:
    """How far a joint may move in a step: it slows down towards its limits.

    Dynamical 3.2.1: ṡ ≤ v_max tanh(k (s_max − s)). Where dt v_max k > 1 that alone would overshoot the limit, so the
    distance to the limit is a bound as well.
    """

    __slots__ = ("most", "slope")

    def __init__(self, most: float, slope: float) -> None:
        self.most = most
        """rad, v_max dt."""
        self.slope = slope
        """1/rad, k."""

    def up_to(self, m: NumberFunctions[N], way: N) -> Any:
        """rad that a step may go towards a limit `way` rad ahead; negative, back inside, beyond the limit."""
        if m is SCALAR:
            # The hyperbolic tangent is odd, so this holds for negative distances, too.
            one = self.most * math.tanh(self.slope * way)
            return one if abs(one) < abs(way) else way
        many = self.most * np.tanh(self.slope * way)
        return np.where(np.abs(many) < np.abs(way), many, way)


def coupling_cost(m: NumberFunctions[N], limb: LimbModel, angles: list[N]) -> Any:
    """m², the cost of violated couplings; a hard one costs 1 m² per rad²."""
    cost: Any = 0.0 * angles[0]
    for row in limb.rows:
        way = row_way(m, row, angles)
        cost = cost + (limb.worth.coupling**2 if row.soft else 1.0) * way * way
    return cost


def add_couplings(m: NumberFunctions[N], limb: LimbModel, angles: list[N], program: Any, share: float) -> None:
    """Add the soft couplings, corrected by `share` of their violation, to the normal equations, in place."""
    square, right = program
    weight = limb.worth.coupling**2
    for row in limb.rows:
        if not row.soft:
            continue
        way = row_way(m, row, angles)
        active: Any = weight if row.lower == row.upper else m.where(abs(way) > 0, weight, 0.0)
        terms = list(zip(row.turns, row.coefficients, strict=True))
        for k, (turn, coefficient) in enumerate(terms):
            right[turn] = right[turn] + active * share * coefficient * way
            for other, second in terms[: k + 1]:
                low, high = (other, turn) if other < turn else (turn, other)
                square[high][low] = square[high][low] + active * coefficient * second


def row_way(m: NumberFunctions[N], row: CouplingTerm, angles: list[N]) -> N:
    """rad by which a coupling's sum must change to be within its bounds, 0 inside."""
    total: Any = sum(c * angles[turn] for turn, c in zip(row.turns, row.coefficients, strict=True))
    if row.lower == row.upper:
        way: N = row.lower - total
        return way
    return m.where(total < row.lower, row.lower - total, m.where(total > row.upper, row.upper - total, 0.0 * total))


def bounds(
    m: NumberFunctions[N], limb: LimbModel, angles: list[N], room: TurnBounds, known: list[Any]
) -> tuple[list[N], list[N]]:
    """Lower and upper bounds (n + p,) of the step: of each degree of freedom, then of each hard coupling's sum.

    Degrees of freedom that no target determines (`known` (n,) is false) stay.
    """
    up: Any = [room.up_to(m, high - angle) for high, angle in zip(limb.high, angles, strict=True)]
    down: Any = [-room.up_to(m, angle - low) for low, angle in zip(limb.low, angles, strict=True)]
    if not (m is SCALAR and all(known)):
        up = [m.where(knows, way, 0.0) for knows, way in zip(known, up, strict=True)]
        down = [m.where(knows, way, 0.0) for knows, way in zip(known, down, strict=True)]
    for row in limb.hard:
        total: Any = sum(c * angles[turn] for turn, c in zip(row.turns, row.coefficients, strict=True))
        # Dynamical 3.2.2: bounded like joint limits.
        down.append(-room.up_to(m, total - row.lower))
        up.append(room.up_to(m, row.upper - total))
    return down, up


def step(
    m: NumberFunctions[N], limb: LimbModel, program: tuple[Square[N], list[N]], ends: tuple[list[N], list[N]]
) -> Any:
    """The step (n,) of a limb, rad.

    program: the lower half of JᵀWJ + λ, and the right side. ends: see `bounds`.
    """
    given: Any = (program, ends)
    if m is not SCALAR:
        return _many(limb, *given)
    found: Any = None if limb.hard else in_box(*given[0], *given[1])
    if found is None:
        whole = [[np.array([value]) for value in row] for row in program[0]]
        right, low, high = ([np.array([value]) for value in values] for values in (program[1], *ends))
        found = [float(value[0]) for value in _many(limb, (whole, right), (low, high))]
    return found


def in_box(square: list[list[float]], right: list[float], low: list[float], high: list[float]) -> list[float] | None:
    """Minimise ½ xᵀHx − gᵀx with low ≤ x ≤ high by block pivoting, as in qp/; None where that does not finish.

    square: the lower half of H; right: g.
    """
    count = len(right)
    held = [FIXED if low[i] >= high[i] else 0 for i in range(count)]
    x = [low[i] if held[i] else 0.0 for i in range(count)]
    for _ in range(ROUNDS):
        free = [i for i in range(count) if not held[i]]
        _solve_free(square, right, x, held, free)
        ended = True
        for i in free:
            if x[i] > high[i]:
                held[i], x[i], ended = 1, high[i], False
            elif x[i] < low[i]:
                held[i], x[i], ended = -1, low[i], False
        # A variable that this round has fixed is checked in the next one.
        stopped = [i for i in range(count) if i not in free and held[i] != FIXED] if len(free) < count else []
        let_go = [i for i in stopped if held[i] * _pull(square, right, x, i) < 0]
        for i in let_go:
            held[i] = 0
        if ended and not let_go:
            return x
    return None


def _pull(square: list[list[float]], right: list[float], x: list[float], i: int) -> float:
    """(g − Hx)_i, the negative gradient: positive where increasing x_i lowers the cost."""
    pull = right[i]
    row = square[i]
    for j, value in enumerate(x):
        pull -= (row[j] if j <= i else square[j][i]) * value
    return pull


def _solve_free(
    square: list[list[float]], right: list[float], x: list[float], held: list[int], free: list[int]
) -> None:
    """Set the free variables of x, in place, to where their gradient is zero, by LDLᵀ."""
    lower: list[list[float]] = []
    scaled: list[float] = []
    diagonal: list[float] = []
    fixed = [j for j in range(len(x)) if held[j] and x[j]] if len(free) < len(x) else []
    for i in free:
        line = square[i]
        value = right[i]
        for j in fixed:
            value -= (line[j] if j <= i else square[j][i]) * x[j]
        row: list[float] = []
        pivot = line[i]
        for k, (other, d) in enumerate(zip(lower, diagonal, strict=True)):
            entry = line[free[k]]
            for a, b in zip(row, other, strict=False):
                entry -= a * b
            part = entry / d
            row.append(entry)
            value -= part * scaled[k]
            pivot -= part * entry
            # `row` holds L·D while it is built, `other` holds L.
        lower.append([entry / d for entry, d in zip(row, diagonal, strict=True)])
        scaled.append(value)
        diagonal.append(pivot)
    for k in range(len(free) - 1, -1, -1):
        value = scaled[k] / diagonal[k]
        for later in range(k + 1, len(free)):
            value -= lower[later][k] * x[free[later]]
        x[free[k]] = value


def _many(
    limb: LimbModel, program: tuple[Square[Floats], list[Floats]], ends: tuple[list[Floats], list[Floats]]
) -> Any:
    """A limb's steps in F frames, every number an array (F,), by qp/quadratic_program.py, which always terminates."""
    square, right = program
    count, n = len(ends[0][0]), len(right)
    hessian, gradient, rows = np.empty((count, n, n)), np.empty((count, n)), np.zeros((len(limb.hard), n))
    for i in range(n):
        gradient[:, i] = -right[i]
        for j in range(i + 1):
            hessian[:, i, j] = hessian[:, j, i] = square[i][j]
    for k, row in enumerate(limb.hard):
        rows[k, list(row.turns)] = row.coefficients
    low, high = np.stack(ends[0], axis=1), np.stack(ends[1], axis=1)
    return list(qp.solve_all(qp.QuadraticProgram(hessian, gradient, low, high, rows)).x.T)
