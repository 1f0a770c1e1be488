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

from ...hand.kinematics import Pose
from .bending import Course
from .nearest import USUAL, Question, Wish, length, nearest

Floats = NDArray[np.float64]

STRAYED = 0.5 * 0.002**2
"""m² for a hand of the usual length: what is dearer is out of reach, or bent far from the beginning."""
ALIKE = 1e-3
"""rad between two searches that came to the same."""
PACE, START = 8.0, 2.0
"""Degrees for each millimetre of the mouse on a hand of the usual length, and for none."""
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
        strayed = strayed or cost > STRAYED * unit**2
        if last is not None and len(wishes) == 1 == len(last.wishes):
            way = float(np.linalg.norm(wishes[0].place - last.wishes[0].place))
            paced = _paced(asked, wishes, last.pose, pose, np.deg2rad(START + 1000 * PACE * way / unit))
            pose, strayed = paced, strayed or paced is not pose
        return Course(pose, tuple(wishes), {wish.site: wish.place for wish in wishes if wish.other is None}, strayed)


def _paced(asked: Question, wishes: Sequence[Wish], last: Pose, pose: Pose, most: float) -> Pose:
    """A pose on the way from the last one, no angle farther from that than about `most` rad."""
    way = pose.angles - last.angles
    largest = float(np.abs(way).max())
    if largest <= most:
        return pose
    between = Pose(pose.hand, pose.root, last.angles + way * (most / largest))
    there, _ = nearest(replace(asked, begun=between), wishes, between)
    return there if np.abs(there.angles - last.angles).max() <= OVER * most else between
