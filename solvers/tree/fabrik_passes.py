"""One iteration of FABRIK over a tree: inwards from the goals to the root, then outwards within the joints' limits.

FABRIK, stages 1 and 2; FABRIK-CGA Algorithm 1 (line 1.28 corrected). Inwards, every joint is placed where its children
and goals need it, without limits. Outwards, every joint rotates within its limits so that its children come nearest to
where the inward pass placed them: lengths and limits hold after every iteration.
"""

import numpy as np
from numpy.typing import NDArray

from . import joint_alignment
from .sphere_joint import between
from .tree_kinematics import TreeFrames, TreeProblems
from .tree_plan import PulledJoint, TreePlan

Floats = NDArray[np.float64]

HOLD = 1e-6
"""Weight of a joint's present pose relative to its goals': enough to decide what the goals leave open."""


def inwards(plan: TreePlan, placed: TreeFrames, rows: TreeProblems) -> tuple[Floats, Floats]:
    """The inward pass: target positions (R, N + S, 3) m of joints and sites, and their weights (R, N + S)."""
    count = len(plan.links)
    wanted = np.concatenate([placed.points[:, :count], rows.goals], axis=1)
    pull = np.concatenate([np.zeros((len(wanted), count)), rows.weights], axis=1)
    for one, other in plan.pairs + count:
        wanted[:, one] = wanted[:, other] = _meeting(plan, placed, one - count, other - count)
    for n in reversed(range(count)):
        link = plan.links[n]
        on_it = [*link.children, *(count + s for s in link.sites)]
        share = pull[:, on_it]
        pull[:, n] = (share * ~link.floating).sum(-1)
        if not pull[:, n].all():
            # Only orientation goals below, which do not place the joint.
            continue
        share = share / pull[:, n, None]
        wanted[:, n] = _wanted(link, placed, n, wanted[:, on_it], share)
        if link.parent >= 0 and plan.known[link.parent] and not plan.known[n] and _is_between(link):
            known = _known(plan, link.parent, placed, rows)
            beyond = _mean(share, wanted[:, on_it])
            radius, other = float(np.linalg.norm(plan.steps[n])), float(np.abs(link.along[0]))
            wanted[:, n] = between(known, radius, beyond, other, placed.points[:, n], aside=_side(plan, placed, n))
    return wanted, pull


def _is_between(link: PulledJoint) -> bool:
    """Whether all points on a joint coincide, at a distance from it."""
    return bool(link.direction.any() and link.along[0] != 0 and np.ptp(link.along) == 0)


def _mean(share: Floats, points: Floats) -> Floats:
    """(R, 3) mean of points (R, E, 3), weighted by their shares (R, E).

    Not a matrix product, which rounds a row differently depending on the others in the batch.
    """
    mean: Floats = (share[..., None] * points).sum(-2)
    return mean


def _side(plan: TreePlan, placed: TreeFrames, n: int) -> Floats:
    """(R, 3) direction of a joint's side axis."""
    side: Floats = placed.turned[:, n] @ plan.axes[n, :, 0]
    return side


def _known(plan: TreePlan, n: int, placed: TreeFrames, rows: TreeProblems) -> Floats:
    """(R, 3) position of a known joint: the pinned root, or a joint with a goal of its own."""
    if n == 0 and not plan.root_free:
        return placed.points[:, 0]
    own = next(s for s in plan.links[n].sites if not plan.site_offsets[s].any())
    return rows.goals[:, own]


def _meeting(plan: TreePlan, placed: TreeFrames, one: int, other: int) -> Floats:
    """(R, 3) where two joints that close a loop should meet: the point of both bones' spheres nearest to them."""
    a, b = plan.site_joints[one], plan.site_joints[other]
    middle = (placed.points[:, a] + placed.points[:, b]) / 2
    above, beside = plan.links[a].parent, plan.links[b].parent
    if above < 0 or beside < 0 or above == beside:
        return middle
    radius, other_radius = np.linalg.norm(plan.steps[a]), np.linalg.norm(plan.steps[b])
    aside = _side(plan, placed, above)
    return between(
        placed.points[:, above], float(radius), placed.points[:, beside], float(other_radius), middle, aside=aside
    )


def _wanted(link: PulledJoint, placed: TreeFrames, n: int, wanted: Floats, share: Floats) -> Floats:
    """(R, 3) the position of a joint that brings the points on it nearest to their targets `wanted` (R, E, 3).

    With one point, it is the nearest point on the sphere about its target (1.21). With several coincident points, the
    sphere is about their targets' centroid, weighted by `share` (R, E): FABRIK's rule for sub-bases. Other points form
    a rigid body, which is fitted to the targets by least squares.
    """
    middle = _mean(share * ~link.floating, wanted)
    if link.direction.any():
        mean = (share * link.along).sum(-1)
        spread = link.along - mean[:, None]
        pointing = _mean(share * spread, wanted - middle[:, None])
        # The joint's present position, with the weight HOLD, decides for a single point and for coincident points.
        pointing = pointing + HOLD * mean[:, None] * (middle - placed.points[:, n])
        length = np.linalg.norm(pointing, axis=-1, keepdims=True)
        now = placed.turned[:, n] @ link.direction
        settled = length > 1e-12 * HOLD * np.abs(link.along).max() ** 2
        middle -= mean[:, None] * np.where(settled, pointing / np.maximum(length, 1e-300), now)
        return middle
    resting = ~link.floating
    mean_offset = _mean(share * resting, link.offsets)
    arms = link.offsets - mean_offset[:, None] * resting[:, None]
    turned = joint_alignment.turned_onto(
        arms, wanted - middle[:, None] * resting[:, None], share, HOLD, placed.turned[:, n]
    )
    middle -= (turned @ mean_offset[..., None])[..., 0]
    return middle


def outwards(plan: TreePlan, placed: TreeFrames, rows: TreeProblems, wanted: Floats, pull: Floats) -> Floats:
    """The outward pass: angles (R, N, 3) within limits that bring what each joint carries nearest to its target."""
    result = rows.turns.copy()
    # For joints above, the points of an orientation are around the target position of their joint.
    about = np.zeros_like(wanted)
    about[:, len(plan.links) :] = wanted[:, plan.site_joints] * plan.floating[:, None]
    wanted = wanted + about
    points, turned = np.empty_like(placed.points[:, : len(plan.links)]), np.empty_like(placed.turned)
    for n, link in enumerate(plan.links):
        if link.parent < 0:
            points[:, n], carried = rows.origin, np.broadcast_to(plan.rest[n], turned[:, n].shape)
        else:
            above = turned[:, link.parent]
            points[:, n] = points[:, link.parent] + above @ plan.steps[n]
            carried = above @ plan.rest[n]
        joint = joint_alignment.JointAlignment(plan.axes[n], plan.cone[n], plan.twist[n], plan.free[n])
        if plan.free[n].any():
            for levers in (link.levers, link.far_levers):
                if not len(levers) or (levers is link.far_levers and not plan.free[n, 1]):
                    continue
                arms = (placed.points[:, levers] - placed.points[:, n, None]) @ placed.turned[:, n]
                near = levers is link.levers
                wish = wanted[:, levers] - points[:, n, None]
                if near and link.floating.any():
                    # The joint's own orientation points are around its present position.
                    own = np.isin(levers, len(plan.links) + np.flatnonzero(plan.floating & (plan.site_joints == n)))
                    wish = wish + ((points - wanted[:, : len(plan.links)])[:, n, None]) * own[:, None]
                result[:, n] = joint_alignment.turn(
                    joint, result[:, n], arms, wish @ carried, pull[:, levers], swing=near
                )
        turned[:, n] = carried @ joint_alignment.matrix(joint, result[:, n])
    return result
