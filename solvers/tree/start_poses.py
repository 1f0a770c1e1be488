"""Start poses, and the one case with a closed form: a chain without limits whose goal is out of reach."""

import numpy as np
from numpy.typing import NDArray

from . import swing_twist_limits
from .fabrik_passes import outwards
from .tree_kinematics import TreeProblems, measure
from .tree_plan import TreePlan

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BENT = 0.3
"""rad by which each joint of a slightly bent pose is bent."""
WIDEST = 1.5
"""rad, the largest angle from rest of random poses."""


def beginning(plan: TreePlan, turns: Floats, number: int) -> Floats:
    """(R, N, 3) start poses of restart `number`: 0 is the present pose, 1 slightly bent, others random within limits.

    The random numbers are the same for every row, so that a row's result does not depend on the others.
    """
    if number == 0:
        return turns
    moved = _bent(plan, turns) if number == 1 else np.broadcast_to(_scattered(plan, number), turns.shape)
    return swing_twist_limits.clamp(plan.cone, plan.twist, np.where(plan.free, moved, turns))


def _bent(plan: TreePlan, turns: Floats) -> Floats:
    """All joints bent a little the same way, inside their limits, as the iteration stalls at a straight chain."""
    moved = turns.copy()
    is_hinge = ~plan.free[:, 0] & ~plan.free[:, 2]
    inside = np.where(turns[..., 1] > plan.twist.mean(-1), -BENT, BENT)
    moved[..., 1] += np.where(is_hinge, inside, 0.0)
    # Away from the cone's nearer edge; the caller clamps the result.
    moved[..., 0] += np.where(turns[..., 0] > (plan.cone[:, 0] - plan.cone[:, 2]) / 2, -BENT, BENT)
    return moved


def _scattered(plan: TreePlan, number: int) -> Floats:
    """(N, 3) a random pose within limits, seeded by `number`."""
    unit = np.random.default_rng(number).uniform(-1, 1, plan.cone.shape[:1] + (3,))
    turns = np.zeros_like(unit)
    round_disc = unit[:, ::2] / np.maximum(np.linalg.norm(unit[:, ::2], axis=-1, keepdims=True), 1.0)
    turns[:, ::2] = round_disc * np.minimum(swing_twist_limits.semi_axes(plan.cone, round_disc), WIDEST)
    middle = swing_twist_limits.clamp_twist(plan.twist, np.zeros(len(turns)))
    low, high = np.maximum(plan.twist[:, 0], middle - WIDEST), np.minimum(plan.twist[:, 1], middle + WIDEST)
    turns[:, 1] = (low + high) / 2 + unit[:, 1] * (high - low) / 2
    return turns


def out_of_reach(plan: TreePlan, rows: TreeProblems) -> tuple[Floats, Bools]:
    """The optimal angles (R, N, 3) of rows whose goal is out of reach, and which rows these are (R,).

    Only for a single chain without limits. Too far: straight towards the goal (1.8). Too near, if the longest bone is
    longer than all others together: that bone towards the goal and the others back.
    """
    nothing = np.zeros(len(rows.turns), bool)
    if not plan.straight:
        return rows.turns, nothing
    lengths = np.linalg.norm(plan.steps[1:], axis=-1)
    if not lengths.any():
        return rows.turns, nothing
    way = rows.goals[:, 0] - rows.origin
    distance = np.linalg.norm(way, axis=-1)
    longest = int(lengths.argmax())
    inner = 2 * lengths[longest] - lengths.sum()
    far, near = distance >= lengths.sum(), distance <= inner
    chosen = np.flatnonzero(far | near)
    if not len(chosen):
        return rows.turns, nothing
    some = rows.select(chosen)
    _, _, placed = measure(plan, some)
    count = len(plan.links)
    # A goal at the root itself has no direction: use the present one of the longest bone.
    now = placed.points[:, longest + 1] - placed.points[:, longest]
    towards = np.where(distance[chosen, None] > 1e-12 * plan.reach, way[chosen], now)
    towards = towards / np.linalg.norm(towards, axis=-1, keepdims=True)
    back = np.where(np.arange(len(lengths)) == longest, 1.0, -1.0)
    signed = np.where(far[chosen, None], lengths, lengths * back)
    along = np.concatenate([np.zeros((len(chosen), 1)), np.cumsum(signed, axis=-1)], 1)
    wanted = some.origin[:, None] + along[..., None] * towards[:, None]
    wanted = np.concatenate([wanted, some.goals], 1)
    turns = rows.turns.copy()
    turns[chosen] = outwards(plan, placed, some, wanted, np.ones((len(chosen), count + 1)))
    return turns, far | near


def least_miss(plan: TreePlan, rows: TreeProblems) -> Floats:
    """(R,) m, a lower bound of the error in `measure`, from goals farther away than the bones' lengths."""
    if plan.root_free:
        return np.zeros(len(rows.turns))
    along = np.zeros(len(plan.links))
    for n, link in enumerate(plan.links[1:], 1):
        along[n] = along[link.parent] + np.linalg.norm(plan.steps[n])
    asked = len(plan.site_joints) - plan.pairs.size
    reach = (along[plan.site_joints] + np.linalg.norm(plan.site_offsets, axis=-1))[:asked]
    beyond = np.linalg.norm(rows.goals[:, :asked] - rows.origin[:, None], axis=-1) - reach
    beyond = np.where(plan.floating[:asked], 0.0, np.maximum(beyond, 0.0))
    least: Floats = np.sqrt((rows.weights[:, :asked] * beyond**2).sum(-1))
    return least
