"""Shares of the prior of the angles and of the poses' covariance that count while a hand's shape is fitted.

Longer levers need smaller angles, which the prior of the angles prefers; but the markers then also determine the angles
better, and uncertain poses cost more. To first order both cancel if the prior and the covariance of the poses count
with the same share. The smaller this share is, the less depends on whether the angles are normally distributed. A digit
that hardly moves needs the whole prior, since its markers do not tell its bones from its angles.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...joints import DIGITS
from .priors import USUAL_SPREAD
from .skin_fit import COLUMNS, DOFS, FLEXION, HAS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOVING_SHARE = 0.05
"""Share of the prior of a digit that moves through its range, and of the covariance if all do."""
STILL_COVARIANCE_SHARE = 0.4
"""Share of the covariance if all digits hardly move, of whose prior all counts. A marker's noise is in part its
skin's, which is the same whenever a pose comes again and leaves no doubt about it. With none of it thumbs come out too
long, with all of it fingers too short."""
STILL, MOVING = 0.38, 0.46
"""Coverage up to which a digit counts as still, and from which as moving through its range."""
PRECISE, NOISY = 0.0011, 0.0014
"""m of noise of the markers up to which a moving digit has its own shares, and from which all digits count as still:
poses are then so uncertain that their expected cost, which is computed to second order, is not exact."""
USUAL_RANGE = 4.0
"""The range of an angle that counts as all of it, in usual standard deviations."""
RANGE_ENDS = (0.02, 0.98)
"""Quantiles between which an angle's range is measured."""


@dataclass(frozen=True, slots=True, eq=False)
class PoseShares:
    """Factors between 0 and 1."""

    prior: Floats
    """(D,) share of the prior of each angle."""
    covariance: float
    """Share of the poses' covariance: one number, since errors of the wrist and of the angles compensate each other."""

    def scale_precision(self, precision: Floats) -> Floats:
        """Return the share of the precision (D, D) of the angles' prior."""
        return precision * np.sqrt(np.outer(self.prior, self.prior))


def pose_shares(angles: Floats, digits: Ints, noise: float) -> PoseShares:
    """Return the shares for a shape that is fitted to poses.

    Args:
        angles: (F, D) rad
        digits: (M,) row in DIGITS of the digit that carries each marker. If any digit has fewer than two markers, all
            count as still.
        noise: m, of the markers.
    """
    precise = np.clip((NOISY - noise) / (NOISY - PRECISE), 0.0, 1.0)
    moving = precise * np.clip((coverage(angles) - STILL) / (MOVING - STILL), 0.0, 1.0)
    moving *= np.all(np.sum(digits == np.arange(len(DIGITS))[:, None], axis=1) > 1)
    prior = np.ones(DOFS)
    for row, share in enumerate(MOVING_SHARE**moving):
        prior[COLUMNS[row, HAS[row]]] = share
    mean = float(moving.mean())
    return PoseShares(prior, STILL_COVARIANCE_SHARE ** (1 - mean) * MOVING_SHARE**mean)


def coverage(angles: Floats) -> Floats:
    """Return how much (5,) of the usual range of its flexions each digit goes through: angles (F, D) rad.

    Of fingers the MCP and the PIP count, since a DIP bends with its PIP.
    """
    low, high = np.quantile(angles, RANGE_ENDS, axis=0)
    share = np.clip((high - low) / (USUAL_RANGE * USUAL_SPREAD), 0.0, 1.0)
    flexions = [COLUMNS[row, FLEXION if digit == "thumb" else FLEXION[:2]] for row, digit in enumerate(DIGITS)]
    return np.array([share[columns].mean() for columns in flexions])
