"""The nearest pose within the limits, from one that is not far: where passes creep or are stuck, this ends them.

Near a straight chain FABRIK's passes gain less and less, and within limits they stop at poses that are not the
nearest. From there all turns are improved together: Newton's steps on the cost, damped (Levenberg 1944, Marquardt
1963) and projected on the limits (Bertsekas 1982, Projected Newton Methods), which are a convex set in the turns. It
ends where no small turn within the limits leads nearer. No step leads away.
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
"""Parts of the largest curvature: with less, rounding turns joints that the goals leave open."""
MOST_DAMPING = 1e4
"""Parts of the largest curvature: where so much damping finds no better pose, there is none near."""
STILL = 1e-8
"""rad of a step below which a row is at rest."""
NOTHING = 1e-13
"""Part of what is missed that is as good as nothing."""


def finish(plan: TreePlan, rows: TreeProblems, tolerance: float, steps: int) -> TreeProblems:
    """The rows no farther from their goals than they are, after at most `steps` steps.

    Two steps are tried each time, one that heeds how the misses bend and one that does not, and the better is taken:
    the first leads astray far from goals that can be reached, the second creeps near those that cannot. Rows within
    tolerance m, and rows at rest, freeze.
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
    """The rows after one step and after the other (2 R), damped by (2, R), and their largest changes (2, R) rad."""
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
    # Where the cost curves downwards the same step as where it curves upwards leads off the ridge, not onto it.
    # In one piece: products of matrices round by how they lie in memory, which depends on how many rows there are.
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
    """What each joint may do, and how its limits curve: both (R, N, 3, 3), over its three turns.

    A joint at a limit that downhill (R, 3 N) would leave through may only go along it. To go along the edge of a cone
    is to turn inwards by its curvature, against the slope: which counts as curvature of the cost.
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
