"""The pose nearest to where a drag began, by whatever way the mouse came.

A search from the last pose finds the bend next to it. Out of reach digits go over into other bends, and in one of those
a search may stay when the mouse has come back. So from then on there is a second search from the beginning, and the
cheaper of both is taken, until they agree. With pins it is given up where it is led astray: it then has a long way.
To another bend a digit goes at a pace, while its point stays at the mouse.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import BASE
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose
from .digit_solver import Course
from .nearest_pose import USUAL, Question, Wish, length, nearest

Floats = NDArray[np.float64]

STRAYED = 0.5 * 0.002**2
"""m² for a hand of the usual length: what is dearer is out of reach, or bent far from the beginning."""
ALIKE = 1e-3
"""rad between two searches that came to the same."""
PACE, START = 8.0, 2.0
"""Degrees for each millimetre of the mouse on a hand of the usual length, and for none."""
CHEAPER = 0.8
"""Parts of what a pose costs, below which another bend is gone over to that was not come to step by step."""
ONWARD = 0.5
"""Parts of the pace by which a pose must come nearer to where it goes, once its point was brought back to the mouse."""
OVER = 1.3
"""Times the pace that a pose may be away once its point was brought back to the mouse."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """As little as can be away from where a drag began."""

    def step(self, asked: Question, wishes: Sequence[Wish], last: Course | None = None) -> Course:
        """See Bending."""
        unit = length(asked.hand) / USUAL
        pose, cost = nearest(asked, wishes, last.pose if last else None)
        strayed = last is not None and bool(last.own)
        if strayed:
            other, less = nearest(asked, wishes, patient=len(wishes) == 1)
            strayed = bool(np.abs(other.angles - pose.angles).max() > ALIKE)
            if less < cost:
                pose, cost = other, less
        far = cost > STRAYED * unit**2
        if far and len(wishes) == 1:
            # A finger that is bent back may be stopped by its limits where one that is bent reaches farther.
            other, less = nearest(asked, wishes, _curled(asked))
            if less < CHEAPER * cost:
                pose, cost = other, less
        strayed = strayed or far
        if last is not None and len(wishes) == 1 == len(last.wishes):
            way = float(np.linalg.norm(wishes[0].place - last.wishes[0].place))
            paced = _paced(asked, wishes, last.pose, pose, np.deg2rad(START + 1000 * PACE * way / unit))
            pose, strayed = paced, strayed or paced is not pose
        return Course(pose, tuple(wishes), {wish.site: wish.place for wish in wishes if wish.other is None}, strayed)


def _curled(asked: Question) -> Pose:
    """The pose at the beginning with the middle and last joints of what is dragged half way closed."""
    hand, begun = asked.hand, asked.begun
    knuckles = {JOINT_INDEX[joints[0]] for joints in CHAIN_JOINTS.values()}
    closes = np.array([movement == "flexion" for movement in hand.movements])
    closes &= ~np.isin(hand.axis_joint, list(knuckles)) & np.isin(np.arange(hand.dofs) + BASE, asked.free)
    return Pose(hand, begun.root, np.where(closes, hand.limits.mean(axis=1), begun.angles))


def _paced(asked: Question, wishes: Sequence[Wish], last: Pose, pose: Pose, most: float) -> Pose:
    """A pose on the way from the last one, no angle farther from that than about `most` rad."""
    way = pose.angles - last.angles
    largest = float(np.abs(way).max())
    if largest <= most:
        return pose
    between = Pose(pose.hand, pose.root, last.angles + way * (most / largest))
    there, _ = nearest(replace(asked, begun=between), wishes, between)
    gone, left = (np.abs(there.angles - other.angles).max() for other in (last, pose))
    # Not back to where it came from.
    return there if gone <= OVER * most and left <= largest - ONWARD * most else between
