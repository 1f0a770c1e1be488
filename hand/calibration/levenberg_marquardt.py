"""Levenberg-Marquardt optimisation of a hand fitted to free motion.

Frames are coupled only through the shared parameters, so each frame's pose is eliminated separately first, as in bundle
adjustment (Triggs et al. 2000, 6.1). Angles at a limit that a step would cross stay fixed in that step.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..generators import Progress, Steps, part_of
from .least_squares import FitProblem, FitState, NormalEquations

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

NOISE_RANGE = (0.0005, 0.004)
"""m on each axis: bounds of the noise, which includes skin sliding and is estimated from the fit's residuals."""
POSE_ITERATIONS, FIRST_ITERATIONS, LAST_ITERATIONS = 20, 8, 40
"""Maximum numbers of iterations: of the poses alone, of all variables until the noise is estimated, and after that."""
COST_TOLERANCE = 1e-5
"""Relative decrease of the cost below which the search ends."""


def fit_poses(problem: FitProblem, state: FitState) -> FitState:
    """Fit only the poses, with separate damping for each frame."""
    damping = np.full(len(state.angles), 1e-2)
    costs = problem.costs(state)[0]
    no_step = np.zeros(len(state.parameters.vector()))
    for _ in range(POSE_ITERATIONS):
        equations = problem.normal_equations(state)
        matrix, _, rhs = _fix_at_limits(equations, problem.at_limits(state, equations.rhs_poses))
        step = _solve(_add_damping(matrix, damping[:, None]), rhs[..., None])[..., 0]
        trial = problem.apply_step(state, step, no_step)
        trial_costs = problem.costs(trial)[0]
        improved = trial_costs < costs
        root = np.where(improved[:, None, None], trial.root, state.root)
        state = FitState(state.parameters, root, np.where(improved[:, None], trial.angles, state.angles))
        damping = np.clip(np.where(improved, damping / 5, damping * 10), 1e-9, 1e9)
        decrease = np.where(improved, costs - trial_costs, 0.0)
        costs = costs - decrease
        if np.all(decrease < 1e-4 * costs + 1e-9):
            break
    return state


class MotionFit:
    """A fit of a hand to a clip, run step by step: iterate `steps()` to the end, then read `problem` and `state`."""

    def __init__(self, problem: FitProblem, state: FitState) -> None:
        self.problem, self.state = problem, state

    def steps(self) -> Steps[None]:
        """Run the fit."""
        self.state = fit_poses(self.problem, self.state)
        yield Progress(0.2)
        yield from part_of(0.2, 0.5, "", self._optimise(FIRST_ITERATIONS))
        self.problem = replace(self.problem, noise=estimate_noise(self.problem, self.state))
        yield from part_of(0.5, 1.0, "", self._optimise(LAST_ITERATIONS))

    def _optimise(self, iterations: int) -> Steps[None]:
        """Optimise all variables."""
        problem = self.problem
        damping, cost = 1e-3, _total(problem.costs(self.state))
        equations = None
        for iteration in range(iterations):
            yield Progress(iteration / iterations)
            if equations is None:
                equations = problem.normal_equations(self.state)
            trial = problem.apply_step(
                self.state, *_step(equations, problem.at_limits(self.state, equations.rhs_poses), damping)
            )
            trial_cost = _total(problem.costs(trial))
            if trial_cost < cost:
                converged = cost - trial_cost < COST_TOLERANCE * cost
                self.state, cost, damping, equations = trial, trial_cost, max(damping / 5, 1e-9), None
                if converged:
                    break
            else:
                damping *= 10
                if damping > 1e8:
                    break


def _total(costs: tuple[Floats, float]) -> float:
    return float(costs[0].sum()) + costs[1]


def _fix_at_limits(equations: NormalEquations, fixed: Bools) -> tuple[Floats, Floats, Floats]:
    """Return `poses`, `mixed` and `rhs_poses` of the normal equations, with some variables (F, 6 + D) fixed."""
    free = ~fixed
    poses = np.where(free[:, :, None] & free[:, None, :], equations.poses, 0.0)
    rows = np.arange(fixed.shape[1])
    poses[:, rows, rows] += fixed
    return poses, np.where(free[:, :, None], equations.mixed, 0.0), np.where(free, equations.rhs_poses, 0.0)


def _add_damping(matrix: Floats, damping: Floats | float) -> Floats:
    """Increase the diagonal by a fraction of itself (Marquardt)."""
    rows = np.arange(matrix.shape[-1])
    damped = matrix.copy()
    damped[..., rows, rows] *= 1 + damping
    damped[..., rows, rows] += 1e-9
    return damped


def _solve(matrix: Floats, rhs: Floats) -> Floats:
    """Solve matrix · X = rhs (..., N, K)."""
    solution: Floats = np.linalg.solve(matrix, rhs).astype(float, copy=False)
    return solution


def _step(equations: NormalEquations, fixed: Bools, damping: float) -> tuple[Floats, Floats]:
    """Return the step of the poses (F, 6 + D) and of the shared parameters (P,)."""
    poses, mixed, rhs = _fix_at_limits(equations, fixed)
    solved = _solve(_add_damping(poses, damping), np.concatenate([mixed, rhs[..., None]], axis=-1))
    reduced, reduced_rhs = schur_complement(
        _add_damping(equations.shared, damping), equations.rhs_shared, mixed, solved
    )
    shared = _solve(reduced, reduced_rhs[:, None])[:, 0]
    return solved[..., -1] - solved[..., :-1] @ shared, shared


def schur_complement(shared: Floats, rhs: Floats, mixed: Floats, solved: Floats) -> tuple[Floats, Floats]:
    """Eliminate the poses: return the Schur complement (P, P) and its right-hand side (P,).

    solved: the poses' block solved for `mixed` and for the poses' right-hand side.
    """
    count = mixed.shape[-1]
    eliminated = mixed.reshape(-1, count).T @ solved.reshape(-1, count + 1)
    return shared - eliminated[:, :-1], rhs - eliminated[:, -1]


def parameter_spreads(problem: FitProblem, state: FitState) -> Floats:
    """Return the standard deviations (P,) of the shared parameters, by the curvature of the cost at the solution."""
    equations = problem.normal_equations(state)
    poses, mixed, rhs = _fix_at_limits(equations, problem.at_limits(state, equations.rhs_poses))
    solved = _solve(_add_damping(poses, 0.0), np.concatenate([mixed, rhs[..., None]], axis=-1))
    reduced, _ = schur_complement(equations.shared, equations.rhs_shared, mixed, solved)
    deviations: Floats = np.sqrt(problem.prior_weight * np.maximum(np.diag(np.linalg.inv(reduced)), 0.0))
    return deviations


def estimate_noise(problem: FitProblem, state: FitState) -> float:
    """Estimate the markers' noise in m on each axis from the residuals and the number of degrees of freedom.

    The median ignores outliers. Poses absorb part of the noise. With few markers they absorb almost all of it, and
    `problem.noise` is returned.
    """
    distances = np.linalg.norm(problem.residuals(state), axis=-1)[problem.seen]
    coordinates = 3 * problem.seen.sum(axis=1)
    degrees_of_freedom = np.maximum(coordinates - _observable_variables(problem), 0).sum()
    if degrees_of_freedom < 0.15 * coordinates.sum():
        return problem.noise
    # 1.538: median norm of a standard normal vector in three dimensions.
    raw = float(np.median(distances)) / 1.538 * np.sqrt(coordinates.sum() / degrees_of_freedom)
    return float(np.clip(raw, *NOISE_RANGE))


def _observable_variables(problem: FitProblem) -> Ints:
    """Return the number (F,) of pose variables on which the visible markers depend."""
    affects = np.zeros((len(problem.markers.joints), problem.reference.dofs), bool)
    for m, joint in enumerate(problem.markers.joints):
        ancestors = [joint]
        while ancestors[-1] >= 0:
            ancestors.append(problem.reference.parents[ancestors[-1]])
        affects[m] = np.isin(problem.reference.axis_joint, ancestors)
    count: Ints = 6 + np.sum(problem.seen.astype(int) @ affects.astype(int) > 0, axis=1)
    return count
