"""One step of each method: from the errors of the targets to a change of the unknowns within limits.

The classic methods differ in what they make of singular values. With J = Σ σ u vᵀ (thesis (3.7)) a step is Σ a(σ) v
(u·e), where a is 1/σ for the pseudo-inverse (3.8), σ/(σ² + λ²) for damped least squares, damped only at small σ if
filtered, and a constant times σ for the transpose (3.11).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..qp import quadratic_program as qp
from ..qp.kkt_system import WorkingSet
from .residual_rows import ResidualRows

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RANK_TOLERANCE = 1e-9
"""Fraction of the largest singular value below which singular values count as zero."""
FILTER_RANGE = 10.0
"""Ratio to the damping below which singular values are damped by the filtered method."""
MAX_STEP = 0.5
"""rad, the longest step of the classic methods: the linearisation (3.3) holds for small steps only."""
MAX_LOCKING_ROUNDS = 3
"""Maximum number of times that joints at a limit are locked and the step of the others is recomputed."""


@dataclass(frozen=True, slots=True, eq=False)
class StepBounds:
    """Bounds of the steps of N rows with k unknowns."""

    low: Floats
    """(N, k) <= 0"""
    high: Floats
    """(N, k) >= 0"""
    hard: Floats
    """(N, h, k) coefficients of hard couplings."""
    hard_low: Floats
    """(N, h)"""
    hard_high: Floats
    """(N, h)"""

    def minimise(self, hessian: Floats, gradient: Floats, working: WorkingSet | None) -> qp.QpSolution:
        """Return the step x (N, k) that minimises ½ xᵀHx + gᵀx within the bounds."""
        low = np.concatenate([self.low, self.hard_low], axis=1)
        high = np.concatenate([self.high, self.hard_high], axis=1)
        return qp.solve_all(qp.QuadraticProgram(hessian, gradient, low, high, self.hard), working)

    def project(self, step: Floats) -> Floats:
        """Return the allowed step (N, k) nearest to this one."""
        if not self.hard.shape[1]:
            return np.clip(step, self.low, self.high)
        hessian = np.broadcast_to(np.eye(step.shape[1]), (*step.shape, step.shape[1]))
        return self.minimise(hessian, -step, None).x


def hessian(rows: ResidualRows, scales: Floats, posture: Floats, newton: Bools) -> tuple[Floats, Floats]:
    """Return the Hessian (N, k, k) and the gradient (N, k) of half the sum of squares; posture (N,) is its weight in m.

    Far from the solution Gauss-Newton's JᵀJ is robust. Near it, where the posture decides or a target is out of reach,
    it converges slowly: the second derivatives that it leaves out are then as large as JᵀJ. So they are added for the
    unknowns marked in `newton` (N, k), and the diagonal is raised where the sum is not positive definite.
    """
    weights = (posture[:, None] * scales) ** 2
    identity = np.eye(scales.shape[-1])
    square = rows.jacobian_t @ rows.jacobian_t.swapaxes(-1, -2) + weights[..., None] * identity
    which = np.flatnonzero(newton.any(-1))
    if len(which):
        is_newton_pair = newton[which, :, None] & newton[which, None]
        full = square[which] - np.where(is_newton_pair, rows.second_order[which], 0.0)
        lowest, min_weight = np.linalg.eigvalsh(full)[:, 0], weights[which].min(-1)
        square[which] = full + np.where(lowest < min_weight / 2, min_weight - lowest, 0.0)[:, None, None] * identity
    gradient = posture[:, None] ** 2 * scales * rows.posture_errors - (rows.jacobian_t @ rows.errors[..., None])[..., 0]
    return square, gradient


def unbounded_step(jacobian_t: Floats, errors: Floats, method: str, damping: float, homing: Floats) -> Floats:
    """Return the unbounded step (N, k) of a classic method; homing (N, k) is the step towards the posture."""
    if method == "transpose":
        return transpose_step(jacobian_t, errors)
    return singular_value_step(jacobian_t, errors, method, damping, homing)


def transpose_step(jacobian_t: Floats, errors: Floats) -> Floats:
    """Return (N, k) α Jᵀe, thesis (3.11), with the α that minimises the linearised error (Buss 2004)."""
    gradient = (jacobian_t @ errors[..., None])[..., 0]
    effect = (gradient[:, None] @ jacobian_t)[:, 0]
    step_size = (errors * effect).sum(-1) / np.maximum((effect * effect).sum(-1), 1e-300)
    step: Floats = step_size[:, None] * gradient
    return step


def singular_value_step(jacobian_t: Floats, errors: Floats, method: str, damping: float, homing: Floats) -> Floats:
    """Return (N, k) thesis (3.9): the step to the targets by a(σ), plus `homing` (N, k) in the Jacobian's null
    space."""
    v, sigma, u = np.linalg.svd(jacobian_t, full_matrices=False)
    gains = singular_value_gains(sigma, method, damping)
    nonzero = sigma > RANK_TOLERANCE * sigma[:, :1]
    step = v @ (gains * (u @ errors[..., None])[..., 0])[..., None]
    observable = v @ (nonzero * (v.swapaxes(-1, -2) @ homing[..., None])[..., 0])[..., None]
    total: Floats = step[..., 0] + homing - observable[..., 0]
    return total


def singular_value_gains(sigma: Floats, method: str, damping: float) -> Floats:
    """Return (N, r) a(σ) of the singular values (N, r), the largest first."""
    damping_squared = np.zeros_like(sigma)
    if method == "damped":
        damping_squared = np.full_like(sigma, damping**2)
    elif method == "filtered":
        # Nakamura & Hanafusa 1986: no damping above the threshold, so that far from singularities the step is exact.
        damping_squared = damping**2 * np.maximum(1.0 - (sigma / (FILTER_RANGE * damping)) ** 2, 0.0)
    nonzero = sigma > RANK_TOLERANCE * sigma[:, :1]
    result: Floats = np.where(nonzero, sigma, 0.0) / np.where(nonzero, sigma**2 + damping_squared, 1.0)
    return result


def classic_step(rows: ResidualRows, bounds: StepBounds, method: str, damping: float, homing: Floats) -> Floats:
    """Return the step (N, k) of a classic method. Joints at a limit that it would move beyond the limit are locked."""
    free = np.ones(bounds.low.shape, bool)
    for _ in range(MAX_LOCKING_ROUNDS):
        jacobian_t = rows.jacobian_t * free[..., None]
        step = unbounded_step(jacobian_t, rows.errors, method, damping, homing * free)
        outwards = free & (((step < 0) & (bounds.low > -1e-12)) | ((step > 0) & (bounds.high < 1e-12)))
        if not outwards.any():
            break
        free &= ~outwards
    step = step * free * np.minimum(MAX_STEP / np.maximum(np.abs(step).max(-1, keepdims=True), 1e-300), 1.0)
    return bounds.project(step)
