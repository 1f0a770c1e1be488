"""How the cost of a pose, half the weighted squares of its misses, changes with the turns: slope and curvature.

A turn about the world axis ω of a joint moves a point at the arm a from it by ω × a. A second turn, of a joint at or
above the first, about ω', changes that by ω' × (ω × a). Far from its goals the cost curves by what is missed, too:
without that part the steps of the finish creep where goals are out of reach, which within limits they often are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import swing_twist_limits
from .tree_kinematics import TreeFrames, TreeProblems, misses
from .tree_plan import TreePlan

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CostDerivatives:
    """Of R rows over K unknowns: three turns of each of the N joints, then the place of a free root in reaches."""

    slope: Floats
    """(R, K)"""
    curvature: Floats
    """(R, K, K) what it is where nothing is missed."""
    bend: Floats
    """(R, K, K) what is added by what is missed."""


def slopes(plan: TreePlan, placed: TreeFrames, rows: TreeProblems) -> CostDerivatives:
    """The slopes of the cost of these rows. Turns that are not free have none."""
    count, total = len(plan.links), len(plan.site_joints)
    axes = _turning_axes(plan, placed, rows.turns) * plan.free[..., None]
    arms = placed.points[:, count:, None] - placed.points[:, None, :count]
    # A point of an orientation is seen from its own joint: what moves that does not count.
    floating = np.flatnonzero(plan.floating)
    arms[:, floating] = (placed.points[:, count + floating] - placed.points[:, plan.site_joints[floating]])[:, :, None]
    arms = arms * plan.moves[..., None]
    moved = swing_twist_limits.cross(axes[:, None], arms[:, :, :, None])
    ways = moved.reshape(len(moved), total, 3 * count, 3)
    if plan.root_free:
        shifts = plan.reach * np.eye(3) * ~plan.floating[:, None, None]
        ways = np.concatenate([ways, np.broadcast_to(shifts, (len(ways), *shifts.shape))], 2)
    missed, pulls, scale = _pulls(plan, placed, rows)
    asked = total - plan.pairs.size
    paired = ways[:, plan.pairs[:, 0]] - ways[:, plan.pairs[:, 1]]
    each = np.concatenate([ways[:, :asked], paired], 1) * scale[..., None, None]
    flat = each.swapaxes(1, 2).reshape(len(each), each.shape[2], -1)
    slope = (flat @ missed.reshape(len(flat), -1, 1))[..., 0]
    curvature = flat @ flat.swapaxes(1, 2)
    # r · (ω' × (ω × a)) = ω' · ((ω × a) × r), summed over what each turn moves.
    swept = swing_twist_limits.cross(moved, pulls[:, :, None, None]).sum(1)
    bend = np.zeros_like(curvature)
    bent = axes.reshape(len(flat), -1, 3) @ swept.reshape(len(flat), -1, 3).swapaxes(1, 2)
    bent = bent * np.kron(plan.above, np.ones((3, 3)))
    bend[:, : 3 * count, : 3 * count] = bent + bent.swapaxes(1, 2)
    moment = swing_twist_limits.cross(arms, pulls[:, :, None]).sum(1)
    products = axes @ swept.swapaxes(-1, -2)
    own = _own(plan, rows.turns, products, (moment[:, :, None] @ placed.carried)[:, :, 0])
    bend[:, : 3 * count, : 3 * count] += blocks(own)
    return CostDerivatives(slope, curvature, bend)


def _pulls(plan: TreePlan, placed: TreeFrames, rows: TreeProblems) -> tuple[Floats, Floats, Floats]:
    """The misses (R, E, 3), how they pull at each site (R, S, 3), and the roots of their weights (R, E)."""
    missed, _ = misses(plan, placed, rows)
    asked = len(plan.site_joints) - plan.pairs.size
    scale = np.sqrt(np.concatenate([rows.weights[:, :asked], rows.weights[:, plan.pairs[:, 0]]], axis=1))
    weighted = missed * scale[..., None]
    pulls = np.zeros((len(missed), len(plan.site_joints), 3))
    pulls[:, :asked] = weighted[:, :asked]
    pulls[:, plan.pairs[:, 0]], pulls[:, plan.pairs[:, 1]] = weighted[:, asked:], -weighted[:, asked:]
    return missed, pulls, scale


def blocks(joints: Floats) -> Floats:
    """(R, 3 N, 3 N) with blocks (R, N, 3, 3) on the diagonal."""
    rows, count = joints.shape[:2]
    whole = np.zeros((rows, count, 3, count, 3))
    each = np.arange(count)
    whole[:, each, :, each] = joints.swapaxes(0, 1)
    return whole.reshape(rows, 3 * count, 3 * count)


def _own(plan: TreePlan, turns: Floats, products: Floats, moment: Floats) -> Floats:
    """(R, N, 3, 3) the curvature between the three turns of each joint.

    The twist comes before the swing: between them and of the twist it is as between two joints, ω' · ((ω × a) × r),
    the products (R, N, 3, 3). The axes ω of the swing's two angles s change with the swing, see _turning_axes: besides,
    ∂ω_j/∂s_i is to be made symmetric and multiplied by the moment Σ a × r, (R, N, 3) in the frame before the turn.
    """
    own = (products + products.swapaxes(-1, -2)) / 2
    own[..., 1, ::2] = own[..., ::2, 1] = products[..., ::2, 1]
    swing = turns[..., ::2]
    vector = swing_twist_limits.swing_vector(plan.axes, turns)
    _, second, first_slope, second_slope = _series(np.linalg.norm(swing, axis=-1)[..., None, None])
    pair = plan.axes[..., ::2]
    along = (moment[..., None, :] @ pair)[..., 0, :]
    beside = (swing_twist_limits.cross(moment, vector)[..., None, :] @ pair)[..., 0, :]
    level = (moment * vector).sum(-1)[..., None, None]
    mixed = _symmetric(swing, along)
    size = (swing**2).sum(-1)[..., None, None]
    change = first_slope * _symmetric(swing, beside) + second * (level * np.eye(2) - mixed)
    change = change + second_slope * (level * _symmetric(swing, swing) - size * mixed)
    own[..., ::2, ::2] += change * (plan.free[:, ::2, None] & plan.free[:, None, ::2])
    return own


def _symmetric(a: Floats, b: Floats) -> Floats:
    """(..., 2, 2) half of a bᵀ + b aᵀ."""
    product = a[..., :, None] * b[..., None, :]
    half: Floats = (product + product.swapaxes(-1, -2)) / 2
    return half


def _series(angle: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """(1 − cos θ)/θ², (θ − sin θ)/θ³, and the slope of each by θ, over θ."""
    small = angle < 0.05
    x = np.where(small, 1.0, angle)
    cosine, sine, square, fourth = np.cos(x), np.sin(x), angle * angle, x * x * x * x
    return (
        np.where(small, 1 / 2 - square / 24 + square * square / 720, (1 - cosine) / (x * x)),
        np.where(small, 1 / 6 - square / 120 + square * square / 5040, (x - sine) * x / fourth),
        np.where(small, -1 / 12 + square / 180, (x * sine - 2 * (1 - cosine)) / fourth),
        np.where(small, -1 / 60 + square / 1260, (3 * sine - x * cosine - 2 * x) / (x * fourth)),
    )


def _turning_axes(plan: TreePlan, placed: TreeFrames, turns: Floats) -> Floats:
    """(R, N, 3, 3) rows: about which axis in the world each of the three turns turns the joint.

    A change of the swing vector s turns by J of it, the left Jacobian of the exponential map:
    J = 1 + (1 − cos θ)/θ² [s] + (θ − sin θ)/θ³ [s]², θ = |s|. The twist's axis is where the swing has brought it.
    """
    vector = swing_twist_limits.swing_vector(plan.axes, turns)
    first, second, _, _ = _series(np.linalg.norm(vector, axis=-1)[..., None])
    local = np.empty((*turns.shape, 3))
    for k in (0, 2):
        axis = np.broadcast_to(plan.axes[..., k], vector.shape)
        once = swing_twist_limits.cross(vector, axis)
        local[..., k, :] = axis + first * once + second * swing_twist_limits.cross(vector, once)
    local[..., 1, :] = (swing_twist_limits.swing_matrices(plan.axes, turns) @ plan.axes[..., 1:2])[..., 0]
    turned: Floats = local @ placed.carried.swapaxes(-1, -2)
    return turned
