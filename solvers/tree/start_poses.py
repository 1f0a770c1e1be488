"""Start poses, and the one case with a closed form: a chain without limits whose goal is out of reach."""

import numpy as np
from numpy.typing import NDArray

from . import swing_twist_limits
from .fabrik_passes import outward_pass
from .tree_kinematics import TreeProblems, measure
from .tree_plan import TreePlan

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BEND_ANGLE = 0.3
"""rad, angle of each joint in the slightly bent start pose."""
MAX_RANDOM_ANGLE = 1.5
"""rad, the largest angle from rest of random poses."""


def start_pose(plan: TreePlan, angles: Floats, number: int) -> Floats:
    """Return (R, N, 3) start poses of restart `number`: 0 is the current pose, 1 slightly bent, others random within
    limits.

    The random numbers are the same for every row, so that a row's result does not depend on the others.
    """
    if number == 0:
        return angles
    new_angles = (
        _bend_slightly(plan, angles) if number == 1 else np.broadcast_to(_random_pose(plan, number), angles.shape)
    )
    return swing_twist_limits.clamp(plan.cone, plan.twist, np.where(plan.free, new_angles, angles))


def _bend_slightly(plan: TreePlan, angles: Floats) -> Floats:
    """Return angles with all joints slightly bent in one direction, since the iteration stalls at a straight chain."""
    new_angles = angles.copy()
    is_hinge = ~plan.free[:, 0] & ~plan.free[:, 2]
    inside = np.where(angles[..., 1] > plan.twist.mean(-1), -BEND_ANGLE, BEND_ANGLE)
    new_angles[..., 1] += np.where(is_hinge, inside, 0.0)
    # Away from the cone's nearer edge; the caller clamps the result.
    new_angles[..., 0] += np.where(angles[..., 0] > (plan.cone[:, 0] - plan.cone[:, 2]) / 2, -BEND_ANGLE, BEND_ANGLE)
    return new_angles


def _random_pose(plan: TreePlan, number: int) -> Floats:
    """Return a random pose (N, 3) within limits, seeded by `number`."""
    unit = np.random.default_rng(number).uniform(-1, 1, plan.cone.shape[:1] + (3,))
    angles = np.zeros_like(unit)
    round_disc = unit[:, ::2] / np.maximum(np.linalg.norm(unit[:, ::2], axis=-1, keepdims=True), 1.0)
    angles[:, ::2] = round_disc * np.minimum(swing_twist_limits.semi_axes(plan.cone, round_disc), MAX_RANDOM_ANGLE)
    middle = swing_twist_limits.clamp_twist(plan.twist, np.zeros(len(angles)))
    low = np.maximum(plan.twist[:, 0], middle - MAX_RANDOM_ANGLE)
    high = np.minimum(plan.twist[:, 1], middle + MAX_RANDOM_ANGLE)
    angles[:, 1] = (low + high) / 2 + unit[:, 1] * (high - low) / 2
    return angles


def solve_out_of_reach(plan: TreePlan, rows: TreeProblems) -> tuple[Floats, Bools]:
    """Return the optimal angles (R, N, 3) of rows whose goal is out of reach, and which rows these are (R,).

    Only for a single chain without limits. Too far: straight towards the goal (1.8). Too near, if the longest bone is
    longer than all others together: that bone towards the goal and the others back.
    """
    none = np.zeros(len(rows.angles), bool)
    if not plan.has_closed_form:
        return rows.angles, none
    lengths = np.linalg.norm(plan.rest_offsets[1:], axis=-1)
    if not lengths.any():
        return rows.angles, none
    to_goal = rows.goals[:, 0] - rows.root_position
    distance = np.linalg.norm(to_goal, axis=-1)
    longest = int(lengths.argmax())
    inner_reach = 2 * lengths[longest] - lengths.sum()
    is_far, is_near = distance >= lengths.sum(), distance <= inner_reach
    unreachable = np.flatnonzero(is_far | is_near)
    if not len(unreachable):
        return rows.angles, none
    selected = rows.select(unreachable)
    _, _, posed = measure(plan, selected)
    count = len(plan.links)
    # A goal at the root has no direction: use the current direction of the longest bone.
    present = posed.points[:, longest + 1] - posed.points[:, longest]
    direction = np.where(distance[unreachable, None] > 1e-12 * plan.reach, to_goal[unreachable], present)
    direction = direction / np.linalg.norm(direction, axis=-1, keepdims=True)
    signs = np.where(np.arange(len(lengths)) == longest, 1.0, -1.0)
    signed = np.where(is_far[unreachable, None], lengths, lengths * signs)
    positions = np.concatenate([np.zeros((len(unreachable), 1)), np.cumsum(signed, axis=-1)], 1)
    targets = selected.root_position[:, None] + positions[..., None] * direction[:, None]
    targets = np.concatenate([targets, selected.goals], 1)
    angles = rows.angles.copy()
    angles[unreachable] = outward_pass(plan, posed, selected, targets, np.ones((len(unreachable), count + 1)))
    return angles, is_far | is_near


def error_bound(plan: TreePlan, rows: TreeProblems) -> Floats:
    """Return (R,) m, a lower bound of the error in `measure`, from goals farther away than the bones' lengths."""
    if plan.root_free:
        return np.zeros(len(rows.angles))
    path_lengths = np.zeros(len(plan.links))
    for n, link in enumerate(plan.links[1:], 1):
        path_lengths[n] = path_lengths[link.parent] + np.linalg.norm(plan.rest_offsets[n])
    goal_count = len(plan.site_joints) - plan.loop_pairs.size
    reach = (path_lengths[plan.site_joints] + np.linalg.norm(plan.site_offsets, axis=-1))[:goal_count]
    beyond = np.linalg.norm(rows.goals[:, :goal_count] - rows.root_position[:, None], axis=-1) - reach
    beyond = np.where(plan.relative[:goal_count], 0.0, np.maximum(beyond, 0.0))
    bound: Floats = np.sqrt((rows.weights[:, :goal_count] * beyond**2).sum(-1))
    return bound
