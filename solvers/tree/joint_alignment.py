"""Rotate one joint within its limits so that the points it carries come nearest to their targets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.rotations import cross, nearest_rotation, rotate, shortest_rotation
from . import swing_twist_limits

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ANGLE_TOLERANCE = 1e-9
"""Fraction of the product of two lengths below which their cross and dot products do not determine an angle."""


@dataclass(frozen=True, slots=True, eq=False)
class JointLimits:
    """Axes and limits of one joint, as in TreePlan."""

    axes: Floats
    """(3, 3)"""
    cone: Floats
    """(4,)"""
    twist: Floats
    """(2,)"""
    free: Bools
    """(3,)"""


def rotation_matrices(joint: JointLimits, angles: Floats) -> Floats:
    """Return the rotation matrices (R, 3, 3) of angles (R, 3)."""
    return swing_twist_limits.matrices(joint.axes, angles)


def align(joint: JointLimits, angles: Floats, arms: Floats, targets: Floats, weights: Floats, *, swing: bool) -> Floats:
    """Return the angles (R, 3) that bring points at `arms` (R, E, 3) nearest to `targets` (R, E, 3), by `weights` (R,
    E).

    arms are in the joint's frame after its rotation, targets in the frame before it. First the swing is taken from the
    best rotation without limits, then the twist that is best with that swing. Undetermined angles stay.
    """
    result = angles.copy()
    if swing and (joint.free[0] or joint.free[2]):
        present = rotation_matrices(joint, angles)
        heading = _best_twist_axis(present, joint.axes[:, 1], arms, targets, weights)
        swings = swing_twist_limits.swing_to(joint.axes, heading, angles)
        result[:, ::2] = swing_twist_limits.clamp_swing(np.broadcast_to(joint.cone, (len(angles), 4)), swings)
    if joint.free[1]:
        unswung = targets @ swing_twist_limits.swing_matrices(joint.axes, result)
        result[:, 1] = _twist(joint, angles[:, 1], arms, unswung, weights)
    return result


def _twist(joint: JointLimits, previous: Floats, arms: Floats, targets: Floats, weights: Floats) -> Floats:
    """Return the best twist (R,) rad. targets: (R, E, 3) in the frame between swing and twist."""
    axis = joint.axes[:, 1]
    sine = (weights * (targets * cross(axis, arms)).sum(-1)).sum(-1)
    level = (weights * ((targets * arms).sum(-1) - (targets @ axis) * (arms @ axis))).sum(-1)
    size = (weights * np.linalg.norm(targets, axis=-1) * np.linalg.norm(arms, axis=-1)).sum(-1)
    determined = np.hypot(sine, level) > ANGLE_TOLERANCE * np.maximum(size, 1e-300)
    optimum = swing_twist_limits.clamp_twist(joint.twist, np.arctan2(sine, level))
    return np.where(determined, optimum, previous)


def _best_twist_axis(present: Floats, axis: Floats, arms: Floats, targets: Floats, weights: Floats) -> Floats:
    """Return the direction (R, 3) of the twist axis after the best rotation without limits; present: (R, 3, 3)
    rotations."""
    if arms.shape[1] > 1:
        normalised = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)
        return fit_rotation(arms, targets, normalised, 1e-6, present) @ axis
    return rotate(shortest_rotation((present @ arms[:, 0, :, None])[..., 0], targets[:, 0]), present @ axis)


def fit_rotation(arms: Floats, targets: Floats, weights: Floats, present_weight: float, present: Floats) -> Floats:
    """Return the least-squares rotation (R, 3, 3) of arms (R, E, 3) onto targets (R, E, 3), weighted by share (R, E).

    The current rotation `present` (R, 3, 3) with `present_weight` decides what collinear points leave open.
    """
    size = (weights * np.linalg.norm(arms, axis=-1) * np.linalg.norm(targets, axis=-1)).sum(-1)[:, None, None]
    spread = np.swapaxes(targets * weights[..., None], -1, -2) @ arms
    return nearest_rotation(spread + present_weight * np.maximum(size, 1e-300) * present)
