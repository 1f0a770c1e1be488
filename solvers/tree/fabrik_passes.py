"""One iteration of FABRIK over a tree: inwards from the goals to the root, then outwards within the joints' limits.

FABRIK, stages 1 and 2; FABRIK-CGA Algorithm 1 (line 1.28 corrected). Inwards, every joint is placed where its children
and goals need it, without limits. Outwards, every joint rotates within its limits so that its children come nearest to
where the inward pass placed them: lengths and limits hold after every iteration.
"""

import numpy as np
from numpy.typing import NDArray

from . import joint_alignment
from .sphere_joint import nearest_on_spheres
from .tree_kinematics import TreeFrames, TreeProblems
from .tree_plan import AffectedJoint, TreePlan

Floats = NDArray[np.float64]

PRESENT_WEIGHT = 1e-6
"""Weight of a joint's current pose relative to its goals, which determines what the goals leave open."""


def inward_pass(
    plan: TreePlan, posed: TreeFrames, rows: TreeProblems, *, intersect_spheres: bool = True
) -> tuple[Floats, Floats]:
    """Return the inward pass: target positions (R, N + S, 3) m of joints and sites, and their weights (R, N + S).

    intersect_spheres: whether a joint between two of known position is where their spheres meet (FABRIK-CGA 3.3).
    """
    count = len(plan.links)
    targets = np.concatenate([posed.points[:, :count], rows.goals], axis=1)
    weights = np.concatenate([np.zeros((len(targets), count)), rows.weights], axis=1)
    for a, b in plan.loop_pairs + count:
        targets[:, a] = targets[:, b] = _loop_position(plan, posed, a - count, b - count)
    for n in reversed(range(count)):
        link = plan.links[n]
        outer = [*link.children, *(count + s for s in link.sites)]
        normalised = weights[:, outer]
        weights[:, n] = (normalised * ~link.relative).sum(-1)
        if not weights[:, n].all():
            # The joints below have only orientation goals, which do not determine this position.
            continue
        normalised = normalised / weights[:, n, None]
        targets[:, n] = _target_position(link, posed, n, targets[:, outer], normalised)
        if (
            intersect_spheres
            and link.parent >= 0
            and plan.position_known[link.parent]
            and not plan.position_known[n]
            and _points_coincide(link)
        ):
            parent_position = _known_position(plan, link.parent, posed, rows)
            goal = _mean(normalised, targets[:, outer])
            radius, goal_radius = float(np.linalg.norm(plan.rest_offsets[n])), float(np.abs(link.along[0]))
            targets[:, n] = nearest_on_spheres(
                parent_position, radius, goal, goal_radius, posed.points[:, n], aside=_side(plan, posed, n)
            )
    return targets, weights


def _points_coincide(link: AffectedJoint) -> bool:
    """Return whether all points on a joint coincide, at a distance from it."""
    return bool(link.direction.any() and link.along[0] != 0 and np.ptp(link.along) == 0)


def _mean(weights: Floats, points: Floats) -> Floats:
    """Return the mean (R, 3) of points (R, E, 3), weighted by their shares (R, E).

    A matrix product is avoided, since its rounding of a row depends on the batch.
    """
    mean: Floats = (weights[..., None] * points).sum(-2)
    return mean


def _side(plan: TreePlan, posed: TreeFrames, n: int) -> Floats:
    """Return the direction (R, 3) of a joint's side axis."""
    side: Floats = posed.rotations[:, n] @ plan.axes[n, :, 0]
    return side


def _known_position(plan: TreePlan, n: int, posed: TreeFrames, rows: TreeProblems) -> Floats:
    """Return the position (R, 3) of a known joint: the pinned root, or a joint with its own goal."""
    if n == 0 and not plan.root_free:
        return posed.points[:, 0]
    joint_site = next(s for s in plan.links[n].sites if not plan.site_offsets[s].any())
    return rows.goals[:, joint_site]


def _loop_position(plan: TreePlan, posed: TreeFrames, first: int, second: int) -> Floats:
    """Return the points (R, 3) where two joints that close a loop should meet: the point of both bones' spheres nearest
    to them."""
    a, b = plan.site_joints[first], plan.site_joints[second]
    middle = (posed.points[:, a] + posed.points[:, b]) / 2
    parent, other_parent = plan.links[a].parent, plan.links[b].parent
    if parent < 0 or other_parent < 0 or parent == other_parent:
        return middle
    radius, other_radius = np.linalg.norm(plan.rest_offsets[a]), np.linalg.norm(plan.rest_offsets[b])
    aside = _side(plan, posed, parent)
    return nearest_on_spheres(
        posed.points[:, parent], float(radius), posed.points[:, other_parent], float(other_radius), middle, aside=aside
    )


def _target_position(link: AffectedJoint, posed: TreeFrames, n: int, targets: Floats, weights: Floats) -> Floats:
    """Return the position (R, 3) of a joint that brings the points on it nearest to their targets `targets` (R, E, 3).

    With one point, it is the nearest point on the sphere about its target (1.21). With several coincident points, the
    sphere is about their targets' centroid, weighted by `fraction` (R, E): FABRIK's rule for sub-bases. Other points
    form a rigid body, which is fitted to the targets by least squares.
    """
    middle = _mean(weights * ~link.relative, targets)
    if link.direction.any():
        mean = (weights * link.along).sum(-1)
        spread = link.along - mean[:, None]
        direction = _mean(weights * spread, targets - middle[:, None])
        # For a single point and for coincident points, the current position determines the direction.
        direction = direction + PRESENT_WEIGHT * mean[:, None] * (middle - posed.points[:, n])
        length = np.linalg.norm(direction, axis=-1, keepdims=True)
        present_direction = posed.rotations[:, n] @ link.direction
        settled = length > 1e-12 * PRESENT_WEIGHT * np.abs(link.along).max() ** 2
        middle -= mean[:, None] * np.where(settled, direction / np.maximum(length, 1e-300), present_direction)
        return middle
    absolute = ~link.relative
    mean_offset = _mean(weights * absolute, link.offsets)
    arms = link.offsets - mean_offset[:, None] * absolute[:, None]
    rotation = joint_alignment.fit_rotation(
        arms, targets - middle[:, None] * absolute[:, None], weights, PRESENT_WEIGHT, posed.rotations[:, n]
    )
    middle -= (rotation @ mean_offset[..., None])[..., 0]
    return middle


def outward_pass(
    plan: TreePlan, posed: TreeFrames, rows: TreeProblems, target_points: Floats, weights: Floats
) -> Floats:
    """Return the outward pass: angles (R, N, 3) within limits that bring the points on each joint nearest to their
    targets."""
    result = rows.angles.copy()
    # For joints above, the points of an orientation are around the target position of their joint.
    centres = np.zeros_like(target_points)
    centres[:, len(plan.links) :] = target_points[:, plan.site_joints] * plan.relative[:, None]
    target_points = target_points + centres
    points, rotations = np.empty_like(posed.points[:, : len(plan.links)]), np.empty_like(posed.rotations)
    for n, link in enumerate(plan.links):
        if link.parent < 0:
            points[:, n], rotation_before = (
                rows.root_position,
                np.broadcast_to(plan.rest_rotations[n], rotations[:, n].shape),
            )
        else:
            above = rotations[:, link.parent]
            points[:, n] = points[:, link.parent] + above @ plan.rest_offsets[n]
            rotation_before = above @ plan.rest_rotations[n]
        joint = joint_alignment.JointLimits(plan.axes[n], plan.cone[n], plan.twist[n], plan.free[n])
        if plan.free[n].any():
            for levers in (link.levers, link.far_levers):
                if not len(levers) or (levers is link.far_levers and not plan.free[n, 1]):
                    continue
                arms = (posed.points[:, levers] - posed.points[:, n, None]) @ posed.rotations[:, n]
                is_first_pass = levers is link.levers
                targets = target_points[:, levers] - points[:, n, None]
                if is_first_pass and link.relative.any():
                    # The joint's own orientation points are around its current position.
                    is_own_site = np.isin(
                        levers, len(plan.links) + np.flatnonzero(plan.relative & (plan.site_joints == n))
                    )
                    targets = (
                        targets + ((points - target_points[:, : len(plan.links)])[:, n, None]) * is_own_site[:, None]
                    )
                result[:, n] = joint_alignment.align(
                    joint, result[:, n], arms, targets @ rotation_before, weights[:, levers], swing=is_first_pass
                )
        rotations[:, n] = rotation_before @ joint_alignment.rotation_matrices(joint, result[:, n])
    return result
