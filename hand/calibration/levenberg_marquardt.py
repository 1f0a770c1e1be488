"""Levenberg-Marquardt optimisation of a hand fitted to free motion.

Frames are coupled only through the shared parameters, so each frame's pose is eliminated by itself first: the bordered
block-diagonal structure of bundle adjustment (Triggs et al. 2000, 6.1). Angles at a limit that a step would cross stay
fixed in that step.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .least_squares import FitProblem, FitState, NormalEquations

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

NOISE = (0.0005, 0.004)
"""m on each axis: bounds of the noise, which includes skin sliding and is estimated from the fit's residuals."""
POSING, FIRST_PASSES, PASSES = 20, 8, 40
"""Maximum numbers of steps: of the poses alone, of everything until the noise is estimated, and after that."""
TOLERANCE = 1e-5
"""Relative decrease of the cost below which the search ends."""


def posed(problem: FitProblem, state: FitState) -> FitState:
    """Fit only the poses, with separate damping for each frame."""
    damping = np.full(len(state.angles), 1e-2)
    costs = problem.costs(state)[0]
    nothing = np.zeros(len(state.anatomy.vector()))
    for _ in range(POSING):
        normal = problem.normal(state)
        matrix, _, down = _free(normal, problem.held(state, normal.down_poses))
        step = _solved(_damped(matrix, damping[:, None]), down[..., None])[..., 0]
        tried = problem.after(state, step, nothing)
        there = problem.costs(tried)[0]
        better = there < costs
        root = np.where(better[:, None, None], tried.root, state.root)
        state = FitState(state.anatomy, root, np.where(better[:, None], tried.angles, state.angles))
        damping = np.clip(np.where(better, damping / 5, damping * 10), 1e-9, 1e9)
        won = np.where(better, costs - there, 0.0)
        costs = costs - won
        if np.all(won < 1e-4 * costs + 1e-9):
            break
    return state


class MotionFit:
    """A fit of a hand to a clip in steps. Iterate `steps()` to the end, then read `problem` and `state`."""

    def __init__(self, problem: FitProblem, state: FitState) -> None:
        self.problem, self.state = problem, state

    def steps(self) -> Iterator[float]:
        """Run the fit, yielding progress 0..1."""
        self.state = posed(self.problem, self.state)
        yield 0.2
        for done in self._all(FIRST_PASSES):
            yield 0.2 + 0.3 * done
        self.problem = replace(self.problem, noise=told_noise(self.problem, self.state))
        for done in self._all(PASSES):
            yield 0.5 + 0.5 * done

    def _all(self, passes: int) -> Iterator[float]:
        """Optimise all variables; yield progress 0..1."""
        problem = self.problem
        damping, cost = 1e-3, _total(problem.costs(self.state))
        normal = None
        for number in range(passes):
            yield number / passes
            if normal is None:
                normal = problem.normal(self.state)
            tried = problem.after(self.state, *_step(normal, problem.held(self.state, normal.down_poses), damping))
            better = _total(problem.costs(tried))
            if better < cost:
                done = cost - better < TOLERANCE * cost
                self.state, cost, damping, normal = tried, better, max(damping / 5, 1e-9), None
                if done:
                    break
            else:
                damping *= 10
                if damping > 1e8:
                    break


def _total(costs: tuple[Floats, float]) -> float:
    return float(costs[0].sum()) + costs[1]


def _free(normal: NormalEquations, held: Bools) -> tuple[Floats, Floats, Floats]:
    """Blocks `poses`, `mixed` and `down_poses` of the normal equations, with variables held by a limit fixed."""
    free = ~held
    poses = np.where(free[:, :, None] & free[:, None, :], normal.poses, 0.0)
    rows = np.arange(held.shape[1])
    poses[:, rows, rows] += held
    return poses, np.where(free[:, :, None], normal.mixed, 0.0), np.where(free, normal.down_poses, 0.0)


def _damped(matrix: Floats, damping: Floats | float) -> Floats:
    """Marquardt's damping: increase the diagonal by a fraction of itself."""
    rows = np.arange(matrix.shape[-1])
    larger = matrix.copy()
    larger[..., rows, rows] *= 1 + damping
    larger[..., rows, rows] += 1e-9
    return larger


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Solve matrix · X = right (..., N, K)."""
    found: Floats = np.linalg.solve(matrix, right).astype(float, copy=False)
    return found


def _step(normal: NormalEquations, held: Bools, damping: float) -> tuple[Floats, Floats]:
    """Step of the poses (F, 6 + D) and of the shared parameters (P,); each frame's pose is eliminated first."""
    poses, mixed, down = _free(normal, held)
    solved = _solved(_damped(poses, damping), np.concatenate([mixed, down[..., None]], axis=-1))
    reduced, right = _reduced(_damped(normal.shared, damping), normal.down_shared, mixed, solved)
    shared = _solved(reduced, right[:, None])[:, 0]
    return solved[..., -1] - solved[..., :-1] @ shared, shared


def _reduced(shared: Floats, down: Floats, mixed: Floats, solved: Floats) -> tuple[Floats, Floats]:
    """Schur complement (P, P) after elimination of the poses, and its right-hand side (P,)."""
    many = mixed.shape[-1]
    taken = mixed.reshape(-1, many).T @ solved.reshape(-1, many + 1)
    return shared - taken[:, :-1], down - taken[:, -1]


def spreads(problem: FitProblem, state: FitState) -> Floats:
    """Standard deviations (P,) of the shared parameters by the curvature at the solution, active limits fixed."""
    normal = problem.normal(state)
    poses, mixed, down = _free(normal, problem.held(state, normal.down_poses))
    solved = _solved(_damped(poses, 0.0), np.concatenate([mixed, down[..., None]], axis=-1))
    reduced, _ = _reduced(normal.shared, normal.down_shared, mixed, solved)
    deviations: Floats = np.sqrt(problem.emphasis * np.maximum(np.diag(np.linalg.inv(reduced)), 0.0))
    return deviations


def told_noise(problem: FitProblem, state: FitState) -> float:
    """Estimate the markers' noise in m on each axis from the residuals and the number of degrees of freedom.

    It uses the median, to ignore outliers. Poses absorb part of the noise; with few markers almost all of it, and then
    the problem's noise is returned.
    """
    far = np.linalg.norm(problem.off(state), axis=-1)[problem.seen]
    numbers = 3 * problem.seen.sum(axis=1)
    free = np.maximum(numbers - _moving(problem), 0).sum()
    if free < 0.15 * numbers.sum():
        return problem.noise
    # 1.538: median norm of a standard normal vector in three dimensions.
    raw = float(np.median(far)) / 1.538 * np.sqrt(numbers.sum() / free)
    return float(np.clip(raw, *NOISE))


def _moving(problem: FitProblem) -> Ints:
    """Number (F,) of pose variables that the markers seen depend on."""
    moves = np.zeros((len(problem.riders.joints), problem.usual.dofs), bool)
    for m, joint in enumerate(problem.riders.joints):
        above = [joint]
        while above[-1] >= 0:
            above.append(problem.usual.parents[above[-1]])
        moves[m] = np.isin(problem.usual.axis_joint, above)
    numbers: Ints = 6 + np.sum(problem.seen.astype(int) @ moves.astype(int) > 0, axis=1)
    return numbers
