"""Gradient and Hessian of a pose's cost, half the weighted sum of its squared errors, with respect to the joint angles.

A rotation of a joint about the world axis ω moves a point at the lever arm a from it by ω × a. A second rotation about
ω', of a joint at or above the first, changes that by ω' × (ω × a). Without this second-order term, the
refinement converges slowly where errors remain, as for goals out of reach, which are common within limits.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.rotations import cross
from . import swing_twist_limits
from .tree_kinematics import TreeFrames, TreeProblems, goal_errors
from .tree_plan import TreePlan

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CostDerivatives:
    """Derivatives of R rows for K unknowns: three angles of each joint (N), then a free root's position in reaches."""

    gradient: Floats
    """(R, K) the gradient."""
    gauss_newton: Floats
    """(R, K, K) the Gauss-Newton part of the Hessian, JᵀWJ."""
    second_order: Floats
    """(R, K, K) the second-order part, which is proportional to the errors."""


def cost_derivatives(plan: TreePlan, posed: TreeFrames, rows: TreeProblems) -> CostDerivatives:
    """Return the derivatives of the cost of these rows; 0 for angles that are not free."""
    count, total = len(plan.links), len(plan.site_joints)
    axes = _angle_axes(plan, posed, rows.angles) * plan.free[..., None]
    arms = posed.points[:, count:, None] - posed.points[:, None, :count]
    # Points of an orientation goal are relative to their joint, so the joint's translation does not move them.
    relative = np.flatnonzero(plan.relative)
    arms[:, relative] = (posed.points[:, count + relative] - posed.points[:, plan.site_joints[relative]])[:, :, None]
    arms = arms * plan.moves_site[..., None]
    displacements = cross(axes[:, None], arms[:, :, :, None])
    jacobian = displacements.reshape(len(displacements), total, 3 * count, 3)
    if plan.root_free:
        shifts = plan.reach * np.eye(3) * ~plan.relative[:, None, None]
        jacobian = np.concatenate([jacobian, np.broadcast_to(shifts, (len(jacobian), *shifts.shape))], 2)
    error_vectors, forces, scale = _weighted_errors(plan, posed, rows)
    goal_count = total - plan.loop_pairs.size
    # np.take, because the memory layout of fancy indexing depends on the number of rows, and so would rounding.
    paired = np.take(jacobian, plan.loop_pairs[:, 0], 1) - np.take(jacobian, plan.loop_pairs[:, 1], 1)
    weighted = np.concatenate([jacobian[:, :goal_count], paired], 1) * scale[..., None, None]
    flat = weighted.swapaxes(1, 2).reshape(len(weighted), weighted.shape[2], -1)
    gradient = (flat @ error_vectors.reshape(len(flat), -1, 1))[..., 0]
    gauss_newton = flat @ flat.swapaxes(1, 2)
    # r · (ω' × (ω × a)) = ω' · ((ω × a) × r), summed over the points that each angle moves.
    swept = cross(displacements, forces[:, :, None, None]).sum(1)
    second_order = np.zeros_like(gauss_newton)
    upper = axes.reshape(len(flat), -1, 3) @ swept.reshape(len(flat), -1, 3).swapaxes(1, 2)
    upper = upper * np.kron(plan.is_ancestor, np.ones((3, 3)))
    second_order[:, : 3 * count, : 3 * count] = upper + upper.swapaxes(1, 2)
    moment = cross(arms, forces[:, :, None]).sum(1)
    products = axes @ swept.swapaxes(-1, -2)
    joint_blocks = _own_second_order(
        plan, rows.angles, products, (moment[:, :, None] @ posed.rotations_before)[:, :, 0]
    )
    second_order[:, : 3 * count, : 3 * count] += block_diagonal(joint_blocks)
    return CostDerivatives(gradient, gauss_newton, second_order)


def _weighted_errors(plan: TreePlan, posed: TreeFrames, rows: TreeProblems) -> tuple[Floats, Floats, Floats]:
    """Return the weighted errors (R, E, 3), the force that they exert on each site (R, S, 3), and √weights (R, E)."""
    error_vectors, _ = goal_errors(plan, posed, rows)
    goal_count = len(plan.site_joints) - plan.loop_pairs.size
    scale = np.sqrt(np.concatenate([rows.weights[:, :goal_count], rows.weights[:, plan.loop_pairs[:, 0]]], axis=1))
    weighted = error_vectors * scale[..., None]
    forces = np.zeros((len(error_vectors), len(plan.site_joints), 3))
    forces[:, :goal_count] = weighted[:, :goal_count]
    forces[:, plan.loop_pairs[:, 0]], forces[:, plan.loop_pairs[:, 1]] = (
        weighted[:, goal_count:],
        -weighted[:, goal_count:],
    )
    return error_vectors, forces, scale


def block_diagonal(joints: Floats) -> Floats:
    """Return the block-diagonal matrices (R, 3 N, 3 N) of blocks (R, N, 3, 3)."""
    rows, count = joints.shape[:2]
    matrix = np.zeros((rows, count, 3, count, 3))
    blocks = np.arange(count)
    matrix[:, blocks, :, blocks] = joints.swapaxes(0, 1)
    return matrix.reshape(rows, 3 * count, 3 * count)


def _own_second_order(plan: TreePlan, angles: Floats, products: Floats, moment: Floats) -> Floats:
    """Return the second-order term (R, N, 3, 3) between the three angles of each joint.

    The swing acts above the twist, so the entries of the twist are as between two joints, ω' · ((ω × a) × r): the
    products (R, N, 3, 3). The axes ω of the swing's two angles s change with the swing, see `_angle_axes`, which adds
    the symmetric part of ∂ω_j/∂s_i times the moment Σ a × r, (R, N, 3) in the joint's frame before its rotation.
    """
    blocks = (products + products.swapaxes(-1, -2)) / 2
    blocks[..., 1, ::2] = blocks[..., ::2, 1] = products[..., ::2, 1]
    swing = angles[..., ::2]
    vector = swing_twist_limits.swing_vector(plan.axes, angles)
    _, second, first_slope, second_slope = _series(np.linalg.norm(swing, axis=-1)[..., None, None])
    pair = plan.axes[..., ::2]
    parallel = (moment[..., None, :] @ pair)[..., 0, :]
    perpendicular = (cross(moment, vector)[..., None, :] @ pair)[..., 0, :]
    level = (moment * vector).sum(-1)[..., None, None]
    mixed = _symmetric(swing, parallel)
    size = (swing**2).sum(-1)[..., None, None]
    change = first_slope * _symmetric(swing, perpendicular) + second * (level * np.eye(2) - mixed)
    change = change + second_slope * (level * _symmetric(swing, swing) - size * mixed)
    blocks[..., ::2, ::2] += change * (plan.free[:, ::2, None] & plan.free[:, None, ::2])
    return blocks


def _symmetric(a: Floats, b: Floats) -> Floats:
    """Return (a bᵀ + b aᵀ) / 2 (..., 2, 2)."""
    product = a[..., :, None] * b[..., None, :]
    half: Floats = (product + product.swapaxes(-1, -2)) / 2
    return half


def _series(angle: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return (1 − cos θ)/θ², (θ − sin θ)/θ³, and the slope of each by θ, over θ."""
    small = angle < 0.05
    x = np.where(small, 1.0, angle)
    cosine, sine, square, fourth = np.cos(x), np.sin(x), angle * angle, x * x * x * x
    return (
        np.where(small, 1 / 2 - square / 24 + square * square / 720, (1 - cosine) / (x * x)),
        np.where(small, 1 / 6 - square / 120 + square * square / 5040, (x - sine) * x / fourth),
        np.where(small, -1 / 12 + square / 180, (x * sine - 2 * (1 - cosine)) / fourth),
        np.where(small, -1 / 60 + square / 1260, (3 * sine - x * cosine - 2 * x) / (x * fourth)),
    )


def _angle_axes(plan: TreePlan, posed: TreeFrames, angles: Floats) -> Floats:
    """Return the world axis (R, N, 3, 3) of each of the joints' three angles, as rows.

    A change of the swing vector s rotates by J times the change, J being the left Jacobian of the exponential map:
    J = 1 + (1 − cos θ)/θ² [s] + (θ − sin θ)/θ³ [s]², θ = |s|. The twist's axis is rotated by the swing.
    """
    vector = swing_twist_limits.swing_vector(plan.axes, angles)
    first, second, _, _ = _series(np.linalg.norm(vector, axis=-1)[..., None])
    local = np.empty((*angles.shape, 3))
    for k in (0, 2):
        axis = np.broadcast_to(plan.axes[..., k], vector.shape)
        once = cross(vector, axis)
        local[..., k, :] = axis + first * once + second * cross(vector, once)
    local[..., 1, :] = (swing_twist_limits.swing_matrices(plan.axes, angles) @ plan.axes[..., 1:2])[..., 0]
    world: Floats = local @ posed.rotations_before.swapaxes(-1, -2)
    return world
