"""The nearest pose within the limits, from one that is not far: where passes creep or are stuck, this ends them.

Near a straight chain FABRIK's passes gain less and less, and within limits they stop at poses that are not the
nearest. From there all turns are improved together: damped least squares on the misses (Levenberg 1944, Marquardt
1963), projected on the limits (Bertsekas 1982, Projected Newton Methods), which are a convex set in the turns. It ends
where no small turn within the limits leads nearer. No step leads away.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from . import limits
from .plan import Plan
from .posing import Placed, Rowset, measure, misses, place

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]

FIRST_DAMPING = 1e-3
LEAST_DAMPING = 1e-12
MOST_DAMPING = 1e6
"""Parts of the largest curvature: where so much damping finds no better pose, there is none near."""
STILL = 1e-11
"""rad of a step, and part of the cost it gains, below which a row is at rest."""


def finish(plan: Plan, rows: Rowset, tolerance: float, steps: int) -> Rowset:
    """The rows no farther from their goals than they are, after at most `steps` steps.

    Rows within tolerance m, and rows at rest, freeze.
    """
    best = rows
    left, farthest, _ = measure(plan, rows)
    damping = np.full(len(left), FIRST_DAMPING)
    going = np.flatnonzero(farthest > tolerance)
    for _ in range(steps):
        if not len(going):
            break
        tried, change = _stepped(plan, best.select(going), damping[going])
        new_left, new_farthest, _ = measure(plan, tried)
        better = new_left < left[going]
        little = left[going] - new_left < STILL * new_left
        won = going[better]
        best = best.put(won, tried.select(np.flatnonzero(better)))
        left[won] = new_left[better]
        damping[going] = np.where(better, np.maximum(damping[going] / 8, LEAST_DAMPING), damping[going] * 5)
        at_rest = (change < STILL) | (better & little) | (damping[going] > MOST_DAMPING)
        going = going[~(at_rest | (better & (new_farthest <= tolerance)))]
    return best


def _stepped(plan: Plan, rows: Rowset, damping: Floats) -> tuple[Rowset, Floats]:
    """The rows after one damped step inside the limits, and the largest change (R,) rad."""
    placed = place(plan, rows.base, rows.origin, rows.turns)
    left, _ = misses(plan, placed, rows)
    slopes = _slopes(plan, placed, rows)
    count = len(plan.links)
    flat = slopes.reshape(len(left), left.shape[1] * 3, -1)
    residual = left.reshape(len(left), -1)
    pulled = _within(plan, rows.turns, flat, -np.einsum("rek,re->rk", flat, residual))
    curvature = np.swapaxes(pulled, 1, 2) @ pulled
    largest = np.maximum(np.diagonal(curvature, axis1=1, axis2=2).max(-1), 1e-300)
    damped = curvature + (damping * largest)[:, None, None] * np.eye(curvature.shape[1])
    change = np.linalg.solve(damped, -np.einsum("rek,re->rk", pulled, residual)[..., None])[..., 0]
    turns = limits.clamp(plan.cone, plan.twist, rows.turns + change[:, : 3 * count].reshape(-1, count, 3))
    origin = rows.origin + plan.reach * change[:, 3 * count :] if plan.root_free else rows.origin
    return replace(rows, turns=turns, origin=origin), np.abs(change).max(-1)


def _within(plan: Plan, turns: Floats, slopes: Floats, downhill: Floats) -> Floats:
    """The slopes (R, E, K) without those along which a joint at its limit would leave it; downhill (R, K)."""
    count = len(plan.links)
    result = slopes.copy()
    joints = result[..., : 3 * count].reshape(*slopes.shape[:2], count, 3)
    wish = downhill[:, : 3 * count].reshape(-1, count, 3)
    twist = turns[..., 1]
    low, high = plan.twist[:, 0], plan.twist[:, 1]
    whole = high - low >= limits.FULL_TWIST
    stopped = ~whole & (((twist <= low) & (wish[..., 1] < 0)) | ((twist >= high) & (wish[..., 1] > 0)))
    joints[..., 1] *= ~stopped[:, None]
    normal, edge = limits.outward(plan.cone, turns[..., ::2])
    leaving = edge & ((normal * wish[..., ::2]).sum(-1) > 0)
    normal = normal * leaving[..., None]
    swings = joints[..., ::2]
    joints[..., ::2] = swings - (swings * normal[:, None]).sum(-1, keepdims=True) * normal[:, None]
    result[..., : 3 * count] = joints.reshape(*slopes.shape[:2], -1)
    return result


def _slopes(plan: Plan, placed: Placed, rows: Rowset) -> Floats:
    """(R, E, 3, K) how the misses change with each turn, and where the root is free with its place in reaches."""
    count = len(plan.links)
    asked = len(plan.site_joints) - plan.pairs.size
    arms = placed.points[:, count:, None] - placed.points[:, None, :count]
    # A point of an orientation is seen from its own joint: what moves that does not count.
    floating = np.flatnonzero(plan.floating)
    arms[:, floating] = (placed.points[:, count + floating] - placed.points[:, plan.site_joints[floating]])[:, :, None]
    about = _turning_axes(plan, placed, rows.turns)
    moved = limits.cross(about[:, None], arms[:, :, :, None])
    moved = moved * (plan.moves[:, :, None] & plan.free)[..., None]
    # (R, S, N, 3 turns, xyz) -> (R, S, xyz, 3 N)
    moved = moved.reshape(*moved.shape[:2], 3 * count, 3).swapaxes(-1, -2)
    if plan.root_free:
        shift = plan.reach * np.eye(3) * ~plan.floating[:, None, None]
        shift = np.broadcast_to(shift, (len(moved), *shift.shape))
        moved = np.concatenate([moved, shift], -1)
    loops = moved[:, plan.pairs[:, 0]] - moved[:, plan.pairs[:, 1]]
    scale = np.sqrt(np.concatenate([rows.weights[:, :asked], rows.weights[:, plan.pairs[:, 0]]], axis=1))
    slopes: Floats = np.concatenate([moved[:, :asked], loops], 1) * scale[..., None, None]
    return slopes


def _turning_axes(plan: Plan, placed: Placed, turns: Floats) -> Floats:
    """(R, N, 3, 3) rows: about which axis in the world each of the three turns turns the joint.

    A change of the swing vector s turns by J(s) of it, the left Jacobian of the exponential map:
    J = 1 + (1 − cos θ)/θ² [s] + (θ − sin θ)/θ³ [s]², θ = |s|.
    """
    vector = limits.swing_vector(plan.axes, turns)
    angle = np.linalg.norm(vector, axis=-1)[..., None]
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5 - angle**2 / 24, (1 - np.cos(safe)) / safe**2)
    second = np.where(small, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    local = np.empty((*turns.shape, 3))
    for k in (0, 2):
        axis = np.broadcast_to(plan.axes[..., k], vector.shape)
        once = limits.cross(vector, axis)
        local[..., k, :] = axis + first * once + second * limits.cross(vector, once)
    # A twist turns about the twist axis where the swing has brought it; what follows is in the frame before the turn.
    local[..., 1, :] = (limits.swing_matrices(plan.axes, turns) @ plan.axes[..., 1:2])[..., 0]
    turned: Floats = local @ placed.carried.swapaxes(-1, -2)
    return turned
