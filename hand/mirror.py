"""The other hand that moves alike: everything seen in a mirror that stands in the plane X = 0 of the world.

With M = diag(−1, 1, 1) a point p becomes M p. A joint's frame R becomes M R M, so that the mirrored hand is a hand
again, with the same angles: movements are named alike on both hands (`model.py`). A velocity of turning, which is an
axis with a sense, becomes −M w.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .joints import SIDES, Side
from .kinematics import Pose
from .model import HandModel, Site
from .targets import Targets

Floats = NDArray[np.float64]

POINTS = np.array([-1.0, 1.0, 1.0])
"""What a place or a velocity is multiplied by."""
TURNS = np.array([1.0, -1.0, -1.0])
"""What an axis of a turn, or a velocity of turning, is multiplied by."""
FRAMES = np.outer([*POINTS, 1.0], [*POINTS, 1.0])
"""(4, 4) what a frame is multiplied by, number by number: M T M."""


def other(side: Side) -> Side:
    """Left for right, and right for left."""
    return SIDES[1 - SIDES.index(side)]


def model(hand: HandModel) -> HandModel:
    """The other hand with the same measures, limits and couplings."""
    sites = tuple(Site(site.name, site.joint, _point(site.offset)) for site in hand.sites)
    return replace(hand, side=other(hand.side), rest=FRAMES * hand.rest, axes=TURNS * hand.axes, sites=sites)


def _point(place: tuple[float, float, float]) -> tuple[float, float, float]:
    x, y, z = place
    return -x, y, z


def pose(posed: Pose, hand: HandModel) -> Pose:
    """The pose of the other hand, `hand`, that looks like `posed` in the mirror."""
    return Pose(hand, FRAMES * posed.root, posed.angles)


def targets(asked: Targets) -> Targets:
    """What is to be asked of the other hand."""
    turns = np.array([1.0, *TURNS])
    return replace(
        asked,
        positions=POINTS * asked.positions,
        rotations=None if asked.rotations is None else turns * asked.rotations,
        velocities=None if asked.velocities is None else POINTS * asked.velocities,
        angular_velocities=None if asked.angular_velocities is None else TURNS * asked.angular_velocities,
    )
