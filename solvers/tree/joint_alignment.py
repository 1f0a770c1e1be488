"""Rotate one joint within its limits so that the points it carries come nearest to their targets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.rotations import nearest_rotation
from . import swing_twist_limits

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FAINT = 1e-9
"""Part of the product of two lengths below which their cross and dot products do not determine an angle."""


@dataclass(frozen=True, slots=True, eq=False)
class JointAlignment:
    """Axes and limits of one joint, as in TreePlan."""

    axes: Floats
    """(3, 3)"""
    cone: Floats
    """(4,)"""
    twist: Floats
    """(2,)"""
    free: Bools
    """(3,)"""


def matrix(joint: JointAlignment, turns: Floats) -> Floats:
    """(R, 3, 3) rotation matrices of angles (R, 3)."""
    return swing_twist_limits.matrices(joint.axes, turns)


def turn(joint: JointAlignment, turns: Floats, arms: Floats, wish: Floats, pull: Floats, *, swing: bool) -> Floats:
    """(R, 3) the angles that bring points at `arms` (R, E, 3) nearest to `wish` (R, E, 3), weighted by `pull` (R, E).

    arms are in the joint's frame after its rotation, wish in the frame before it. First the swing is taken from the
    best rotation without limits, then the twist that is best with that swing. Undetermined angles stay.
    """
    result = turns.copy()
    if swing and (joint.free[0] or joint.free[2]):
        now = matrix(joint, turns)
        heading = _heading(now, joint.axes[:, 1], arms, wish, pull)
        swings = swing_twist_limits.swing_to(joint.axes, heading, turns)
        result[:, ::2] = swing_twist_limits.clamp_swing(np.broadcast_to(joint.cone, (len(turns), 4)), swings)
    if joint.free[1]:
        unswung = wish @ swing_twist_limits.swing_matrices(joint.axes, result)
        result[:, 1] = _twist(joint, turns[:, 1], arms, unswung, pull)
    return result


def _twist(joint: JointAlignment, before: Floats, arms: Floats, wish: Floats, pull: Floats) -> Floats:
    """(R,) the best twist; wish (R, E, 3) is in the frame between swing and twist."""
    axis = joint.axes[:, 1]
    across = (pull * (wish * swing_twist_limits.cross(axis, arms)).sum(-1)).sum(-1)
    level = (pull * ((wish * arms).sum(-1) - (wish @ axis) * (arms @ axis))).sum(-1)
    size = (pull * np.linalg.norm(wish, axis=-1) * np.linalg.norm(arms, axis=-1)).sum(-1)
    told = np.hypot(across, level) > FAINT * np.maximum(size, 1e-300)
    best = swing_twist_limits.clamp_twist(joint.twist, np.arctan2(across, level))
    return np.where(told, best, before)


def _heading(now: Floats, axis: Floats, arms: Floats, wish: Floats, pull: Floats) -> Floats:
    """(R, 3) direction of the twist axis after the best rotation without limits; now (R, 3, 3) is the present one."""
    if arms.shape[1] > 1:
        return turned_onto(arms, wish, pull / np.maximum(pull.sum(-1, keepdims=True), 1e-300), 1e-6, now) @ axis
    return aimed(now @ axis, (now @ arms[:, 0, :, None])[..., 0], wish[:, 0])


def aimed(vectors: Floats, source: Floats, target: Floats) -> Floats:
    """Vectors (R, 3) rotated by the shortest rotation from the direction of source (R, 3) to that of target (R, 3).

    Opposite directions rotate about some axis perpendicular to both. A zero source or target rotates nothing.
    """
    lengths = np.linalg.norm(source, axis=-1, keepdims=True) * np.linalg.norm(target, axis=-1, keepdims=True)
    some = lengths > 1e-300
    a = source / np.maximum(np.linalg.norm(source, axis=-1, keepdims=True), 1e-300)
    b = target / np.maximum(np.linalg.norm(target, axis=-1, keepdims=True), 1e-300)
    across = swing_twist_limits.cross(a, b)
    cosine = (a * b).sum(-1, keepdims=True)
    turned = cosine * vectors + swing_twist_limits.cross(across, vectors)
    turned = turned + across * (across * vectors).sum(-1, keepdims=True) / np.maximum(1 + cosine, 1e-12)
    square = swing_twist_limits.cross(a, np.eye(3)[np.abs(a).argmin(-1)])
    square = square / np.maximum(np.linalg.norm(square, axis=-1, keepdims=True), 1e-300)
    half = 2 * square * (square * vectors).sum(-1, keepdims=True) - vectors
    result = np.where(cosine < -1 + 1e-10, half, turned)
    result = result / np.maximum(np.linalg.norm(result, axis=-1, keepdims=True), 1e-300)
    return np.where(some, result, vectors)


def turned_onto(arms: Floats, wish: Floats, share: Floats, hold: float, now: Floats) -> Floats:
    """(R, 3, 3) the least-squares rotation of arms (R, E, 3) onto wish (R, E, 3), weighted by share (R, E).

    The present rotation `now` (R, 3, 3) has the weight `hold`, which decides what collinear points leave open.
    """
    size = (share * np.linalg.norm(arms, axis=-1) * np.linalg.norm(wish, axis=-1)).sum(-1)[:, None, None]
    spread = np.swapaxes(wish * share[..., None], -1, -2) @ arms + hold * np.maximum(size, 1e-300) * now
    return nearest_rotation(spread)
