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
    sites = tuple(Site(site.name, site.joint, (-x, y, z)) for site in hand.sites for x, y, z in (site.offset,))
    return replace(
        hand, side=other_side(hand.side), rest=FRAME_SIGNS * hand.rest, axes=AXIS_SIGNS * hand.axes, sites=sites
    )


def pose(original: Pose, hand: HandModel) -> Pose:
    """Mirror a pose for `hand`, the model of the other hand."""
    return Pose(hand, FRAME_SIGNS * original.root, original.angles)


def targets(original: Targets) -> Targets:
    """Mirror targets for the other hand."""

    def mirrored(values: Floats | None, signs: Floats) -> Floats | None:
        return None if values is None else signs * values

    return replace(
        original,
        positions=POINT_SIGNS * original.positions,
        rotations=mirrored(original.rotations, np.array([1.0, *AXIS_SIGNS])),
        velocities=mirrored(original.velocities, POINT_SIGNS),
        angular_velocities=mirrored(original.angular_velocities, AXIS_SIGNS),
    )
