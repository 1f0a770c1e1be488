"""The iteration of the Jacobian methods: step, evaluate, keep the best pose, until a row converges.

A row is one part of the hand in one frame; all rows of a batch are iterated together.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import jacobians
from ..qp.kkt_system import WorkingSet
from .relative_targets import RelativePoses
from .residual_rows import PartsProblem, ResidualRows, coupling_values
from .steps import StepBounds, classic_step, hessian

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LEVENBERG_MARQUARDT = "levenberg-marquardt"
"""The method that rejects steps that raise the cost."""
START_POSTURE_WEIGHT = 0.003
"""m, the posture weight of the first steps, where the start is far from the solution. With a small weight the solution
lies in a narrow curved valley, along which steps are short; with a large one a few steps lead close to it."""
POSTURE_DECAY = 10.0
"""Divisor of the posture weight after a step shorter than POSTURE_DECAY_STEP, down to its final value."""
POSTURE_DECAY_STEP = 0.1
"""rad"""
START_DAMPING = 1e-4
"""Levenberg-Marquardt's initial λ, relative to the Hessian's largest diagonal element."""
MIN_DAMPING, MAX_DAMPING = 1e-12, 1e8
"""Bounds of λ."""
NEGLIGIBLE_DAMPING = 1e-10
"""λ above which a short step does not end the iteration, since damping may have caused it."""
DAMPING_DOWN, DAMPING_UP = 0.1, 10.0
"""Factors on λ after an accepted step and after a rejected one."""

COST_ROUNDING = 1.0 + 1e-13
"""Ratio below which costs are equal up to rounding. Near the solution, steps still improve a pose of equal cost."""


@dataclass(frozen=True, slots=True)
class StepMethod:
    """Settings of `Jacobian` for the computation of steps and the end of the iteration."""

    name: str
    damping: float
    homing: float
    iterations: int
    tolerance: float


@dataclass(slots=True, eq=False)
class _ActiveRows:
    """The N rows that have not converged, at their current poses."""

    rows: Ints
    """(N,) ascending indices of the F · G rows of the batch, frame-major."""
    frames: Ints
    parts: Ints
    residuals: ResidualRows
    damping: Floats
    """(N,) λ"""
    posture_factor: Floats
    """(N,) the present posture weight, relative to its final value."""
    working: WorkingSet | None = None
    """(N, k + h) the constraints that were active in the last step."""

    def keep(self, active: Bools) -> None:
        if np.all(active):
            return
        which = np.flatnonzero(active)
        self.rows, self.frames, self.parts = self.rows[which], self.frames[which], self.parts[which]
        self.residuals, self.damping = self.residuals.select(which), self.damping[which]
        self.posture_factor = self.posture_factor[which]
        self.working = None if self.working is None else self.working[which]


def solve_parts(
    problem: PartsProblem,
    method: StepMethod,
    start: RelativePoses,
    start_posture_weight: float = START_POSTURE_WEIGHT,
) -> tuple[RelativePoses, Floats]:
    """Iterate from the start poses; returns the best poses and the cost (F, G) of each part in m².

    start_posture_weight: m, of the first steps.
    """
    best_poses, current, trial = start.copy(), start.copy(), start.copy()
    count, parts = len(start.angles), len(problem.parts.dofs)
    posture, always = problem.weights.posture, method.name != LEVENBERG_MARQUARDT
    active = _all_rows(problem, current, 1.0 if always else max(start_posture_weight / posture, 1.0))
    best_cost = active.residuals.cost(posture)
    for _ in range(method.iterations):
        if not len(active.rows):
            break
        weight, final = posture * active.posture_factor, active.posture_factor == 1
        step = _step(problem, method, active, current, weight)
        _move(problem, active, current, trial, step)
        trial_residuals = problem.rows(active.frames, active.parts, trial)
        nearer = trial_residuals.cost(weight) <= COST_ROUNDING * active.residuals.cost(weight)
        accepted = nearer | always
        active.residuals = active.residuals.where(accepted, trial_residuals)
        _copy_rows(problem, active, accepted, trial, current)
        cost = active.residuals.cost(posture)
        better = (cost <= COST_ROUNDING * best_cost[active.rows]) | ~final
        best_cost[active.rows[better]] = cost[better]
        _copy_rows(problem, active, better, current, best_poses)
        size = np.abs(step).max(-1)
        small = size < method.tolerance
        converged = small & final & ((active.damping <= NEGLIGIBLE_DAMPING) | always)
        factor = np.where(nearer, np.where(small, 0.0, DAMPING_DOWN), DAMPING_UP)
        active.damping = np.clip(active.damping * factor, MIN_DAMPING, MAX_DAMPING)
        lower = np.maximum(active.posture_factor / POSTURE_DECAY, 1.0)
        active.posture_factor = np.where(nearer & (size < POSTURE_DECAY_STEP), lower, active.posture_factor)
        active.keep(~converged & (active.damping < MAX_DAMPING))
    return best_poses, best_cost.reshape(count, parts)


def _all_rows(problem: PartsProblem, start: RelativePoses, posture_factor: float) -> _ActiveRows:
    """Return all rows at their start poses."""
    parts = len(problem.parts.dofs)
    rows = np.arange(len(start.angles) * parts)
    frames, numbers = rows // max(parts, 1), rows % max(parts, 1)
    ones = np.ones(len(rows))
    residuals = problem.rows(frames, numbers, start)
    return _ActiveRows(rows, frames, numbers, residuals, START_DAMPING * ones, posture_factor * ones)


def _step(
    problem: PartsProblem, method: StepMethod, active: _ActiveRows, current: RelativePoses, posture: Floats
) -> Floats:
    """Return the next step (N, base + n) of each row: m and rad of a floating root, then rad."""
    bounds = _step_bounds(problem, active, current)
    scales = problem.scales[active.parts]
    if method.name != LEVENBERG_MARQUARDT:
        homing = -method.homing * active.residuals.posture_errors / scales
        return classic_step(active.residuals, bounds, method.name, method.damping, homing)
    newton = np.broadcast_to((active.posture_factor == 1)[:, None], scales.shape)
    if active.working is not None:
        newton = newton & (active.working[:, : scales.shape[1]] == 0)
    square, gradient = hessian(active.residuals, scales, posture, newton)
    diagonal = np.einsum("nii->ni", square)
    diagonal += (active.damping * diagonal.max(-1))[:, None]
    solution = bounds.minimise(square, gradient, active.working)
    active.working = solution.working
    return solution.x


def _step_bounds(problem: PartsProblem, active: _ActiveRows, current: RelativePoses) -> StepBounds:
    """Return the bounds of the rows' steps: limits and hard couplings, relative to the current angles."""
    parts = active.parts
    dofs = problem.parts.dofs[parts]
    angles = current.angles[active.frames[:, None], dofs]
    low, high = problem.limits
    unbounded = np.full((len(parts), problem.root_dofs), np.inf)
    coefficients, lower, upper = problem.couplings
    rows = problem.parts.hard[parts]
    values = coupling_values(coefficients[rows], current.angles[active.frames])
    hard = coefficients[rows[:, :, None], dofs[:, None, :]]
    return StepBounds(
        np.concatenate([-unbounded, low[dofs] - angles], axis=1),
        np.concatenate([unbounded, high[dofs] - angles], axis=1),
        np.concatenate([np.zeros((*rows.shape, problem.root_dofs)), hard], axis=2),
        lower[rows] - values,
        upper[rows] - values,
    )


def _move(
    problem: PartsProblem, active: _ActiveRows, current: RelativePoses, trial: RelativePoses, step: Floats
) -> None:
    """Write the poses `current`, moved by a step (N, base + n), into `trial`."""
    dofs = problem.parts.dofs[active.parts]
    low, high = problem.limits
    entries = active.frames[:, None], dofs
    trial.angles[entries] = np.clip(current.angles[entries] + step[:, problem.root_dofs :], low[dofs], high[dofs])
    if problem.floating:
        base = step[:, : problem.root_dofs]
        trial.root[active.frames], _ = jacobians.integrate(current.root[active.frames], np.zeros((len(step), 0)), base)


def _copy_rows(
    problem: PartsProblem, active: _ActiveRows, which: Bools, source: RelativePoses, target: RelativePoses
) -> None:
    """Copy the rows selected by `which` (N,) from one set of poses into another."""
    frames, dofs = active.frames[which], problem.parts.dofs[active.parts[which]]
    target.angles[frames[:, None], dofs] = source.angles[frames[:, None], dofs]
    if problem.floating:
        target.root[frames] = source.root[frames]
