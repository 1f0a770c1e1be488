"""Find the most likely pose of a right hand in each frame separately, given its markers and a prior of the angles.

It minimises

    Σ_m ρ(|S_m⁻¹ R_m^T (x_m − p_m(q))|²) + (q − μ)^T C⁻¹ (q − μ)        within the limits,

where a marker's residual is taken in its bone's frame and divided by its standard deviations there. ρ is Cauchy's, so
that a marker that slipped has little weight. The Levenberg-Marquardt method runs on all frames in batches.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...finite_points import finite_points
from ...jacobians import ROOT_DOFS
from .chain import MarkerPositions, ShapeParameters, marker_positions, pose_jacobian
from .skin_fit import DOFS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CAUCHY_THRESHOLD_SQUARED = 8.0**2
"""Squared residual, in standard deviations, at which a marker has half its weight."""
FIRST_DAMPING = 1e-3
BATCH_FRAMES = 512
"""Frames per batch, so that the arrays fit the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Poses:
    """Poses of a right hand over F frames."""

    rotations: Floats
    """(F, 3, 3) R_world_wrist."""
    positions: Floats
    """(F, 3) m, positions of the wrist."""
    angles: Floats
    """(F, D) rad"""

    def __len__(self) -> int:
        return len(self.angles)

    def select(self, frames: NDArray[np.intp] | slice) -> "Poses":
        """Return the poses of some frames."""
        return Poses(self.rotations[frames], self.positions[frames], self.angles[frames])

    def assign(self, frames: NDArray[np.intp], others: "Poses") -> None:
        """Replace the poses of some frames."""
        self.rotations[frames], self.positions[frames] = others.rotations, others.positions
        self.angles[frames] = others.angles

    def copy(self) -> "Poses":
        """Return a copy with its own arrays."""
        return Poses(self.rotations.copy(), self.positions.copy(), self.angles.copy())

    def apply_step(self, step: Floats, limits: Floats) -> "Poses":
        """Return the poses after a step (F, 6 + D), clipped to limits (D, 2)."""
        return Poses(
            self.rotations @ rotation_matrices(step[:, 3:ROOT_DOFS]),
            self.positions + np.einsum("fij,fj->fi", self.rotations, step[:, :3]),
            np.clip(self.angles + step[:, ROOT_DOFS:], *limits.T),
        )


def rotation_matrices(vectors: Floats) -> Floats:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3) rad."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*vectors.shape, 3)
    matrices: Floats = (
        np.eye(3) + np.sinc(angle / np.pi) * cross + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * (cross @ cross)
    )
    return matrices


@dataclass(frozen=True, slots=True, eq=False)
class VisibleMarkers:
    """Marker positions over F frames, and where they are seen."""

    positions: Floats
    """(F, M, 3) m, zero where not seen."""
    visible: Bools
    """(F, M)"""

    @classmethod
    def from_positions(cls, positions: Floats) -> "VisibleMarkers":
        """Build from positions that are NaN where not seen."""
        is_visible = finite_points(positions)
        return cls(np.where(is_visible[..., None], positions, 0.0), is_visible)

    def __len__(self) -> int:
        return len(self.positions)

    def select(self, frames: NDArray[np.intp] | slice) -> "VisibleMarkers":
        """Return the markers of some frames."""
        return VisibleMarkers(self.positions[frames], self.visible[frames])


@dataclass(frozen=True, slots=True, eq=False)
class PoseModel:
    """A hand's shape, its markers' noise, and the prior of its angles."""

    shape: ShapeParameters
    sharpness: Floats
    """(M, 3) 1/m, the inverse of the markers' standard deviations; zero for a marker to ignore."""
    mean: Floats
    """(D,) rad"""
    precision: Floats
    """(D, D) 1/rad², the inverse of the angles' covariance."""
    limits: Floats
    """(D, 2) rad"""


@dataclass(frozen=True, slots=True, eq=False)
class PoseEquations:
    """Normal equations of F poses."""

    markers: MarkerPositions
    whitening: Floats
    """(3, 3, M, F) maps a difference in the wrist's frame to weighted standard deviations in the marker's."""
    jacobian: Floats
    """(F, 3 M, 6 + D) Jacobian of the markers in standard deviations."""
    residuals: Floats
    """(F, 3 M) seen minus modelled positions, in standard deviations."""
    matrix: Floats
    """(F, 6 + D, 6 + D)"""
    rhs: Floats
    """(F, 6 + D) negative gradient."""


def whitened_residuals(model: PoseModel, poses: Poses, seen: VisibleMarkers, markers: MarkerPositions) -> Floats:
    """(3, M, F) seen minus modelled positions along the axes of the markers' bones, in standard deviations.

    markers: of these poses, or of one frame for poses of equal angles.
    """
    local = ((seen.positions - poses.positions[:, None]) @ poses.rotations).transpose(2, 1, 0)
    differences = (local - markers.positions) * seen.visible.T
    residuals: Floats = np.einsum("ckmf,kmf->cmf", markers.rotations, differences) * model.sharpness.T[..., None]
    return residuals


def marker_squares(model: PoseModel, poses: Poses, seen: VisibleMarkers) -> Floats:
    """Squared residual (M, F) of each marker, in standard deviations."""
    return squared(whitened_residuals(model, poses, seen, marker_positions(model.shape, poses.angles)))


def squared(residuals: Floats) -> Floats:
    """Squared lengths (M, F) of residuals (3, M, F)."""
    squares: Floats = np.einsum("cmf,cmf->mf", residuals, residuals)
    return squares


def costs(model: PoseModel, poses: Poses, seen: VisibleMarkers) -> Floats:
    """Cost (F,) of each frame."""
    return costs_at(model, poses, seen, marker_positions(model.shape, poses.angles))


def costs_at(model: PoseModel, poses: Poses, seen: VisibleMarkers, markers: MarkerPositions) -> Floats:
    """Cost (F,) of each frame where the markers of the poses are known; see whitened_residuals."""
    squares = squared(whitened_residuals(model, poses, seen, markers))
    deviation = poses.angles - model.mean
    total: Floats = CAUCHY_THRESHOLD_SQUARED * np.log1p(squares / CAUCHY_THRESHOLD_SQUARED).sum(axis=0)
    total += np.einsum("fd,fd->f", deviation @ model.precision, deviation)
    return total


def normal_equations(model: PoseModel, poses: Poses, seen: VisibleMarkers) -> PoseEquations:
    """Build the normal equations at some poses, including the prior."""
    markers = marker_positions(model.shape, poses.angles)
    residuals = whitened_residuals(model, poses, seen, markers)
    squares = squared(residuals)
    weights = np.sqrt(1 / (1 + squares / CAUCHY_THRESHOLD_SQUARED)) * seen.visible.T
    whitening = markers.rotations * (model.sharpness.T[..., None] * weights)[:, None]
    jacobian = pose_jacobian(model.shape, markers, whitening).reshape(len(poses), residuals.shape[1] * 3, -1)
    residuals = (residuals * weights).T.reshape(jacobian.shape[:2])
    transposed = jacobian.swapaxes(1, 2)
    matrix, rhs = transposed @ jacobian, (transposed @ residuals[..., None])[..., 0]
    matrix[:, ROOT_DOFS:, ROOT_DOFS:] += model.precision
    rhs[:, ROOT_DOFS:] -= (poses.angles - model.mean) @ model.precision
    return PoseEquations(markers, whitening, jacobian, residuals, matrix, rhs)


def free_variables(limits: Floats, poses: Poses, rhs: Floats) -> Bools:
    """Mask (F, 6 + D) of variables that are not at a limit which the step would cross."""
    low, high = limits.T
    result = np.ones(rhs.shape, bool)
    direction = rhs[:, ROOT_DOFS:]
    result[:, ROOT_DOFS:] = ~(((poses.angles <= low) & (direction <= 0)) | ((poses.angles >= high) & (direction >= 0)))
    return result


def damp_and_fix(matrix: Floats, free: Bools, damping: Floats) -> Floats:
    """Damp matrices (F, N, N) by (F,), and fix the variables that are not free."""
    result: Floats = matrix * (free[:, :, None] & free[:, None, :])
    rows = np.arange(matrix.shape[-1])
    result[:, rows, rows] = result[:, rows, rows] * (1 + damping[:, None]) + np.where(free, 1e-6, 1.0)
    return result


def solve(matrix: Floats, rhs: Floats) -> Floats:
    """Solve matrix · X = rhs (..., N, K)."""
    solution: Floats = np.linalg.solve(matrix, rhs).astype(float, copy=False)
    return solution


def invert(matrix: Floats) -> Floats:
    """Invert matrices (..., N, N)."""
    inverted: Floats = np.linalg.inv(matrix).astype(float, copy=False)
    return inverted


def fit_poses(
    model: PoseModel, poses: Poses, seen: VisibleMarkers, iterations: int, tolerance: float = 1e-4
) -> tuple[Poses, Floats]:
    """Minimise the cost of each frame separately, from the given poses.

    Args:
        model: the hand, its noise and prior.
        poses: where the search starts.
        seen: the markers.
        iterations: most iterations.
        tolerance: relative decrease of a frame's cost below which its search ends.

    Returns:
        The poses and their cost (F,).
    """
    result = poses.copy()
    cost = np.empty(len(poses))
    for start in range(0, len(poses), BATCH_FRAMES):
        batch = slice(start, start + BATCH_FRAMES)
        fitted, cost[batch] = _fit_batch(model, poses.select(batch), seen.select(batch), iterations, tolerance)
        result.assign(np.arange(len(poses))[batch], fitted)
    return result, cost


def _fit_batch(
    model: PoseModel, poses: Poses, seen: VisibleMarkers, iterations: int, tolerance: float
) -> tuple[Poses, Floats]:
    poses, cost = poses.copy(), costs(model, poses, seen)
    damping = np.full(len(poses), FIRST_DAMPING)
    active = np.arange(len(poses))
    for _ in range(iterations):
        current, visible = poses.select(active), seen.select(active)
        equations = normal_equations(model, current, visible)
        free = free_variables(model.limits, current, equations.rhs)
        matrix = damp_and_fix(equations.matrix, free, damping[active])
        step = solve(matrix, (equations.rhs * free)[..., None])[..., 0]
        trial = current.apply_step(step, model.limits)
        trial_cost = costs(model, trial, visible)
        better = trial_cost < cost[active]
        decrease = np.where(better, cost[active] - trial_cost, 0.0)
        poses.assign(active[better], trial.select(np.flatnonzero(better)))
        cost[active] -= decrease
        damping[active] = np.where(better, np.maximum(damping[active] / 5, 1e-9), damping[active] * 10)
        continuing = (decrease > tolerance * np.maximum(cost[active], 1.0)) | (~better & (damping[active] < 1.0))
        active = active[continuing]
        if not len(active):
            break
    return poses, cost


def without_prior(model: PoseModel) -> PoseModel:
    """Return the model without a prior of the angles."""
    return replace(model, mean=np.zeros(DOFS), precision=np.zeros((DOFS, DOFS)))
