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
    """R problems: current poses and goals."""

    root_position: Floats
    """(R, 3) m, the root's position in the base's frame."""
    angles: Floats
    """(R, N, 3) rad"""
    goals: Floats
    """(R, S, 3) m, in the base's frame, or relative to the joint where TreePlan.relative is true."""
    weights: Floats
    """(R, S)"""

    def select(self, rows: Rows) -> "TreeProblems":
        """Return some of the rows."""
        return TreeProblems(self.root_position[rows], self.angles[rows], self.goals[rows], self.weights[rows])

    def replace_rows(self, rows: Rows, new_rows: "TreeProblems") -> "TreeProblems":
        """Return the problems with the poses of `rows` replaced by those of `new_rows`."""
        angles, origin = self.angles.copy(), self.root_position.copy()
        angles[rows], origin[rows] = new_rows.angles, new_rows.root_position
        return replace(self, angles=angles, root_position=origin)


@dataclass(frozen=True, slots=True, eq=False)
class TreeFrames:
    """The N pulled joints and S sites in the base's frame."""

    rotations_before: Floats
    """(R, N, 3, 3) rotation of each joint's frame before its own rotation."""
    rotations: Floats
    """(R, N, 3, 3) rotation of each joint's frame after its own rotation."""
    points: Floats
    """(R, N + S, 3) m, joints then sites."""

    def select(self, rows: Rows) -> "TreeFrames":
        """Return some of the rows."""
        return TreeFrames(self.rotations_before[rows], self.rotations[rows], self.points[rows])


def forward_kinematics(plan: TreePlan, root_position: Floats, angles: Floats) -> TreeFrames:
    """Return the frames for the root's position `root_position` (R, 3) m and `angles` (R, N, 3) rad."""
    rows, count = angles.shape[:2]
    local = swing_twist_limits.matrices(plan.axes, angles)
    rotations_before, rotations = np.empty_like(local), np.empty_like(local)
    points = np.empty((rows, count + len(plan.site_joints), 3))
    for n, link in enumerate(plan.links):
        if link.parent < 0:
            rotations_before[:, n], points[:, n] = plan.rest_rotations[n], root_position
        else:
            above = rotations[:, link.parent]
            rotations_before[:, n] = above @ plan.rest_rotations[n]
            points[:, n] = points[:, link.parent] + above @ plan.rest_offsets[n]
        rotations[:, n] = rotations_before[:, n] @ local[:, n]
    points[:, count:] = points[:, plan.site_joints]
    for s in np.flatnonzero(plan.site_offsets.any(-1)):
        points[:, count + s] += rotations[:, plan.site_joints[s]] @ plan.site_offsets[s]
    return TreeFrames(rotations_before, rotations, points)


def goal_errors(plan: TreePlan, posed: TreeFrames, rows: TreeProblems) -> tuple[Floats, Floats]:
    """Return the weighted errors of the rows' goals, √weight · error (R, E, 3), and the largest unweighted error (R,)
    m.

    One entry for each goal, then one for each loop: the vector between the two joints that should coincide.
    """
    sites = posed.points[:, len(plan.links) :] - posed.points[:, plan.site_joints] * plan.relative[:, None]
    goal_count = sites.shape[1] - plan.loop_pairs.size
    differences = np.concatenate(
        [
            sites[:, :goal_count] - rows.goals[:, :goal_count],
            sites[:, plan.loop_pairs[:, 0]] - sites[:, plan.loop_pairs[:, 1]],
        ],
        axis=1,
    )
    scale = np.sqrt(np.concatenate([rows.weights[:, :goal_count], rows.weights[:, plan.loop_pairs[:, 0]]], axis=1))
    farthest: Floats = np.linalg.norm(differences, axis=-1).max(-1, initial=0.0)
    return scale[..., None] * differences, farthest


def measure(plan: TreePlan, rows: TreeProblems) -> tuple[Floats, Floats, TreeFrames]:
    """Return the rows' errors: root of the weighted sum of squares (R,) m, largest error (R,) m; and their frames."""
    posed = forward_kinematics(plan, rows.root_position, rows.angles)
    errors, farthest = goal_errors(plan, posed, rows)
    return np.sqrt((errors**2).sum((-1, -2))), farthest, posed
