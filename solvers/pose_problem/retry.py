"""A second search for poses that strayed, from half closed digits."""

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose
from .problem import PoseProblem
from .search import Solution, solve

Floats = NDArray[np.float64]

RETRY_RATIO = 0.8
"""Ratio of costs below which the solution from another starting pose replaces the first one."""


def retry_strayed(problem: PoseProblem, solution: Solution) -> Solution:
    """Search the strayed frames again from half closed digits, and keep the better solution.

    A finger bent backwards may be stopped by its limits where a flexed one reaches farther.
    """
    rows = np.flatnonzero(solution.strayed)
    if not len(rows):
        return solution
    subset = problem.select(rows)
    retried = solve(subset, Pose(problem.hand, subset.start.root, _half_closed(subset)))
    cheaper = retried.cost < RETRY_RATIO * solution.cost[rows]
    root, angles = solution.pose.root.copy(), solution.pose.angles.copy()
    cost, strayed = solution.cost.copy(), solution.strayed.copy()
    better = rows[cheaper]
    root[better], angles[better] = retried.pose.root[cheaper], retried.pose.angles[cheaper]
    cost[better], strayed[better] = retried.cost[cheaper], retried.strayed[cheaper]
    return Solution(Pose(problem.hand, root, angles), cost, strayed)


def _half_closed(problem: PoseProblem) -> Floats:
    """Return the start's angles (F, D) rad with the free middle and last joints half closed."""
    hand = problem.hand
    knuckles = [JOINT_INDEX[joints[0]] for joints in CHAIN_JOINTS.values()]
    half_closed = np.array([movement == "flexion" for movement in hand.movements])
    half_closed &= ~np.isin(hand.axis_joint, knuckles) & np.isin(np.arange(hand.dofs) + ROOT_DOFS, problem.free)
    return np.where(half_closed, hand.limits.mean(axis=1), problem.start.angles)
