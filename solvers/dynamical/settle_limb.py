"""A limb iterated to convergence on one frame.

This is the dynamical method with constant targets and unbounded gain: each step is then a Gauss-Newton step within the
limits. A step that raises the cost is rejected, and the damping is increased (Levenberg 1944, Marquardt 1963).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY, SCALAR, N, NumberFunctions
from .limb_kinematics import (
    LimbFrames,
    SiteTarget,
    Square,
    evaluate,
    is_positive_definite,
    normal_equations,
    second_order_term,
    select_frames,
    select_nested,
)
from .limb_step import StepLimit, add_couplings, coupling_cost, solve_step, step_bounds
from .limbs import LimbModel

Floats = NDArray[np.float64]

MIN_STEP = 1e-7
"""rad, minimum step; smaller ones are not taken, because they may be rounding errors."""
MIN_STEP_HARD = 1e-13
"""rad, minimum step for limbs with hard couplings, where even tiny violations are corrected."""
MAX_STEP = 1.0
"""rad, maximum movement of a joint in a step; also the assumed size of the step before the first one."""
DAMPING_UP, DAMPING_DOWN = 30.0, 0.03
"""Factors on the damping after a rejected step and after an accepted one."""
MIN_GAIN_RATIO = 0.1
"""Minimum ratio of actual to predicted cost reduction, so that two poses of equal cost do not alternate."""
MIN_PIVOT = 1e-7
"""m², minimum pivot of a positive definite matrix."""


@dataclass(frozen=True, slots=True)
class SettlingMethod:
    """When a limb counts as converged, and how its steps are damped and bounded."""

    tolerance: float
    """m"""
    steps: int
    damping: float
    """m², λ"""
    limit: StepLimit
    converged_step: float = 1e-3
    """rad, size of a step that ends the iteration. As steps shrink by a constant factor or faster, the iteration also
    ends if the next step, extrapolated from the last two, would be this small."""


def settle_one(
    limb: LimbModel,
    angles: list[float],
    targets: list[SiteTarget[float]],
    observed: list[Any],
    method: SettlingMethod,
) -> list[float]:
    """Return the angles (n,) to which a limb converges in one frame from `angles`; undetermined ones stay."""
    posed = evaluate(SCALAR, limb, angles, targets)
    if _is_met(limb, posed, method):
        return angles
    cost, damping, last_size = _cost(SCALAR, limb, posed), method.damping, MAX_STEP
    program: Any = None
    for number in range(method.steps):
        if program is None or number == 1:
            program = _program(SCALAR, limb, posed, targets, second_order=number > 0)
        bounds = step_bounds(SCALAR, limb, posed.angles, method.limit, observed)
        step = solve_step(SCALAR, limb, add_damping(program, damping), bounds)
        size = max(map(abs, step))
        if size < _min_step(limb):
            break
        trial = evaluate(
            SCALAR, limb, [angle + change for angle, change in zip(posed.angles, step, strict=True)], targets
        )
        trial_cost = _cost(SCALAR, limb, trial)
        if not cost - trial_cost >= MIN_GAIN_RATIO * _predicted_gain(program, step):
            damping *= DAMPING_UP
            continue
        posed, cost, program = trial, trial_cost, None
        if size < method.converged_step or size * size < method.converged_step * last_size:
            break
        damping, last_size = max(damping * DAMPING_DOWN, method.damping), size
    return posed.angles


def settle_many(
    limb: LimbModel, angles: Floats, targets: list[SiteTarget[Floats]], observed: list[Any], method: SettlingMethod
) -> None:
    """Iterate the angles (n, F) of many frames to convergence, in place. Converged frames do not change."""
    met: Any = _is_met(limb, evaluate(ARRAY, limb, list(angles), targets), method)
    active = np.flatnonzero(~np.broadcast_to(met, angles.shape[1:]))
    damping, last_size = np.full(len(active), method.damping), np.full(len(active), MAX_STEP)
    for number in range(method.steps):
        if not len(active):
            return
        own_targets = select_frames(active, targets)
        posed = evaluate(ARRAY, limb, list(angles[:, active]), own_targets)
        program = _program(ARRAY, limb, posed, own_targets, second_order=number > 0)
        bounds = step_bounds(ARRAY, limb, posed.angles, method.limit, select_nested(active, tuple(observed)))
        step: Any = solve_step(ARRAY, limb, add_damping(program, damping), bounds)
        trial_angles = [angle + change for angle, change in zip(posed.angles, step, strict=True)]
        trial = evaluate(ARRAY, limb, trial_angles, own_targets)
        gain = _cost(ARRAY, limb, posed) - _cost(ARRAY, limb, trial)
        size: Any = np.abs(step).max(axis=0)
        negligible = size < _min_step(limb)
        accepted = (gain >= MIN_GAIN_RATIO * _predicted_gain(program, step)) & ~negligible
        angles[:, active[accepted]] = np.asarray(trial.angles)[:, accepted]
        has_converged = (size < method.converged_step) | (size * size < method.converged_step * last_size)
        damping = np.where(accepted, np.maximum(damping * DAMPING_DOWN, method.damping), damping * DAMPING_UP)
        last_size = np.where(accepted, size, last_size)
        remaining = ~(negligible | (accepted & has_converged))
        active, damping, last_size = active[remaining], damping[remaining], last_size[remaining]


def _is_met(limb: LimbModel, posed: LimbFrames[N], method: SettlingMethod) -> Any:
    """Return whether all targets are within tolerance and there is no hard coupling."""
    met: Any = posed.largest_squared_error <= method.tolerance**2
    return met & (not limb.hard_couplings)


def _min_step(limb: LimbModel) -> float:
    return MIN_STEP_HARD if limb.hard_couplings else MIN_STEP


def _cost(m: NumberFunctions[N], limb: LimbModel, posed: LimbFrames[N]) -> Any:
    """Return m², of targets and couplings."""
    return posed.cost + coupling_cost(m, limb, posed.angles)


def add_damping(program: Any, damping: Any) -> Any:
    """Return the program with λ added to its diagonal."""
    return [[*row[:-1], row[-1] + damping] for row in program[0]], program[1]


def _predicted_gain(program: tuple[Any, Any], step: list[N]) -> Any:
    """Return m², a lower bound of the cost reduction that the quadratic model predicts for a step."""
    return sum(gradient * change for gradient, change in zip(program[1], step, strict=True))


def _program(
    m: NumberFunctions[N], limb: LimbModel, posed: LimbFrames[N], targets: list[SiteTarget[N]], *, second_order: bool
) -> tuple[Any, Any]:
    """Return the matrix and the right side of a step, from the second step on with second-order terms."""
    square, right_side = normal_equations(limb, posed, targets, 1.0)
    if second_order:
        square = _with_second_order(m, limb, posed, targets, square)
    add_couplings(m, limb, posed.angles, (square, right_side), 1.0)
    return square, right_side


def _with_second_order(
    m: NumberFunctions[N], limb: LimbModel, posed: LimbFrames[N], targets: list[SiteTarget[N]], square: Square[N]
) -> Square[N]:
    """Add the second-order term to the matrix; where the sum is not positive definite, a diagonal bound of it instead.

    A symmetric matrix is at most the diagonal of its rows' absolute sums (Gershgorin 1931). Steps with that bound do
    not oscillate, as plain Gauss-Newton steps do where a target is far out of reach.
    """
    if all(target.position is None for target in targets):
        return square
    term = second_order_term(limb, posed, targets)
    hessian = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(square, term, strict=True)]
    definite = is_positive_definite(m, hessian, MIN_PIVOT)
    if m is SCALAR and definite:
        return hessian
    sums: list[Any] = [0.0] * len(square)
    for i, row in enumerate(term):
        for j, value in enumerate(row):
            sums[i] = sums[i] + abs(value)
            sums[j] = sums[j] + (abs(value) if j < i else 0.0)
    bounded: Square[Any] = [list(row) for row in square]
    for i, total in enumerate(sums):
        bounded[i][i] = bounded[i][i] + total
    row_pairs = zip(hessian, bounded, strict=True)
    return [[m.where(definite, a, b) for a, b in zip(*rows, strict=True)] for rows in row_pairs]
