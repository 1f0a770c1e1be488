"""Fit a right hand's shape, and its pose in every frame of a take, to its landmarks.

Levenberg-Marquardt on all poses and the shape at once. Poses are tied to their neighbours (motion.py), so that a
frame's depth follows from the frames around it; the shape is shared by all, and is eliminated last (Triggs et al. 2000,
6.1). Angles at a limit that a step would cross stay fixed in that step.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..calibration.levenberg_marquardt import schur_complement
from ..calibration.skin_markers.chain import ShapeParameters
from ..calibration.skin_markers.pose_fit import Poses, free_variables, solve
from ..calibration.skin_markers.priors import prior_weight
from ..jacobians import ROOT_DOFS
from ..proportions import adult, build
from .banded import BandedMatrix
from .landmark_shape import HandShapePrior, landmark_shape_jacobian, step_shape
from .landmark_table import pose_prior
from .measurement import LandmarkResiduals, Sighting, measured_residuals, measured_rows, pose_rows, residuals
from .motion import MotionPrior

Floats = NDArray[np.float64]

LIMITS = build(adult("right")).limits
"""(D, 2) rad"""
POSE_WEIGHT = 0.5
"""Weight of the prior of the angles in a frame."""
TOLERANCE = 1e-4
"""Relative decrease of the cost below which the search ends."""


@dataclass(frozen=True, slots=True, eq=False)
class TakeState:
    """A hand's shape and poses."""

    shape: ShapeParameters
    poses: Poses


@dataclass(frozen=True, slots=True, eq=False)
class TakeFitProblem:
    """The measurements of F frames, and the priors."""

    sighting: Sighting
    motion: MotionPrior
    shape_prior: HandShapePrior | None
    """None keeps the shape as it is."""

    @property
    def shape_weight(self) -> float:
        """Weight of the shape's prior, to balance more frames than are independent."""
        return prior_weight(len(self.sighting))

    def cost(self, state: TakeState) -> float:
        """Return the sum of all squares."""
        found = residuals(state.shape, state.poses, self.sighting)
        mean, precision = pose_prior()
        deviation = state.poses.angles - mean
        cost = float(found.cost().sum()) + POSE_WEIGHT * float(((deviation @ precision) * deviation).sum())
        if self.shape_prior is not None:
            cost += self.shape_weight * float((self.shape_prior.residuals(state.shape)[0] ** 2).sum())
        return cost + self.motion.cost(state.poses)

    def step(self, state: TakeState, equations: "TakeEquations", damping: float) -> TakeState:
        """Return the state after a damped Gauss-Newton step."""
        free = free_variables(LIMITS, state.poses, equations.rhs)
        matrix = equations.matrix.fixed(free).damped(damping)
        rhs = (equations.rhs * free)[..., None]
        if self.shape_prior is None:
            return replace(state, poses=moved(state.poses, matrix.solve(rhs)[..., 0]))
        mixed = equations.mixed * free[..., None]
        solved = matrix.solve(np.concatenate([mixed, rhs], axis=2))
        shared, width = equations.shared.copy(), equations.shared.shape[0]
        shared[np.arange(width), np.arange(width)] *= 1 + damping
        reduced, reduced_rhs = schur_complement(shared, equations.rhs_shared, mixed, solved)
        shape_step: Floats = solve(reduced, reduced_rhs[:, None])[:, 0]
        poses = moved(state.poses, solved[..., -1] - solved[..., :-1] @ shape_step)
        return TakeState(step_shape(state.shape, shape_step), poses)


@dataclass(frozen=True, slots=True, eq=False)
class TakeEquations:
    """Normal equations of poses and shape: S shared parameters, none if the shape is kept."""

    matrix: BandedMatrix
    rhs: Floats
    """(F, 6 + D) negative gradient."""
    mixed: Floats
    """(F, 6 + D, S)"""
    shared: Floats
    """(S, S)"""
    rhs_shared: Floats
    """(S,) negative gradient."""

    @classmethod
    def of(cls, problem: TakeFitProblem, state: TakeState) -> "TakeEquations":
        """Linearise a problem at a state."""
        found = residuals(state.shape, state.poses, problem.sighting)
        rows = measured_rows(pose_rows(state.shape, state.poses, found), found, problem.sighting)
        misses = measured_residuals(found)
        matrix, rhs = problem.motion.equations(state.poses)
        mean, precision = pose_prior()
        transposed = rows.swapaxes(1, 2)
        blocks = matrix.blocks + transposed @ rows
        blocks[:, ROOT_DOFS:, ROOT_DOFS:] += POSE_WEIGHT * precision
        rhs += (transposed @ misses[..., None])[..., 0]
        rhs[:, ROOT_DOFS:] -= POSE_WEIGHT * (state.poses.angles - mean) @ precision
        matrix = BandedMatrix(blocks, matrix.next, matrix.second)
        if problem.shape_prior is None:
            return cls(matrix, rhs, rhs[..., :0, None], np.zeros((0, 0)), np.zeros(0))
        return cls(matrix, rhs, *cls._of_shape(problem, state, found, transposed, misses))

    @staticmethod
    def _of_shape(
        problem: TakeFitProblem, state: TakeState, found: LandmarkResiduals, transposed: Floats, misses: Floats
    ) -> tuple[Floats, Floats, Floats]:
        local = landmark_shape_jacobian(state.shape, found.landmarks)
        rows = measured_rows(state.poses.rotations[:, None] @ local, found, problem.sighting)
        assert problem.shape_prior is not None
        expected, jacobian = problem.shape_prior.residuals(state.shape)
        weight, flat = problem.shape_weight, rows.reshape(-1, rows.shape[-1])
        shared = flat.T @ flat + weight * jacobian.T @ jacobian
        return transposed @ rows, shared, flat.T @ misses.ravel() - weight * jacobian.T @ expected


def moved(poses: Poses, step: Floats, limits: Floats = LIMITS) -> Poses:
    """The poses after a step (F, 6 + D): position in the camera's space, rotation about own axes, angles in limits."""
    rotated = Poses(poses.rotations, np.zeros_like(poses.positions), poses.angles)
    rotation_step = step.copy()
    rotation_step[:, :3] = 0.0
    rotated = rotated.apply_step(rotation_step, limits)
    return Poses(rotated.rotations, poses.positions + step[:, :3], rotated.angles)


def fit_take(problem: TakeFitProblem, state: TakeState, iterations: int) -> tuple[TakeState, float]:
    """Minimise the cost from a state; return the state and its cost."""
    damping, cost = 1e-3, problem.cost(state)
    equations = TakeEquations.of(problem, state)
    for _ in range(iterations):
        trial = problem.step(state, equations, damping)
        trial_cost = problem.cost(trial)
        if trial_cost < cost:
            done = cost - trial_cost < TOLERANCE * cost
            state, cost, damping = trial, trial_cost, max(damping / 5, 1e-7)
            if done:
                break
            equations = TakeEquations.of(problem, state)
        elif damping > 1e6:
            break
        else:
            damping *= 10
    return state, cost
