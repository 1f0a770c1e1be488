"""One step of the methods that invert differential kinematics, on a tree: damped least squares, and dynamical IK.

Both use the derivatives that the refinement uses (cost_derivatives.py), in the three angles of each joint.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY
from ..dynamical.limb_step import StepLimit
from ..qp import quadratic_program as qp
from . import swing_twist_limits
from .cost_derivatives import block_diagonal, cost_derivatives
from .newton_finish import feasible_directions
from .tree_kinematics import TreeFrames, TreeProblems
from .tree_plan import TreePlan

Floats = NDArray[np.float64]

MAX_STEP = 0.5
"""rad, maximum change of an angle in a step of damped least squares, as in the solver `jacobian`."""
REGULARISATION = 1e-6
"""λ of the dynamical step relative to the squared reach. Angles that the goals leave open stay."""


def damped_step(plan: TreePlan, posed: TreeFrames, rows: TreeProblems, damping: float) -> TreeProblems:
    """Return the rows after a step of damped least squares, Δ = (JᵀWJ + λ²)⁻¹ JᵀWe; joints at a limit move along it
    only.

    damping: λ relative to the reach.
    """
    derivatives, count = cost_derivatives(plan, posed, rows), 3 * len(plan.links)
    projection, _ = feasible_directions(plan, rows.angles, -derivatives.gradient[:, :count])
    free = _free(plan)
    allowed = np.tile(np.eye(len(free)), (len(projection), 1, 1))
    allowed[:, :count, :count] = block_diagonal(projection)
    allowed = np.ascontiguousarray(allowed[:, :, free])
    square = allowed.swapaxes(-1, -2) @ derivatives.gauss_newton @ allowed
    gradient = allowed.swapaxes(-1, -2) @ derivatives.gradient[..., None]
    square = square + (damping * plan.reach) ** 2 * np.eye(square.shape[-1])
    step = -(allowed @ np.linalg.solve(square, gradient))[..., 0]
    step = step * np.minimum(MAX_STEP / np.maximum(np.abs(step).max(-1, keepdims=True), 1e-300), 1.0)
    return _apply_step(plan, rows, step)


def dynamical_step(
    plan: TreePlan, posed: TreeFrames, rows: TreeProblems, gain: float, limit: StepLimit
) -> TreeProblems:
    """Return the rows after a step of dynamical IK: minimise Σ w ‖J δ − K dt e‖² + λ ‖δ‖², slower towards limits.

    A swing is bounded along each of its two axes by its cone's edge, and clamped to the cone after that.
    gain: K dt, the fraction of the errors that a step removes. Raises nothing: the bounds always contain zero, and rows
    without a joint that can move stay as they are.
    """
    free = _free(plan)
    if not free.any():
        return rows
    derivatives = cost_derivatives(plan, posed, rows)
    low, high = (bound.reshape(len(rows.angles), -1) for bound in _bounds(plan, rows.angles))
    unbounded = np.full((len(low), 3 * plan.root_free), np.inf)
    low, high = np.concatenate([low, -unbounded], 1)[:, free], np.concatenate([high, unbounded], 1)[:, free]
    low, high = -limit.max_step_towards(ARRAY, -low), limit.max_step_towards(ARRAY, high)
    square = np.ascontiguousarray(derivatives.gauss_newton[:, free][..., free])
    square = square + REGULARISATION * plan.reach**2 * np.eye(square.shape[-1])
    program = qp.QuadraticProgram(
        square, gain * derivatives.gradient[:, free], low, high, np.zeros((0, square.shape[-1]))
    )
    step = np.zeros_like(derivatives.gradient)
    step[:, free] = qp.solve_all(program).x
    return _apply_step(plan, rows, step)


def _free(plan: TreePlan) -> NDArray[np.bool_]:
    """Return the unknowns (K,): angles that have a range and affect a goal, then a free root's position."""
    return np.concatenate([plan.free.ravel(), np.full(3 * plan.root_free, True)])


def _bounds(plan: TreePlan, angles: Floats) -> tuple[Floats, Floats]:
    """Return (R, N, 3) rad from each angle to its limits below and above, with the other angles as they are."""
    low, high = np.empty_like(angles), np.empty_like(angles)
    is_unlimited = plan.twist[:, 1] - plan.twist[:, 0] >= swing_twist_limits.FULL_TWIST
    low[..., 1] = np.where(is_unlimited, -np.pi, np.minimum(plan.twist[:, 0] - angles[..., 1], 0.0))
    high[..., 1] = np.where(is_unlimited, np.pi, np.maximum(plan.twist[:, 1] - angles[..., 1], 0.0))
    full = np.all(plan.cone >= swing_twist_limits.FULL_SWING, axis=-1)
    for axis, crossed in ((0, 2), (2, 0)):
        other_swing = angles[..., crossed]
        width = np.where(other_swing >= 0, plan.cone[:, crossed // 2], plan.cone[:, 2 + crossed // 2])
        part = np.minimum(np.abs(other_swing) / np.maximum(width, swing_twist_limits.MIN_SEMI_AXIS), 1.0)
        chord = np.sqrt(1.0 - part * part)
        below, above = -plan.cone[:, 2 + axis // 2] * chord, plan.cone[:, axis // 2] * chord
        low[..., axis] = np.where(full, -np.pi, np.minimum(below - angles[..., axis], 0.0))
        high[..., axis] = np.where(full, np.pi, np.maximum(above - angles[..., axis], 0.0))
    return low, high


def _apply_step(plan: TreePlan, rows: TreeProblems, step: Floats) -> TreeProblems:
    """Return the rows after a step (R, K): rad of the angles, then reaches of a free root."""
    count = 3 * len(plan.links)
    angles = rows.angles + step[:, :count].reshape(rows.angles.shape)
    root_position = rows.root_position + plan.reach * step[:, count:] if plan.root_free else rows.root_position
    clamped = swing_twist_limits.clamp(plan.cone, plan.twist, angles)
    # Joints that affect no goal keep their angles exactly.
    return replace(rows, angles=np.where(plan.free, clamped, rows.angles), root_position=root_position)
