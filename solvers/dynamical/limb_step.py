"""The step of a limb: the constrained inversion of its differential kinematics (Dynamical 3.2).

Minimise Σ w ‖J δ − v* dt‖² + λ ‖δ‖² over the step δ = ṡ dt, subject to joint limits and hard couplings.
"""

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import SCALAR, N, NumberFunctions
from ..qp import quadratic_program as qp
from .limb_kinematics import Square
from .limbs import LimbCoupling, LimbModel

Floats = NDArray[np.float64]
FIXED = 2
"""Marks a variable whose bounds are equal; 1 and −1 mark active upper and lower bounds."""
ROUNDS = 8
"""Maximum number of rounds of block pivoting in plain floats; programs that need more go to qp.solve_all."""


class StepLimit:
    """Bounds of a joint's step, which slows down towards its limits.

    Dynamical 3.2.1: ṡ ≤ v_max tanh(k (s_max − s)). Where dt v_max k > 1 that alone would overshoot the limit, so the
    distance to the limit is a bound as well.
    """

    __slots__ = ("max_step", "slope")

    def __init__(self, max_step: float, slope: float) -> None:
        self.max_step = max_step
        """rad, v_max dt."""
        self.slope = slope
        """1/rad, k."""

    def max_step_towards(self, m: NumberFunctions[N], distance: N) -> Any:
        """Return the maximum step, rad, towards a limit `distance` rad ahead; negative if the limit is exceeded."""
        # The hyperbolic tangent is odd, so this holds for negative distances, too.
        if m is SCALAR:
            step = self.max_step * math.tanh(self.slope * distance)
            return step if abs(step) < abs(distance) else distance
        steps = self.max_step * np.tanh(self.slope * distance)
        return np.where(np.abs(steps) < np.abs(distance), steps, distance)


def coupling_cost(m: NumberFunctions[N], limb: LimbModel, angles: list[N]) -> Any:
    """Return the cost of violated couplings, m²; a hard one costs 1 m² per rad²."""
    cost: Any = 0.0 * angles[0]
    for coupling in limb.couplings:
        error = coupling_error(m, coupling, angles)
        cost = cost + (limb.weights.coupling**2 if coupling.soft else 1.0) * error * error
    return cost


def add_couplings(m: NumberFunctions[N], limb: LimbModel, angles: list[N], program: Any, fraction: float) -> None:
    """Add the soft couplings, corrected by `fraction` of their violation, to the normal equations, in place."""
    square, right_side = program
    weight = limb.weights.coupling**2
    for coupling in limb.couplings:
        if not coupling.soft:
            continue
        error = coupling_error(m, coupling, angles)
        active: Any = weight if coupling.lower == coupling.upper else m.where(abs(error) > 0, weight, 0.0)
        terms = list(zip(coupling.dofs, coupling.coefficients, strict=True))
        for k, (dof, coefficient) in enumerate(terms):
            right_side[dof] = right_side[dof] + active * fraction * coefficient * error
            for earlier_dof, other_coefficient in terms[: k + 1]:
                low, high = (earlier_dof, dof) if earlier_dof < dof else (dof, earlier_dof)
                square[high][low] = square[high][low] + active * coefficient * other_coefficient


def coupling_error(m: NumberFunctions[N], coupling: LimbCoupling, angles: list[N]) -> N:
    """Return the change of a coupling's sum, rad, that brings it within its bounds; 0 inside."""
    total, low, high = _weighted_sum(coupling, angles), coupling.lower, coupling.upper
    if low == high:
        error: N = low - total
        return error
    return m.where(total < low, low - total, m.where(total > high, high - total, 0.0 * total))


def _weighted_sum(coupling: LimbCoupling, angles: list[N]) -> Any:
    return sum(coefficient * angles[dof] for dof, coefficient in zip(coupling.dofs, coupling.coefficients, strict=True))


def step_bounds(
    m: NumberFunctions[N], limb: LimbModel, angles: list[N], limit: StepLimit, observed: list[Any]
) -> tuple[list[N], list[N]]:
    """Return the lower and upper bounds (n + p,) of the step: of each degree of freedom, then of each hard coupling's
    sum.

    Degrees of freedom where `observed` (n,) is false, which no target determines, do not move.
    """
    upper: Any = [limit.max_step_towards(m, high - angle) for high, angle in zip(limb.high, angles, strict=True)]
    lower: Any = [-limit.max_step_towards(m, angle - low) for low, angle in zip(limb.low, angles, strict=True)]
    if not (m is SCALAR and all(observed)):
        upper = [m.where(seen, bound, 0.0) for seen, bound in zip(observed, upper, strict=True)]
        lower = [m.where(seen, bound, 0.0) for seen, bound in zip(observed, lower, strict=True)]
    for coupling in limb.hard_couplings:
        total = _weighted_sum(coupling, angles)
        # Dynamical 3.2.2: bounded like joint limits.
        lower.append(-limit.max_step_towards(m, total - coupling.lower))
        upper.append(limit.max_step_towards(m, coupling.upper - total))
    return lower, upper


def solve_step(
    m: NumberFunctions[N], limb: LimbModel, program: tuple[Square[N], list[N]], bounds: tuple[list[N], list[N]]
) -> Any:
    """Return the step (n,) of a limb, rad.

    program: the lower half of JᵀWJ + λ, and the right side. bounds: see `step_bounds`.
    """
    if m is not SCALAR:
        return _solve_frames(limb, cast(Any, program), cast(Any, bounds))
    square, right_side, low, high = cast(Any, (*program, *bounds))
    step = None if limb.hard_couplings else solve_box_qp(square, right_side, low, high)
    if step is None:
        squares = [[np.array([value]) for value in row] for row in square]
        rights, lows, highs = ([np.array([value]) for value in values] for values in (right_side, low, high))
        step = [float(value[0]) for value in _solve_frames(limb, (squares, rights), (lows, highs))]
    return step


def solve_box_qp(
    square: list[list[float]], right_side: list[float], low: list[float], high: list[float]
) -> list[float] | None:
    """Minimise ½ xᵀHx − gᵀx with low ≤ x ≤ high by block pivoting, as in qp/; None if that does not finish.

    square: the lower half of H; right_side: g.
    """
    count = len(right_side)
    active = [FIXED if low[i] >= high[i] else 0 for i in range(count)]
    x = [low[i] if active[i] else 0.0 for i in range(count)]
    for _ in range(ROUNDS):
        free = [i for i in range(count) if not active[i]]
        _solve_free(square, right_side, x, active, free)
        ended = True
        for i in free:
            if x[i] > high[i]:
                active[i], x[i], ended = 1, high[i], False
            elif x[i] < low[i]:
                active[i], x[i], ended = -1, low[i], False
        # A variable fixed in this round is checked in the next one.
        checked = [i for i in range(count) if i not in free and active[i] != FIXED] if len(free) < count else []
        released = [i for i in checked if active[i] * _negative_gradient(square, right_side, x, i) < 0]
        for i in released:
            active[i] = 0
        if ended and not released:
            return x
    return None


def _negative_gradient(square: list[list[float]], right_side: list[float], x: list[float], i: int) -> float:
    """Return (g − Hx)_i: positive where increasing x_i lowers the cost."""
    result = right_side[i]
    row = square[i]
    for j, value in enumerate(x):
        result -= (row[j] if j <= i else square[j][i]) * value
    return result


def _solve_free(
    square: list[list[float]], right_side: list[float], x: list[float], active: list[int], free: list[int]
) -> None:
    """Set the free variables of x, in place, to where their gradient is zero, by LDLᵀ."""
    lower: list[list[float]] = []
    scaled: list[float] = []
    diagonal: list[float] = []
    fixed = [j for j in range(len(x)) if active[j] and x[j]] if len(free) < len(x) else []
    for i in free:
        line = square[i]
        value = right_side[i]
        for j in fixed:
            value -= (line[j] if j <= i else square[j][i]) * x[j]
        row: list[float] = []
        pivot = line[i]
        for k, (earlier_row, d) in enumerate(zip(lower, diagonal, strict=True)):
            entry = line[free[k]]
            for a, b in zip(row, earlier_row, strict=False):
                entry -= a * b
            part = entry / d
            row.append(entry)
            value -= part * scaled[k]
            pivot -= part * entry
            # `row` holds L·D while it is built, `earlier_row` holds L.
        lower.append([entry / d for entry, d in zip(row, diagonal, strict=True)])
        scaled.append(value)
        diagonal.append(pivot)
    for k in range(len(free) - 1, -1, -1):
        value = scaled[k] / diagonal[k]
        for below in range(k + 1, len(free)):
            value -= lower[below][k] * x[free[below]]
        x[free[k]] = value


def _solve_frames(
    limb: LimbModel, program: tuple[Square[Floats], list[Floats]], bounds: tuple[list[Floats], list[Floats]]
) -> Any:
    """Return a limb's steps in F frames, every number an array (F,), by qp/quadratic_program.py, which always
    terminates."""
    square, right_side = program
    count, n = len(bounds[0][0]), len(right_side)
    hessian, gradient, rows = np.empty((count, n, n)), np.empty((count, n)), np.zeros((len(limb.hard_couplings), n))
    for i in range(n):
        gradient[:, i] = -right_side[i]
        for j in range(i + 1):
            hessian[:, i, j] = hessian[:, j, i] = square[i][j]
    for k, coupling in enumerate(limb.hard_couplings):
        rows[k, list(coupling.dofs)] = coupling.coefficients
    low, high = np.stack(bounds[0], axis=1), np.stack(bounds[1], axis=1)
    return list(qp.solve_all(qp.QuadraticProgram(hessian, gradient, low, high, rows)).x.T)
