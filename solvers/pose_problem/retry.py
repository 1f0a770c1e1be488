"""Repeat the search from half-closed digits for poses that miss their goals."""

import numpy as np
from numpy.typing import NDArray

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
    retried = solve(subset, Pose(problem.hand, subset.start.root, half_closed(subset)))
    cheaper = retried.cost < RETRY_RATIO * solution.cost[rows]
    root, angles = solution.pose.root.copy(), solution.pose.angles.copy()
    cost, strayed = solution.cost.copy(), solution.strayed.copy()
    better = rows[cheaper]
    root[better], angles[better] = retried.pose.root[cheaper], retried.pose.angles[cheaper]
    cost[better], strayed[better] = retried.cost[cheaper], retried.strayed[cheaper]
    return Solution(Pose(problem.hand, root, angles), cost, strayed)


def half_closed(problem: PoseProblem) -> Floats:
    """Return the start's angles (F, D) rad with the free middle and last joints half closed."""
    return np.where(problem.bending, problem.hand.limits.mean(axis=1), problem.start.angles)
