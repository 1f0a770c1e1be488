"""Limits of an arm's ball-and-socket joints: distance of a rotation to its limits, and the nearest one within them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import wrap_angle
from ..tree import Skeleton, SwingTwistLimit, swing_twist_limits

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ANGLE_TOLERANCE = 1e-10
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

    def swing_twist(self, rotation: Floats) -> Floats:
        """Decompose rotations (..., 3, 3) into swing and twist angles (..., 3) rad about the axes."""
        direction = rotation @ self.axes[:, 1]
        angles = np.zeros(direction.shape)
        angles[..., ::2] = swing_twist_limits.swing_to(self.axes, direction, angles)
        twisted = np.swapaxes(swing_twist_limits.swing_matrices(self.axes, angles), -1, -2) @ rotation @ self.axes[:, 0]
        angles[..., 1] = np.arctan2(-twisted @ self.axes[:, 2], twisted @ self.axes[:, 0])
        return angles

    def inside(self, rotation: Floats) -> Bools:
        """Return (...) whether rotations (..., 3, 3) are within the limit, up to ANGLE_TOLERANCE."""
        angles = self.swing_twist(rotation)
        swing = angles[..., ::2]
        semi = swing_twist_limits.semi_axes(self.cone, swing) + ANGLE_TOLERANCE
        swing_inside = np.all(self.cone >= swing_twist_limits.FULL_SWING) | (((swing / semi) ** 2).sum(-1) <= 1.0)
        low, high = self.twist
        difference = np.abs(wrap_angle(angles[..., 1] - (low + high) / 2))
        within: Bools = swing_inside & (difference <= (high - low) / 2 + ANGLE_TOLERANCE)
        return within

    def excess(self, rotation: Floats) -> Floats:
        """Return by how much rotations (..., 3, 3) exceed the limit: (...) rad, 0 inside."""
        angles = self.swing_twist(rotation)
        difference = angles - swing_twist_limits.clamp(self.cone, self.twist, angles)
        # Twists that differ by 2 π are the same.
        difference[..., 1] = wrap_angle(difference[..., 1])
        outside: Floats = np.linalg.norm(difference, axis=-1)
        return outside

    def nearest(self, rotation: Floats) -> Floats:
        """Project rotations (..., 3, 3) onto the limit."""
        angles = swing_twist_limits.clamp(self.cone, self.twist, self.swing_twist(rotation))
        return np.where(
            self.inside(rotation)[..., None, None], rotation, swing_twist_limits.matrices(self.axes, angles)
        )


def ball_joint(limit: SwingTwistLimit, name: str) -> BallJoint:
    """Convert a limit to arrays. Raises SkeletonError, which names the joint, if the limit is contradictory."""
    checked = Skeleton((name,), (-1,), np.eye(4)[None], (limit,))
    return BallJoint(checked.axes[0], checked.cone[0], checked.twist[0])
