"""A hand that wore markers: its measures, where on its skin each marker sits, and how its joints are used to move.

Everything is kept as of a right hand, a left one being its mirror image in X: angles are the same for both.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....errors import HandError
from ...joints import CHAIN_JOINTS, DIGITS, Side
from ...limits import DEFAULT_LIMITS, AngleLimits
from ...marker_sets import Spot
from ...model import HandModel, Movement
from ...proportions import Proportions, build

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PALM = -1
"""In place of a digit: the marker rides on the palm."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinMarkers:
    """Where M markers sit on a hand, in the frames of their bones: X to the little finger, Y along, Z out."""

    labels: tuple[str, ...]
    digits: Ints
    """(M,) row in DIGITS, PALM for the palm."""
    bones: Ints
    """(M,) which of the digit's three moving bones; 0 on the palm."""
    offsets: Floats
    """(M, 3) m"""
    slides: Floats
    """(M, 2, 3) m/rad by which the skin carries the marker as the joint at its bone's near and far end flexes."""
    spreads: Floats
    """(M, 3) m, the noise across the bone, along it and out of the skin, one standard deviation."""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class PosePrior:
    """How the joints are used: a Gaussian over angles and one over their change in time."""

    mean: Floats
    """(D,) rad"""
    covariance: Floats
    """(D, D) rad²"""
    change: Floats
    """(D, D) rad²/s, by which a pose differs from one a second before, were it to wander freely."""


@dataclass(frozen=True, eq=False)
class WornHand:
    """A performer's hand with the markers that it wore. Raises HandError where the arrays disagree."""

    proportions: Proportions
    markers: SkinMarkers
    poses: PosePrior
    limits: AngleLimits
    """Degrees, what differs from the usual limits."""

    def __post_init__(self) -> None:
        count, dofs = len(self.markers), len(DEFAULT_LIMITS)
        shapes = {
            "digits": (self.markers.digits, (count,)),
            "bones": (self.markers.bones, (count,)),
            "offsets": (self.markers.offsets, (count, 3)),
            "slides": (self.markers.slides, (count, 2, 3)),
            "spreads": (self.markers.spreads, (count, 3)),
            "mean": (self.poses.mean, (dofs,)),
            "covariance": (self.poses.covariance, (dofs, dofs)),
            "change": (self.poses.change, (dofs, dofs)),
        }
        for name, (array, expected) in shapes.items():
            if array.shape != expected or not np.isfinite(array).all():
                raise HandError(
                    f"{self.side} hand: {name} of its markers has the shape {array.shape}, expected {expected} finite "
                    "numbers"
                )

    @property
    def side(self) -> Side:
        """Which hand it is."""
        return self.proportions.side

    @cached_property
    def model(self) -> HandModel:
        """The hand that wears the markers, without a site for any."""
        return build(self.proportions, DEFAULT_LIMITS | self.limits)

    def spots(self) -> dict[str, Spot]:
        """label -> where it sits on the straight hand."""
        found = {}
        for label, digit, bone, (x, y, z) in zip(
            self.markers.labels, self.markers.digits, self.markers.bones, self.markers.offsets.tolist(), strict=True
        ):
            if digit == PALM:
                found[label] = Spot("wrist", (x, y, z))
                continue
            # The last bone's markers are the fingertip's: what holds it is asked for by that joint.
            tip = bone + 1 == len(self.proportions.phalanges[digit])
            back = float(self.proportions.phalanges[digit, bone]) if tip else 0.0
            found[label] = Spot(CHAIN_JOINTS[DIGITS[digit]][bone + tip], (x, y - back, z))
        return found


MOVEMENTS: tuple[tuple[int, Movement], ...] = (
    (0, "abduction"),
    (0, "twist"),
    (0, "flexion"),
    (1, "abduction"),
    (1, "flexion"),
    (2, "flexion"),
)
"""The six movements that a digit has at most: at which of its three moving joints, and what."""


def _columns() -> Ints:
    """(5, 6) which of the hand's degrees of freedom each movement of a digit is, −1 where the digit lacks it."""
    found = np.full((len(DIGITS), len(MOVEMENTS)), -1)
    following = iter(range(len(DEFAULT_LIMITS)))
    for row, digit in enumerate(DIGITS):
        for slot, (joint, movement) in enumerate(MOVEMENTS):
            if (CHAIN_JOINTS[digit][joint], movement) in DEFAULT_LIMITS:
                found[row, slot] = next(following)
    return found


COLUMNS = _columns()
DOFS = len(DEFAULT_LIMITS)
HAS = COLUMNS >= 0
