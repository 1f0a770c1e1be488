"""Forward kinematics of the plan's joints and sites for R rows at once, and the errors of their goals."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from . import swing_twist_limits
from .tree_plan import TreePlan

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class TreeProblems:
    """R problems: present poses and goals."""

    origin: Floats
    """(R, 3) m, the root's position in the base's frame."""
    turns: Floats
    """(R, N, 3) rad"""
    goals: Floats
    """(R, S, 3) m, in the base's frame, or relative to the joint where TreePlan.floating is true."""
    weights: Floats
    """(R, S)"""

    def select(self, rows: Rows) -> "TreeProblems":
        """Some of the rows."""
        return TreeProblems(self.origin[rows], self.turns[rows], self.goals[rows], self.weights[rows])

    def put(self, rows: Rows, other: "TreeProblems") -> "TreeProblems":
        """These problems with the given rows at the poses of another's rows."""
        turns, origin = self.turns.copy(), self.origin.copy()
        turns[rows], origin[rows] = other.turns, other.origin
        return replace(self, turns=turns, origin=origin)


@dataclass(frozen=True, slots=True, eq=False)
class TreeFrames:
    """The N pulled joints and S sites in the base's frame."""

    carried: Floats
    """(R, N, 3, 3) rotation of each joint's frame before its own rotation."""
    turned: Floats
    """(R, N, 3, 3) and after it."""
    points: Floats
    """(R, N + S, 3) m, joints then sites."""

    def select(self, rows: Rows) -> "TreeFrames":
        """Some of the rows."""
        return TreeFrames(self.carried[rows], self.turned[rows], self.points[rows])


def place(plan: TreePlan, origin: Floats, turns: Floats) -> TreeFrames:
    """Forward kinematics from the root's position `origin` (R, 3) m and angles `turns` (R, N, 3) rad."""
    rows, count = turns.shape[:2]
    local = swing_twist_limits.matrices(plan.axes, turns)
    carried, turned = np.empty_like(local), np.empty_like(local)
    points = np.empty((rows, count + len(plan.site_joints), 3))
    for n, link in enumerate(plan.links):
        if link.parent < 0:
            carried[:, n], points[:, n] = plan.rest[n], origin
        else:
            above = turned[:, link.parent]
            carried[:, n] = above @ plan.rest[n]
            points[:, n] = points[:, link.parent] + above @ plan.steps[n]
        turned[:, n] = carried[:, n] @ local[:, n]
    points[:, count:] = points[:, plan.site_joints]
    for s in np.flatnonzero(plan.site_offsets.any(-1)):
        points[:, count + s] += turned[:, plan.site_joints[s]] @ plan.site_offsets[s]
    return TreeFrames(carried, turned, points)


def misses(plan: TreePlan, placed: TreeFrames, rows: TreeProblems) -> tuple[Floats, Floats]:
    """The weighted errors of the rows' goals, √weight · error (R, E, 3), and the largest unweighted error (R,) m.

    One entry for each goal, then one for each loop: the vector between the two joints that should coincide.
    """
    sites = placed.points[:, len(plan.links) :] - placed.points[:, plan.site_joints] * plan.floating[:, None]
    asked = sites.shape[1] - plan.pairs.size
    apart = np.concatenate(
        [sites[:, :asked] - rows.goals[:, :asked], sites[:, plan.pairs[:, 0]] - sites[:, plan.pairs[:, 1]]], axis=1
    )
    scale = np.sqrt(np.concatenate([rows.weights[:, :asked], rows.weights[:, plan.pairs[:, 0]]], axis=1))
    farthest: Floats = np.linalg.norm(apart, axis=-1).max(-1, initial=0.0)
    return scale[..., None] * apart, farthest


def measure(plan: TreePlan, rows: TreeProblems) -> tuple[Floats, Floats, TreeFrames]:
    """The rows' errors: root of the weighted sum of squares (R,) m, largest error (R,) m; and their frames."""
    placed = place(plan, rows.origin, rows.turns)
    left, farthest = misses(plan, placed, rows)
    return np.sqrt((left**2).sum((-1, -2))), farthest, placed
