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
from .cost_derivatives import blocks, slopes
from .tree_kinematics import TreeProblems, measure, place
from .tree_plan import TreePlan

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]

FIRST_DAMPING = 1e-3
LEAST_DAMPING = 1e-7
"""Relative to the largest curvature: with less, rounding would rotate joints that the goals leave open."""
MOST_DAMPING = 1e4
"""Relative to the largest curvature: if a step with this damping does not lower the cost, the row has converged."""
STILL = 1e-8
"""rad, length of a step below which a row has converged."""
NOTHING = 1e-13
"""Relative gain below which a row has converged."""


def finish(plan: TreePlan, rows: TreeProblems, tolerance: float, steps: int) -> TreeProblems:
    """The rows refined by at most `steps` steps, none farther from its goals than before.

    Each iteration tries a Gauss-Newton step and a full Newton step and takes the better one: full Newton misleads far
    from reachable goals, Gauss-Newton converges slowly near unreachable ones. Rows within tolerance (m) and rows that
    have converged stop.
    """
    best = rows
    if not (plan.free.any() or plan.root_free):
        return best
    left, farthest, _ = measure(plan, rows)
    damping = np.full((2, len(left)), FIRST_DAMPING)
    going = np.flatnonzero(farthest > tolerance)
    for _ in range(steps):
        if not len(going):
            break
        tried, change = _tried(plan, best.select(going), damping[:, going])
        new_left, new_farthest, _ = measure(plan, tried)
        new_left = new_left.reshape(2, -1)
        worse = new_left >= left[going]
        damping[:, going] = np.where(worse, damping[:, going] * 5, np.maximum(damping[:, going] / 8, LEAST_DAMPING))
        kind = new_left.argmin(0)
        chosen = kind * len(going) + np.arange(len(going))
        gained = left[going] - new_left.min(0)
        at_rest = (change.max(0) < STILL) | (damping[:, going].min(0) > MOST_DAMPING)
        at_rest |= (gained > 0) & (gained < NOTHING * left[going])
        better = np.flatnonzero(gained > 0)
        best = best.put(going[better], tried.select(chosen[better]))
        left[going[better]] = new_left.min(0)[better]
        going = going[~at_rest & ~((gained > 0) & (new_farthest[chosen] <= tolerance))]
    return best


def _tried(plan: TreePlan, rows: TreeProblems, damping: Floats) -> tuple[TreeProblems, Floats]:
    """The rows after a Gauss-Newton and after a full Newton step (2 R), and their largest changes (2, R) rad.

    damping: (2, R), relative to the largest curvature.
    """
    turns = 3 * len(plan.links)
    found = slopes(plan, place(plan, rows.origin, rows.turns), rows)
    let, edge = _let(plan, rows.turns, -found.slope[:, :turns])
    free = np.concatenate([plan.free.ravel(), np.full(3 * plan.root_free, True)])
    allowed = np.tile(np.eye(len(free)), (len(let), 1, 1))
    allowed[:, :turns, :turns] = blocks(let)
    curvature = np.stack([found.curvature, found.curvature + found.bend])
    curvature = allowed @ curvature @ allowed
    curvature[1, :, :turns, :turns] += blocks(edge)
    slope = np.ascontiguousarray((allowed @ found.slope[..., None])[:, free])
    # Negative curvature counts by its absolute value, so that the step leads down from a ridge, not onto it.
    # Contiguous: matrix products round by memory layout, which would depend on the number of rows.
    bends, ways = np.linalg.eigh(np.ascontiguousarray(curvature[:, :, free][..., free]))
    damped = np.abs(bends) + (damping * np.maximum(np.abs(bends).max(-1), 1e-300))[..., None]
    change = np.zeros((*damping.shape, len(free)))
    change[..., free] = -(ways @ ((ways.swapaxes(-1, -2) @ slope) / damped[..., None]))[..., 0]
    both = rows.select(np.tile(np.arange(len(let)), 2))
    moved = change.reshape(-1, len(free))
    turned = swing_twist_limits.clamp(plan.cone, plan.twist, both.turns + moved[:, :turns].reshape(both.turns.shape))
    origin = both.origin + plan.reach * moved[:, turns:] if plan.root_free else both.origin
    return replace(both, turns=turned, origin=origin), np.abs(change).max(-1)


def _let(plan: TreePlan, turns: Floats, downhill: Floats) -> tuple[Floats, Floats]:
    """Projection on the directions in which each joint may move, and its limits' curvature: both (R, N, 3, 3).

    A joint at a limit that the descent direction `downhill` (R, 3 N) would violate may only move along it. The edge of
    a cone is curved, so moving along it also moves inwards, against the descent: that adds to the cost's curvature.
    """
    wish = downhill.reshape(turns.shape)
    twist = turns[..., 1]
    low, high = plan.twist[:, 0], plan.twist[:, 1]
    whole = high - low >= swing_twist_limits.FULL_TWIST
    stopped = ~whole & (((twist <= low) & (wish[..., 1] < 0)) | ((twist >= high) & (wish[..., 1] > 0)))
    let, edge = np.zeros((*turns.shape, 3)), np.zeros((*turns.shape, 3))
    let[..., 1, 1] = ~stopped
    let[..., ::2, ::2], edge[..., ::2, ::2] = swing_twist_limits.let(plan.cone, turns[..., ::2], wish[..., ::2])
    return let, edge
