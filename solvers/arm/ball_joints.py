"""Limits of an arm's ball-and-socket joints: distance of a rotation to its limits, and the nearest one within them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..tree import Skeleton, SwingTwistLimit, swing_twist_limits

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SLACK = 1e-10
"""rad, rounding tolerance of angles at a limit."""


@dataclass(frozen=True, slots=True, eq=False)
class BallJoint:
    """A SwingTwistLimit as arrays; see tree/swing_twist_limits.py."""

    axes: Floats
    """(3, 3) columns: first swing axis, twist axis, second swing axis."""
    cone: Floats
    """(4,) rad"""
    twist: Floats
    """(2,) rad"""

    def turns(self, rotation: Floats) -> Floats:
        """Decompose rotations (..., 3, 3) into swing and twist angles (..., 3) rad about the axes."""
        heading = rotation @ self.axes[:, 1]
        turns = np.zeros(heading.shape)
        turns[..., ::2] = swing_twist_limits.swing_to(self.axes, heading, turns)
        unswung = np.swapaxes(swing_twist_limits.swing_matrices(self.axes, turns), -1, -2) @ rotation @ self.axes[:, 0]
        turns[..., 1] = np.arctan2(-unswung @ self.axes[:, 2], unswung @ self.axes[:, 0])
        return turns

    def inside(self, rotation: Floats) -> Bools:
        """(...) whether rotations (..., 3, 3) are within the limit, up to SLACK."""
        turns = self.turns(rotation)
        swing = turns[..., ::2]
        semi = swing_twist_limits.semi_axes(self.cone, swing) + SLACK
        swung = np.all(self.cone >= swing_twist_limits.FULL_SWING) | (((swing / semi) ** 2).sum(-1) <= 1.0)
        low, high = self.twist
        apart = np.abs(swing_twist_limits.wrapped(turns[..., 1] - (low + high) / 2))
        within: Bools = swung & (apart <= (high - low) / 2 + SLACK)
        return within

    def excess(self, rotation: Floats) -> Floats:
        """How far rotations (..., 3, 3) are outside the limit: (...) rad, 0 inside."""
        turns = self.turns(rotation)
        apart = turns - swing_twist_limits.clamp(self.cone, self.twist, turns)
        # Twists that differ by 2 π are the same.
        apart[..., 1] = swing_twist_limits.wrapped(apart[..., 1])
        outside: Floats = np.linalg.norm(apart, axis=-1)
        return outside

    def nearest(self, rotation: Floats) -> Floats:
        """Project rotations (..., 3, 3) onto the limit."""
        turns = swing_twist_limits.clamp(self.cone, self.twist, self.turns(rotation))
        return np.where(self.inside(rotation)[..., None, None], rotation, swing_twist_limits.matrices(self.axes, turns))


def joint(limit: SwingTwistLimit, name: str) -> BallJoint:
    """Convert a limit to arrays. Raises SkeletonError, which names the joint, if the limit is contradictory."""
    checked = Skeleton((name,), (-1,), np.eye(4)[None], (limit,))
    return BallJoint(checked.axes[0], checked.cone[0], checked.twist[0])
