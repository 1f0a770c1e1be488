"""Refine a pose to the nearest one within limits, where FABRIK's passes converge slowly or are stuck.

Near a straight chain FABRIK's passes gain less and less, and within limits they stop short of the optimum. From there
all angles are optimised together: damped Newton steps on the cost (Levenberg 1944, Marquardt 1963), projected on the
limits (Bertsekas 1982, Projected Newton Methods), which are a convex set in these angles. The iteration ends at a local
minimum; no step raises the cost.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from . import swing_twist_limits
from .cost_derivatives import block_diagonal, cost_derivatives
from .tree_kinematics import TreeProblems, forward_kinematics, measure
from .tree_plan import TreePlan

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]

START_DAMPING = 1e-3
MIN_DAMPING = 1e-7
"""Minimum damping, relative to the largest curvature. With less, rounding would rotate joints that no goal
determines."""
MAX_DAMPING = 1e4
"""Damping, relative to the largest curvature, above which a row has converged."""
MIN_STEP = 1e-8
"""rad, length of a step below which a row has converged."""
MIN_RELATIVE_GAIN = 1e-13
"""Relative decrease of the error below which a row has converged."""


def refine(plan: TreePlan, rows: TreeProblems, tolerance: float, steps: int) -> TreeProblems:
    """Return the rows refined by at most `steps` steps, none farther from its goals than before.

    Each iteration tries a Gauss-Newton step and a full Newton step and takes the better one: full Newton misleads far
    from reachable goals, Gauss-Newton converges slowly near unreachable ones. Rows within tolerance (m) and rows that
    have converged stop.
    """
    best_rows = rows
    if not (plan.free.any() or plan.root_free):
        return best_rows
    error, largest, _ = measure(plan, rows)
    damping = np.full((2, len(error)), START_DAMPING)
    active = np.flatnonzero(largest > tolerance)
    for _ in range(steps):
        if not len(active):
            break
        trial, change = _trial_steps(plan, best_rows.select(active), damping[:, active])
        new_error, new_largest, _ = measure(plan, trial)
        new_error = new_error.reshape(2, -1)
        is_worse = new_error >= error[active]
        damping[:, active] = np.where(is_worse, damping[:, active] * 5, np.maximum(damping[:, active] / 8, MIN_DAMPING))
        kind = new_error.argmin(0)
        kind_rows = kind * len(active) + np.arange(len(active))
        gain = error[active] - new_error.min(0)
        converged = (change.max(0) < MIN_STEP) | (damping[:, active].min(0) > MAX_DAMPING)
        converged |= (gain > 0) & (gain < MIN_RELATIVE_GAIN * error[active])
        improved_rows = np.flatnonzero(gain > 0)
        best_rows = best_rows.replace_rows(active[improved_rows], trial.select(kind_rows[improved_rows]))
        error[active[improved_rows]] = new_error.min(0)[improved_rows]
        active = active[~converged & ~((gain > 0) & (new_largest[kind_rows] <= tolerance))]
    return best_rows


def _trial_steps(plan: TreePlan, rows: TreeProblems, damping: Floats) -> tuple[TreeProblems, Floats]:
    """Return the rows after a Gauss-Newton and after a full Newton step (2 R), and their largest changes (2, R) rad.

    damping: (2, R), relative to the largest curvature.
    """
    count = 3 * len(plan.links)
    derivatives = cost_derivatives(plan, forward_kinematics(plan, rows.root_position, rows.angles), rows)
    projection, edge = feasible_directions(plan, rows.angles, -derivatives.gradient[:, :count])
    free = np.concatenate([plan.free.ravel(), np.full(3 * plan.root_free, True)])
    allowed = np.tile(np.eye(len(free)), (len(projection), 1, 1))
    allowed[:, :count, :count] = block_diagonal(projection)
    hessians = np.stack([derivatives.gauss_newton, derivatives.gauss_newton + derivatives.second_order])
    hessians = allowed @ hessians @ allowed
    hessians[1, :, :count, :count] += block_diagonal(edge)
    gradient = np.ascontiguousarray((allowed @ derivatives.gradient[..., None])[:, free])
    # Use the absolute value of negative curvature, so that the step leads down from a ridge, not onto it.
    # Contiguous: matrix products round by memory layout, which would depend on the number of rows.
    curvatures, directions = np.linalg.eigh(np.ascontiguousarray(hessians[:, :, free][..., free]))
    damped = np.abs(curvatures) + (damping * np.maximum(np.abs(curvatures).max(-1), 1e-300))[..., None]
    change = np.zeros((*damping.shape, len(free)))
    change[..., free] = -(directions @ ((directions.swapaxes(-1, -2) @ gradient) / damped[..., None]))[..., 0]
    trial_rows = rows.select(np.tile(np.arange(len(projection)), 2))
    steps = change.reshape(-1, len(free))
    angles = swing_twist_limits.clamp(
        plan.cone, plan.twist, trial_rows.angles + steps[:, :count].reshape(trial_rows.angles.shape)
    )
    root_position = (
        trial_rows.root_position + plan.reach * steps[:, count:] if plan.root_free else trial_rows.root_position
    )
    return replace(trial_rows, angles=angles, root_position=root_position), np.abs(change).max(-1)


def feasible_directions(plan: TreePlan, angles: Floats, downhill: Floats) -> tuple[Floats, Floats]:
    """Return the projection on the directions in which each joint may move, and its limits' curvature: both (R, N, 3,
    3).

    A joint at a limit that the descent direction `downhill` (R, 3 N) would violate may only move along it. The edge of
    a cone is curved, so moving along it also moves inwards, against the descent: that adds to the cost's curvature.
    """
    descent = downhill.reshape(angles.shape)
    twist = angles[..., 1]
    low, high = plan.twist[:, 0], plan.twist[:, 1]
    unlimited = high - low >= swing_twist_limits.FULL_TWIST
    stopped = ~unlimited & (((twist <= low) & (descent[..., 1] < 0)) | ((twist >= high) & (descent[..., 1] > 0)))
    projection, edge = np.zeros((*angles.shape, 3)), np.zeros((*angles.shape, 3))
    projection[..., 1, 1] = ~stopped
    projection[..., ::2, ::2], edge[..., ::2, ::2] = swing_twist_limits.edge_projection(
        plan.cone, angles[..., ::2], descent[..., ::2]
    )
    return projection, edge
