"""One sweep of cyclic coordinate descent over a tree: joint after joint, the outermost first (Wang & Chen 1991).

Each joint rotates within its limits so that all goals below it come nearest, by the rotation that FABRIK's outward pass
uses (joint_alignment.py). A rotation that increases the error because of limits is not applied, so no sweep moves away
from the goals.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from . import joint_alignment
from .tree_kinematics import TreeFrames, TreeProblems
from .tree_plan import TreePlan

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def ccd_sweep(plan: TreePlan, posed: TreeFrames, rows: TreeProblems) -> TreeProblems:
    """Return the rows after one sweep; a free root then moves by the mean remaining error."""
    angles, points = rows.angles.copy(), posed.points.copy()
    count = len(plan.links)
    for n in reversed(range(count)):
        site_indices = _moved_sites(plan, n)
        if not plan.free[n].any() or not len(site_indices):
            continue
        joint = joint_alignment.JointLimits(plan.axes[n], plan.cone[n], plan.twist[n], plan.free[n])
        rotations_before, pivot = posed.rotations_before[:, n], points[:, n, None]
        base = np.where(plan.relative[site_indices, None], points[:, plan.site_joints[site_indices]], pivot)
        lever, target = points[:, count + site_indices] - base, _targets(plan, points, rows, site_indices) - base
        arms, targets = lever @ posed.rotations[:, n], target @ rotations_before
        weights = rows.weights[:, site_indices]
        new_angles = joint_alignment.align(joint, angles[:, n], arms, targets, weights, swing=True)
        new_rotations = rotations_before @ joint_alignment.rotation_matrices(joint, new_angles)
        change = new_rotations @ posed.rotations[:, n].swapaxes(-1, -2)
        rotated_levers = lever @ change.swapaxes(-1, -2)
        improves = _cost(rotated_levers - target, weights) < _cost(lever - target, weights)
        angles[improves, n] = new_angles[improves]
        is_below = np.concatenate([plan.is_ancestor[n], plan.moves_site[:, n]])
        rotated_points = pivot + (points - pivot) @ change.swapaxes(-1, -2)
        points = np.where(improves[:, None, None] & is_below[:, None], rotated_points, points)
    moved_root = rows.root_position + _mean_error(plan, points, rows) if plan.root_free else rows.root_position
    return replace(rows, angles=angles, root_position=moved_root)


def _moved_sites(plan: TreePlan, n: int) -> Ints:
    """Return the sites that a joint's rotation moves, without loops whose two ends both move."""
    is_moved = plan.moves_site[:, n].copy()
    for pair in plan.loop_pairs:
        if is_moved[pair].all():
            is_moved[pair] = False
    site_indices: Ints = np.flatnonzero(is_moved)
    return site_indices


def _targets(plan: TreePlan, points: Floats, rows: TreeProblems, site_indices: Ints) -> Floats:
    """Return target positions (R, E, 3) m of sites: their goals, or the other ends of their loops."""
    count = len(plan.links)
    goals = rows.goals + points[:, plan.site_joints] * plan.relative[:, None]
    for first, second in plan.loop_pairs:
        goals[:, first], goals[:, second] = points[:, count + second], points[:, count + first]
    targets: Floats = goals[:, site_indices]
    return targets


def _cost(differences: Floats, weights: Floats) -> Floats:
    """Return the weighted sum (R,) of squares of vectors (R, E, 3)."""
    total: Floats = (weights * (differences * differences).sum(-1)).sum(-1)
    return total


def _mean_error(plan: TreePlan, points: Floats, rows: TreeProblems) -> Floats:
    """Return (R, 3) m, the weighted mean of the vectors from the sites to their goals; loops and orientations do not
    count."""
    absolute = ~plan.relative
    absolute[plan.loop_pairs.ravel()] = False
    weights = rows.weights * absolute
    errors = rows.goals - points[:, len(plan.links) :]
    mean: Floats = (weights[..., None] * errors).sum(1) / np.maximum(weights.sum(1), 1e-300)[:, None]
    return mean
