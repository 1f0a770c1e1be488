"""One pass of FABRIK over a tree: inwards from the goals to the root, then outwards with the joints' limits.

FABRIK, stages 1 and 2, FABRIK-CGA Algorithm 1 (line 1.28 mended). Inwards every joint is put where what pulls at it
would have it, without limits. Outwards every joint turns, as far as its limits let it, so that what it carries comes
nearest to where the way inwards put it: lengths and limits hold after every pass.
"""

import numpy as np
from numpy.typing import NDArray

from . import joint_alignment
from .sphere_joint import between
from .tree_kinematics import TreeFrames, TreeProblems
from .tree_plan import PulledJoint, TreePlan

Floats = NDArray[np.float64]

HOLD = 1e-6
"""How much what a joint would do by itself counts beside what pulls at it: enough to settle what nothing tells."""


def inwards(plan: TreePlan, placed: TreeFrames, rows: TreeProblems) -> tuple[Floats, Floats]:
    """(R, N + S, 3) m where joints and sites are wanted, and (R, N + S) by how much."""
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
            # Only orientations below: they ask for no place.
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
    """Whether what pulls at a joint pulls in one place, at a distance from it."""
    return bool(link.direction.any() and link.along[0] != 0 and np.ptp(link.along) == 0)


def _mean(share: Floats, points: Floats) -> Floats:
    """(R, 3) points (R, E, 3) by their shares (R, E).

    Summed by hand: a product of matrices rounds a row differently among others than alone.
    """
    mean: Floats = (share[..., None] * points).sum(-2)
    return mean


def _side(plan: TreePlan, placed: TreeFrames, n: int) -> Floats:
    """(R, 3) where a joint's side axis points."""
    side: Floats = placed.turned[:, n] @ plan.axes[n, :, 0]
    return side


def _known(plan: TreePlan, n: int, placed: TreeFrames, rows: TreeProblems) -> Floats:
    """(R, 3) where a known joint is: the pinned root, or a joint with a goal of its own."""
    if n == 0 and not plan.root_free:
        return placed.points[:, 0]
    own = next(s for s in plan.links[n].sites if not plan.site_offsets[s].any())
    return rows.goals[:, own]


def _meeting(plan: TreePlan, placed: TreeFrames, one: int, other: int) -> Floats:
    """(R, 3) where two joints that close a loop should meet: on both bones' spheres, nearest to where they are."""
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
    """(R, 3) the place of a joint from which the points on it are nearest to where they are wanted (R, E, 3).

    With one point it is the nearest point on the sphere about it (1.21). With several that sit in one place it is the
    nearest about their centroid, weighted by their shares (R, E): FABRIK's rule for sub-bases. Points that sit apart
    make a rigid body, which is laid on them by least squares.
    """
    middle = _mean(share * ~link.floating, wanted)
    if link.direction.any():
        mean = (share * link.along).sum(-1)
        spread = link.along - mean[:, None]
        pointing = _mean(share * spread, wanted - middle[:, None])
        # The joint's own place, by the weight HOLD, settles a single point and points in one place.
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
    """(R, N, 3) the turns within the limits that bring what each joint carries nearest to where `inwards` wants it."""
    result = rows.turns.copy()
    # Seen from a joint above, the points of an orientation are about where their joint is wanted.
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
                    # Its own are about where it is.
                    own = np.isin(levers, len(plan.links) + np.flatnonzero(plan.floating & (plan.site_joints == n)))
                    wish = wish + ((points - wanted[:, : len(plan.links)])[:, n, None]) * own[:, None]
                result[:, n] = joint_alignment.turn(
                    joint, result[:, n], arms, wish @ carried, pull[:, levers], swing=near
                )
        turned[:, n] = carried @ joint_alignment.matrix(joint, result[:, n])
    return result
