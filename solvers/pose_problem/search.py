"""Newton's method within the limits, damped (Levenberg-Marquardt), for all frames of a pose problem at once.

Each frame stops on its own and does not depend on the others.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.jacobians import ROOT_DOFS, integrate, rotation_errors
from ...hand.kinematics import Pose, SiteMotion
from ..qp import quadratic_program as qp
from .problem import PoseProblem, Rows
from .separation import Separation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STEPS = 20
MAX_STEP = 0.3
"""rad or m, largest component of a step."""
STEP_TOLERANCE = 1e-5
"""rad or m, size of a step at which a frame has converged."""
COST_TOLERANCE = 1e-7
"""Relative decrease of the cost in a step at which a frame has converged."""
DAMPING_UP, DAMPING_DOWN, MIN_DAMPING = 10.0, 0.1, 1e-6
"""Levenberg-Marquardt: factors on λ after a failed and after a successful step, and the least λ above zero, relative to
the Hessian's largest diagonal element."""
SAME_COST = 1.0 + 1e-9
"""Ratio below which two costs are equal up to rounding."""
SADDLE_STEP, SADDLE_GAIN = 0.05, 1e-6
"""rad or m, the step away from a saddle, and the relative decrease of the cost that it must bring."""
STRAYED_COST = 0.5 * 0.002**2
"""m² for a hand of REFERENCE_LENGTH, cost above which a pose has strayed: it misses its goal, or is far from the
start."""
UNITS: Floats = np.eye(3)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The poses of F frames and their cost."""

    pose: Pose
    cost: Floats
    """(F,) m², half the sum of squares."""
    strayed: Bools
    """(F,) whether the pose misses its goal, or is bent far from the start."""


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """Poses of N frames with the cost, its gradient and its Hessian."""

    root: Floats
    """(N, 4, 4)"""
    angles: Floats
    """(N, D) rad"""
    cost: Floats
    """(N,) m², half the sum of squares."""
    gradient: Floats
    """(N, k)"""
    gauss_newton: Floats
    """(N, k, k) Gauss-Newton part of the Hessian."""
    curvature: Floats
    """(N, k, k) second-order part of the Hessian."""

    def select(self, rows: Ints) -> "Iterate":
        """Return some of the frames."""
        return Iterate(*(getattr(self, field.name)[rows] for field in fields(self)))

    def where(self, rows: Ints, candidate: "Iterate") -> "Iterate":
        """Return the iterate with the given rows replaced."""
        if len(rows) == len(self.cost):
            return candidate
        arrays = []
        for field in fields(self):
            array = getattr(self, field.name).copy()
            array[rows] = getattr(candidate, field.name)
            arrays.append(array)
        return Iterate(*arrays)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """A problem's cost as arrays over the frames being searched."""

    problem: PoseProblem
    positions: Floats
    """(N, W, 3) m, of the objectives."""
    weights: Floats
    """(N, W)"""
    next_weights: Floats
    """(N, W) weights, 0..1, of the objectives' next sites."""
    aboves: Floats
    """(N, W, 3) directions in which sites may not be below their positions; zero where all of a position matters."""
    root: Floats
    """(N, 4, 4) T_world_wrist of the start."""
    angles: Floats
    """(N, D) rad, of the start."""
    separation: Separation | None
    """Separation in these frames."""

    @classmethod
    def of(cls, problem: PoseProblem) -> "Residuals":
        """Prepare all frames of a problem."""
        count, objectives = len(problem.start.root), problem.objectives
        positions, weights = np.empty((count, len(objectives), 3)), np.empty((count, len(objectives)))
        next_weights, aboves = np.zeros(weights.shape), np.zeros(positions.shape)
        for row, objective in enumerate(objectives):
            positions[:, row], weights[:, row] = objective.position, objective.weight
            if objective.above is not None:
                aboves[:, row] = objective.above
            if objective.next_weights is not None:
                next_weights[:, row] = objective.next_weights
        # Replace NaN, which a weight of 0 would not remove.
        positions[weights == 0.0] = 0.0
        start, separation = problem.start, problem.separation
        return cls(problem, positions, weights, next_weights, aboves, start.root, start.angles, separation)

    def select(self, rows: Ints) -> "Residuals":
        """Return some of the frames."""
        positions, weights, root, angles = self.positions[rows], self.weights[rows], self.root[rows], self.angles[rows]
        separation = None if self.separation is None else self.separation.select(rows)
        return replace(
            self,
            positions=positions,
            weights=weights,
            next_weights=self.next_weights[rows],
            aboves=self.aboves[rows],
            root=root,
            angles=angles,
            separation=separation,
        )

    def at(self, root: Floats, angles: Floats) -> Iterate:
        """Compute the iterate at poses (N, 4, 4) and (N, D) rad."""
        problem, free = self.problem, self.problem.free
        change = np.zeros((len(angles), ROOT_DOFS + angles.shape[1]))
        change[:, ROOT_DOFS:] = angles - self.angles
        if problem.wrist_moves:
            change[:, :3] = (root - self.root)[:, :3, 3]
        if problem.wrist_rotates:
            change[:, 3:ROOT_DOFS] = rotation_errors(root[:, :3, :3], self.root[:, :3, :3])
        posture = problem.posture * change[:, free]
        errors, slopes, curvature = self._objectives(root, angles)
        gauss_newton = slopes.swapaxes(-1, -2) @ slopes
        gradient = (errors[:, None] @ slopes)[:, 0] + problem.posture * posture
        cost = (errors * errors).sum(-1) + (posture * posture).sum(-1)
        diagonal = np.arange(len(free))
        gauss_newton[:, diagonal, diagonal] += problem.posture**2
        if problem.soft_limits[2].any():
            lower, upper, weight = problem.soft_limits
            beyond = change[:, free] - np.clip(change[:, free], lower, upper)
            cost += ((weight * beyond) ** 2).sum(-1)
            gradient += weight**2 * beyond
            gauss_newton[:, diagonal, diagonal] += np.where(beyond == 0.0, 0.0, weight**2)
        if len(problem.couplings):
            # x + x³ / range² with its derivatives; summed so that a frame's result does not depend on the batch.
            rows = problem.couplings
            deviation = (rows * change[:, None, free]).sum(-1)
            ratio = deviation / problem.coupling_range
            value, slope = deviation * (1.0 + ratio**2), 1.0 + 3.0 * ratio**2
            stiffness = slope**2 + value * 6.0 * ratio / problem.coupling_range
            cost += (value * value).sum(-1)
            gradient += ((slope * value)[:, None] @ rows)[:, 0]
            gauss_newton += rows.T @ (stiffness[..., None] * rows)
        if self.separation is not None:
            excess, by_angle = self.separation.residuals(problem.hand, angles)
            by_free = np.concatenate([np.zeros((*excess.shape, ROOT_DOFS)), by_angle], axis=-1)[..., free]
            cost += (excess * excess).sum(-1)
            gradient += (excess[:, None] @ by_free)[:, 0]
            gauss_newton += by_free.swapaxes(-1, -2) @ by_free
        return Iterate(root, angles, cost / 2, gradient, gauss_newton, curvature)

    def _objectives(self, root: Floats, angles: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the objectives' weighted errors (N, 3 W) m, their Jacobian (N, 3 W, k) and the curvature (N, k, k).

        The curvature is the Hessian's second-order part, Σ error · second derivative.
        """
        problem, chains, rotation = self.problem, self.problem.chains, root[:, :3, :3]
        sites = chains.at(angles)
        site_jacobians = sites.slopes @ rotation[:, None].swapaxes(-1, -2)
        count, size, free = len(angles), ROOT_DOFS + angles.shape[1] + 1, problem.free
        errors = np.empty((count, len(problem.rows), 3))
        slopes, curvature = np.zeros((count, len(problem.rows), size, 3)), np.zeros((count, size, size))
        for row, ends in enumerate(problem.rows):
            weight, next_weight = self.weights[:, row, None], self.next_weights[:, row, None]
            position = self.positions[:, row]
            full_error = error = weight * _error(sites, root, ends, position, next_weight)
            along, above = problem.objectives[row].along, problem.objectives[row].above
            if along is not None:
                error = full_error - (full_error @ along)[:, None] * along
            elif above is not None:
                # Only the error below the position counts, and only along that direction.
                upwards = self.aboves[:, row]
                below = np.minimum(np.einsum("ni,ni->n", full_error, upwards), 0.0)
                error = below[:, None] * upwards
                if not below.any():
                    errors[:, row] = 0.0
                    continue
            errors[:, row] = error
            local_error = (error[:, None] @ rotation)[:, 0]
            for index, (site, sign) in enumerate(ends):
                portion = weight if len(ends) < 4 else weight * (1.0 - next_weight if index < 2 else next_weight)
                dofs, signed = chains.dofs[site], (sign * portion)[..., None]
                slopes[:, row, dofs] += signed * site_jacobians[:, site]
                # The derivative of an outer column J by a rotation about a is a × J, and e·(a × J) = (e × a)·J.
                product = rot.cross(local_error[:, None], sites.axes[:, site]) @ sites.slopes[:, site].swapaxes(-1, -2)
                half = chains.above * (signed * product)
                curvature[:, dofs[:, None], dofs] += half + chains.below * half.swapaxes(-1, -2)
            if problem.wrist_moves:
                slopes[:, row, :3] = weight[..., None] * UNITS if len(ends) == 1 else 0.0
                lever = full_error + weight * (position - root[:, :3, 3]) if len(ends) == 1 else full_error
                slopes[:, row, 3:ROOT_DOFS] = rot.cross(UNITS, lever[:, None])
            if along is not None:
                slopes[:, row] -= (slopes[:, row] @ along)[..., None] * along
            elif above is not None:
                rising = np.where(below[:, None] < 0.0, (slopes[:, row] @ upwards[..., None])[..., 0], 0.0)
                slopes[:, row] = rising[..., None] * upwards[:, None]
        rows = 3 * len(problem.rows)
        jacobian = slopes[:, :, free].swapaxes(-1, -2).reshape(count, rows, len(free))
        return errors.reshape(count, rows), jacobian, curvature[:, free[:, None], free]


def _error(sites: SiteMotion, root: Floats, ends: Rows, position: Floats, next_weight: Floats) -> Floats:
    """Return an objective's error (N, 3) m in world axes: actual minus desired position.

    next_weight (N, 1): weight of the next sites, if there are any.
    """
    rotation, positions = root[:, :3, :3], sites.positions
    if len(ends) == 1:
        error: Floats = (rotation @ positions[:, ends[0][0], :, None])[..., 0] + root[:, :3, 3] - position
        return error
    difference = positions[:, ends[0][0]] - positions[:, ends[1][0]]
    if len(ends) == 4:
        next_difference = positions[:, ends[2][0]] - positions[:, ends[3][0]]
        difference = difference + next_weight * (next_difference - difference)
    difference = difference - position
    return np.asarray((rotation @ difference[..., None])[..., 0])


def solve(problem: PoseProblem, initial: Pose | None = None, *, patient: bool = True) -> Solution:
    """Solve every frame of a pose problem. Angles stay within the hand's limits.

    Args:
        problem: F frames.
        initial: F frames, initial poses of the search; by default the problem's start.
        patient: whether to continue with more damping after a step that increased the cost.
    """
    initial, residuals = initial or problem.start, Residuals.of(problem)
    count = len(initial.root)
    search = _Search(residuals, residuals.at(initial.root, initial.angles), np.zeros(count))
    root, angles, cost = initial.root.copy(), initial.angles.copy(), np.empty(count)
    rows = np.arange(count)
    for number in range(STEPS):
        ended = search.step(patient) | (number == STEPS - 1)
        if ended.any():
            done_rows, iterate = rows[ended], search.iterate.select(np.flatnonzero(ended))
            root[done_rows], angles[done_rows], cost[done_rows] = iterate.root, iterate.angles, iterate.cost
            search, rows = search.select(np.flatnonzero(~ended)), rows[~ended]
            if not len(rows):
                break
    return Solution(Pose(problem.start.hand, root, angles), cost, cost > STRAYED_COST * problem.scale**2)


@dataclass(slots=True, eq=False)
class _Search:
    """State of the search in the N frames that have not converged."""

    residuals: Residuals
    iterate: Iterate
    damping: Floats
    """(N,) λ"""

    def select(self, rows: Ints) -> "_Search":
        """Return some of the frames."""
        return _Search(self.residuals.select(rows), self.iterate.select(rows), self.damping[rows])

    def step(self, patient: bool) -> Bools:
        """Take a step in each frame, or leave a saddle that it has converged to; return (N,) whether it is done."""
        start, several = self.iterate, len(self.residuals.problem.rows) > 1
        result, size = self._newton_step(start)
        increased = result.cost > SAME_COST * start.cost
        if patient and several and increased.any():
            # A long step may increase the error of a pin; the next step reduces it again.
            rows = np.flatnonzero(increased)
            back = self.select(rows)
            result = result.where(rows, back._newton_step(result.select(rows))[0])
            increased = result.cost > SAME_COST * start.cost
        gain = np.where(increased, np.inf, start.cost - result.cost)
        reduced = np.where(self.damping > MIN_DAMPING, self.damping * DAMPING_DOWN, 0.0)
        self.damping = np.where(increased, np.maximum(self.damping * DAMPING_UP, MIN_DAMPING), reduced)
        accepted = np.flatnonzero(~increased)
        if len(accepted):
            self.iterate = start.where(accepted, result.select(accepted) if len(accepted) < len(increased) else result)
        ended: Bools = (size < STEP_TOLERANCE) | (gain < COST_TOLERANCE * self.iterate.cost)
        if not patient:
            ended |= increased
        saddles = np.flatnonzero(ended if patient else ended & ~increased)
        if len(saddles):
            ended[saddles] = ~self._leave_saddle(saddles)
        return ended

    def _newton_step(self, start: Iterate) -> tuple[Iterate, Floats]:
        """Return the iterate after a step, and the step's largest component (N,)."""
        hessian = _positive_definite_hessian(start, self.damping, stiff=len(self.residuals.problem.rows) > 1)
        step = np.asarray(-np.linalg.solve(hessian, start.gradient[..., None])[..., 0], np.float64)
        step = self._within_limits(start, step, hessian)
        return self._after(start, step), np.abs(step).max(axis=1, initial=0.0)

    def _within_limits(self, start: Iterate, step: Floats, hessian: Floats) -> Floats:
        """Replace steps (N, k) that violate a limit or constraint by the best steps within them (quadratic program)."""
        problem = self.residuals.problem
        current = np.zeros((len(start.angles), ROOT_DOFS + start.angles.shape[1]))
        current[:, ROOT_DOFS:] = start.angles
        current, rows, full = current[:, problem.free], problem.constraints, step
        minimum: Floats = np.maximum(problem.limits[0] - current, -MAX_STEP)
        maximum: Floats = np.minimum(problem.limits[1] - current, MAX_STEP)
        if len(rows):
            values = (problem.constraint_rows * start.angles[:, None]).sum(-1)
            minimum = np.concatenate([minimum, problem.bounds[0] - values], axis=1)
            maximum = np.concatenate([maximum, problem.bounds[1] - values], axis=1)
            full = np.concatenate([step, (rows * step[:, None]).sum(-1)], axis=1)
        broken = np.flatnonzero(((full < minimum) | (full > maximum)).any(axis=1))
        if len(broken):
            linear = -(hessian[broken] @ step[broken, :, None])[..., 0]
            program = qp.QuadraticProgram(hessian[broken], linear, minimum[broken], maximum[broken], rows)
            step[broken] = qp.solve_all(program).x
        return step

    def _after(self, start: Iterate, step: Floats) -> Iterate:
        """Return the iterate after a step (N, k) of the free variables, clipped to the limits."""
        problem, root = self.residuals.problem, start.root
        full = np.zeros((len(step), ROOT_DOFS + start.angles.shape[1]))
        full[:, problem.free] = step
        if problem.wrist_rotates:
            root, _ = integrate(root, start.angles, full)
        elif problem.wrist_moves:
            root = root.copy()
            root[:, :3, 3] += full[:, :3]
        low, high = problem.start.hand.limits.T
        return self.residuals.at(root, np.minimum(np.maximum(start.angles + full[:, ROOT_DOFS:], low), high))

    def _leave_saddle(self, rows: Ints) -> Bools:
        """Step away from saddles along the direction of negative curvature; return (n,) which frames improved.

        A straight finger that is pushed along itself can bend in either direction; the better one is used.
        """
        values, directions = np.linalg.eigh(self.iterate.gauss_newton[rows] + self.iterate.curvature[rows])
        leaves: Bools = values.min(axis=1, initial=0.0) < 0.0
        if not leaves.any():
            return leaves
        rows, step = rows[leaves], directions[leaves, :, 0]
        step = step * (SADDLE_STEP / np.abs(step).max(axis=1, keepdims=True))
        saddle, unit = self.select(rows), np.broadcast_to(np.eye(step.shape[1]), (*step.shape, step.shape[1]))
        start = saddle.iterate
        descended, opposite = (
            saddle._after(start, saddle._within_limits(start, trial, unit)) for trial in (step, -step)
        )
        improved_rows = np.flatnonzero(opposite.cost < descended.cost)
        descended = descended.where(improved_rows, opposite.select(improved_rows))
        improves = descended.cost < (1.0 - SADDLE_GAIN) * start.cost
        self.iterate = self.iterate.where(rows[improves], descended.select(np.flatnonzero(improves)))
        self.damping[rows[improves]] = 0.0
        leaves[leaves] = improves
        return leaves


def _positive_definite_hessian(linearised: Iterate, damping: Floats, *, stiff: bool) -> Floats:
    """Return a positive definite Hessian (N, k, k) for a step.

    Where it is indefinite, the second-order part is dropped; if `stiff`, negative eigenvalues are replaced by their
    absolute values instead, which needs fewer steps but occasionally ends farther from the goal.
    """
    hessian = linearised.gauss_newton + linearised.curvature
    diagonal = np.arange(hessian.shape[1])
    largest = linearised.gauss_newton[:, diagonal, diagonal].max(axis=1, initial=0.0)
    hessian[:, diagonal, diagonal] += (damping * largest)[:, None]
    for row in _not_positive_definite(hessian):
        if not stiff:
            hessian[row] -= linearised.curvature[row]
        else:
            values, vectors = np.linalg.eigh(hessian[row])
            hessian[row] = (vectors * np.maximum(np.abs(values), 1e-9 * values[-1])) @ vectors.T
    return hessian


def _not_positive_definite(matrices: Floats) -> list[int]:
    """Return the indices of the matrices (N, k, k) that are not positive definite."""
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return [0]
        return [row for row in range(len(matrices)) if _not_positive_definite(matrices[row : row + 1])]
    return []
