"""The pose nearest to where a drag began, by whatever way the mouse came.

A search from the last pose finds the bend next to it. Out of reach digits go over into other bends, and in one of those
a search may stay when the mouse has come back. So from then on there is a second search from the beginning, and the
cheaper of both is taken, until they agree. With pins it is given up where it is led astray: it then has a long way.
To another bend a digit goes at a pace, while its point stays at the mouse.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...solvers.pose_problem import USUAL_LENGTH, PoseProblem, middle_finger_length, retried, solve
from .digit_solver import DragStep

Floats = NDArray[np.float64]

ALIKE = 1e-3
"""rad between two searches that came to the same."""
PACE, START = 8.0, 2.0
"""Degrees for each millimetre of the mouse on a hand of the usual length, and for none."""
ONWARD = 0.5
"""Parts of the pace by which a pose must come nearer to where it goes, once its point was brought back to the mouse."""
OVER = 1.3
"""Times the pace that a pose may be away once its point was brought back to the mouse."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """As little as can be away from where a drag began."""

    def step(self, problem: PoseProblem, last: DragStep | None = None) -> DragStep:
        """See Bending."""
        objectives, single = problem.objectives, len(problem.objectives) == 1
        found = solve(problem, last.pose if last else None)
        strayed = last is not None and bool(last.own)
        if strayed:
            other = solve(problem, patient=single)
            strayed = bool(np.abs(other.pose.angles - found.pose.angles).max() > ALIKE)
            found = other if other.cost[0] < found.cost[0] else found
        strayed = strayed or bool(found.strayed[0])
        pose = (retried(problem, found) if single else found).pose
        if last is not None and single and len(last.objectives) == 1:
            way = float(np.linalg.norm(objectives[0].position - last.objectives[0].position))
            unit = middle_finger_length(problem.hand) / USUAL_LENGTH
            paced = _paced(problem, last.pose, pose, np.deg2rad(START + 1000 * PACE * way / unit))
            pose, strayed = paced, strayed or paced is not pose
        aims = {each.site: each.position for each in objectives if each.relative is None}
        return DragStep(pose, objectives, aims, strayed)


def _paced(problem: PoseProblem, last: Pose, pose: Pose, most: float) -> Pose:
    """A pose on the way from the last one, no angle farther from that than about `most` rad."""
    way = pose.angles - last.angles
    largest = float(np.abs(way).max())
    if largest <= most:
        return pose
    between = Pose(pose.hand, pose.root, last.angles + way * (most / largest))
    there = solve(replace(problem, start=between)).pose
    gone, left = (np.abs(there.angles - other.angles).max() for other in (last, pose))
    # Not back to where it came from.
    return there if gone <= OVER * most and left <= largest - ONWARD * most else between
