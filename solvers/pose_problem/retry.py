"""A second search for poses that strayed, from half closed digits."""

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose
from .problem import PoseProblem
from .search import Solution, solve

Floats = NDArray[np.float64]

CHEAPER = 0.8
"""Ratio of costs below which the solution from another starting pose replaces the first one."""


def retried(problem: PoseProblem, found: Solution) -> Solution:
    """Search the strayed frames again from half closed digits, and keep the better solution.

    A finger bent backwards may be stopped by its limits where a flexed one reaches farther.
    """
    rows = np.flatnonzero(found.strayed)
    if not len(rows):
        return found
    some = problem.select(rows)
    other = solve(some, Pose(problem.hand, some.start.root, _half_closed(some)))
    less = other.cost < CHEAPER * found.cost[rows]
    root, angles, cost, strayed = (
        array.copy() for array in (found.pose.root, found.pose.angles, found.cost, found.strayed)
    )
    better = rows[less]
    root[better], angles[better] = other.pose.root[less], other.pose.angles[less]
    cost[better], strayed[better] = other.cost[less], other.strayed[less]
    return Solution(Pose(problem.hand, root, angles), cost, strayed)


def _half_closed(problem: PoseProblem) -> Floats:
    """Return the start's angles (F, D) rad with the free middle and last joints half closed."""
    hand = problem.hand
    knuckles = [JOINT_INDEX[joints[0]] for joints in CHAIN_JOINTS.values()]
    closes = np.array([movement == "flexion" for movement in hand.movements])
    closes &= ~np.isin(hand.axis_joint, knuckles) & np.isin(np.arange(hand.dofs) + ROOT_DOFS, problem.free)
    return np.where(closes, hand.limits.mean(axis=1), problem.start.angles)
