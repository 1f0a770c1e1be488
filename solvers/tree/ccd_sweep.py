"""One sweep of cyclic coordinate descent over a tree: joint after joint, the outermost first (Wang & Chen 1991).

Each joint rotates within its limits so that all goals below it come nearest, by the rotation that FABRIK's outward pass
uses (joint_alignment.py). A rotation that limits would make worse is left out: no sweep moves farther from the goals.
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
    """Return the rows after one sweep; a free root then moves by the mean of the errors that are left."""
    angles, points = rows.angles.copy(), posed.points.copy()
    count = len(plan.links)
    for n in reversed(range(count)):
        chosen = _moved_sites(plan, n)
        if not plan.free[n].any() or not len(chosen):
            continue
        joint = joint_alignment.JointLimits(plan.axes[n], plan.cone[n], plan.twist[n], plan.free[n])
        before, at = posed.rotations_before[:, n], points[:, n, None]
        base = np.where(plan.relative[chosen, None], points[:, plan.site_joints[chosen]], at)
        lever, target = points[:, count + chosen] - base, _targets(plan, points, rows, chosen) - base
        arms, targets = lever @ posed.rotations[:, n], target @ before
        weights = rows.weights[:, chosen]
        tried = joint_alignment.align(joint, angles[:, n], arms, targets, weights, swing=True)
        aligned = before @ joint_alignment.rotation_matrices(joint, tried)
        change = aligned @ posed.rotations[:, n].swapaxes(-1, -2)
        moved = lever @ change.swapaxes(-1, -2)
        better = _cost(moved - target, weights) < _cost(lever - target, weights)
        angles[better, n] = tried[better]
        below = np.concatenate([plan.is_ancestor[n], plan.moves_site[:, n]])
        rotated = at + (points - at) @ change.swapaxes(-1, -2)
        points = np.where(better[:, None, None] & below[:, None], rotated, points)
    moved_root = rows.root_position + _mean_error(plan, points, rows) if plan.root_free else rows.root_position
    return replace(rows, angles=angles, root_position=moved_root)


def _moved_sites(plan: TreePlan, n: int) -> Ints:
    """Return the sites that a joint's rotation moves, without loops of which it moves both ends."""
    moved = plan.moves_site[:, n].copy()
    for pair in plan.loop_pairs:
        if moved[pair].all():
            moved[pair] = False
    chosen: Ints = np.flatnonzero(moved)
    return chosen


def _targets(plan: TreePlan, points: Floats, rows: TreeProblems, chosen: Ints) -> Floats:
    """Return (R, E, 3) m, where the chosen sites should be: their goals, or the other end of their loop."""
    count = len(plan.links)
    goals = rows.goals + points[:, plan.site_joints] * plan.relative[:, None]
    for first, second in plan.loop_pairs:
        goals[:, first], goals[:, second] = points[:, count + second], points[:, count + first]
    targets: Floats = goals[:, chosen]
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
