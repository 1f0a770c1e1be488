"""Mirror hands, poses and targets in the plane X = 0 of the world.

With M = diag(−1, 1, 1) a point p becomes M p. A joint's frame R becomes M R M, so that the mirrored hand is a hand
again, with the same angles, since movements have the same sign on both hands (`model.py`). An angular velocity w is a
pseudovector and becomes −M w.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .joints import SIDES, Side
from .kinematics import Pose
from .model import HandModel, Site
from .targets import Targets

Floats = NDArray[np.float64]

POINT_SIGNS = np.array([-1.0, 1.0, 1.0])
"""Factors that mirror a position or a velocity."""
AXIS_SIGNS = np.array([1.0, -1.0, -1.0])
"""Factors that mirror a rotation axis or an angular velocity."""
FRAME_SIGNS = np.outer([*POINT_SIGNS, 1.0], [*POINT_SIGNS, 1.0])
"""(4, 4) elementwise factors that mirror a frame: M T M."""


def other_side(side: Side) -> Side:
    """Return left for right, and right for left."""
    return SIDES[1 - SIDES.index(side)]


def model(hand: HandModel) -> HandModel:
    """Return the other hand with the same proportions, limits and couplings."""
    sites = tuple(Site(site.name, site.joint, _mirrored_point(site.offset)) for site in hand.sites)
    return replace(
        hand, side=other_side(hand.side), rest=FRAME_SIGNS * hand.rest, axes=AXIS_SIGNS * hand.axes, sites=sites
    )


def _mirrored_point(place: tuple[float, float, float]) -> tuple[float, float, float]:
    x, y, z = place
    return -x, y, z


def pose(posed: Pose, hand: HandModel) -> Pose:
    """Mirror a pose on to `hand`, the model of the other hand."""
    return Pose(hand, FRAME_SIGNS * posed.root, posed.angles)


def targets(asked: Targets) -> Targets:
    """Mirror targets for the other hand."""
    turns = np.array([1.0, *AXIS_SIGNS])
    return replace(
        asked,
        positions=POINT_SIGNS * asked.positions,
        rotations=None if asked.rotations is None else turns * asked.rotations,
        velocities=None if asked.velocities is None else POINT_SIGNS * asked.velocities,
        angular_velocities=None if asked.angular_velocities is None else AXIS_SIGNS * asked.angular_velocities,
    )
