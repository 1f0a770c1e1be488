"""A hand fitted with its markers: proportions, marker positions on the skin, and joint statistics.

Everything is stored as for a right hand; a left one is its mirror image in X, with the same angles.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....errors import HandError
from ...joints import CHAIN_JOINTS, DIGITS, Side
from ...limits import DEFAULT_LIMITS, DIGIT_MOVEMENTS, AngleLimits
from ...marker_sets import Spot
from ...model import HandModel
from ...proportions import Proportions, build

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PALM = -1
"""The digit index of markers on the palm."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinMarkers:
    """Positions of M markers on a hand in the frames of their bones: X to the little finger, Y along, Z out."""

    labels: tuple[str, ...]
    digits: Ints
    """(M,) row in DIGITS, PALM for the palm."""
    bones: Ints
    """(M,) index in the digit's three moving bones; 0 on the palm."""
    offsets: Floats
    """(M, 3) m"""
    slides: Floats
    """(M, 2, 3) m/rad by which the skin moves the marker as the joints at its bone's proximal and distal end flex."""
    spreads: Floats
    """(M, 3) m, standard deviations of the noise across the bone, along it and out of the skin."""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class PosePrior:
    """Joint statistics: a Gaussian over angles and one over their change with time."""

    mean: Floats
    """(D,) rad"""
    covariance: Floats
    """(D, D) rad²"""
    change: Floats
    """(D, D) rad²/s, covariance of the change per second of a random walk."""


@dataclass(frozen=True, eq=False)
class SkinFit:
    """A performer's hand fitted with its markers.

    Raises:
        HandError: the arrays' shapes disagree or a value is not finite.
    """

    proportions: Proportions
    markers: SkinMarkers
    poses: PosePrior
    limits: AngleLimits
    """Degrees, only those that differ from DEFAULT_LIMITS."""

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
        """'left' or 'right'."""
        return self.proportions.side

    @cached_property
    def model(self) -> HandModel:
        """The hand model, without sites for the markers."""
        return build(self.proportions, DEFAULT_LIMITS | self.limits)

    def offsets_at(self, angles: Floats) -> Floats:
        """Offsets (..., M, 3) m of the markers from their bones' proximal joints at angles (..., D) rad."""
        ends = self.markers.bones[:, None] + np.arange(2)
        columns = COLUMNS[self.markers.digits[:, None], FLEXION[np.minimum(ends, len(FLEXION) - 1)]]
        slides = (self.markers.digits[:, None] != PALM) & (ends < len(FLEXION))
        return np.asarray(
            self.markers.offsets + np.einsum("...me,mek->...mk", angles[..., columns] * slides, self.markers.slides)
        )

    def spots(self) -> dict[str, Spot]:
        """Return label -> where the marker sits on the hand in its mean pose: skin slides as joints bend."""
        result = {}
        markers, offsets = self.markers, self.offsets_at(self.poses.mean).tolist()
        for label, digit, bone, (x, y, z) in zip(markers.labels, markers.digits, markers.bones, offsets, strict=True):
            if digit == PALM:
                result[label] = Spot("wrist", (x, y, z))
                continue
            # Markers on the last bone are placed relative to the fingertip.
            tip = bone + 1 == len(self.proportions.phalanges[digit])
            to_tip = float(self.proportions.phalanges[digit, bone]) if tip else 0.0
            result[label] = Spot(CHAIN_JOINTS[DIGITS[digit]][bone + tip], (x, y - to_tip, z))
        return result


def _columns() -> Ints:
    """Degree of freedom (5, 6) of each movement of each digit, −1 where the digit does not have it."""
    columns = np.full((len(DIGITS), len(DIGIT_MOVEMENTS)), -1)
    next_dof = iter(range(len(DEFAULT_LIMITS)))
    for row, digit in enumerate(DIGITS):
        for slot, (joint, movement) in enumerate(DIGIT_MOVEMENTS):
            if (CHAIN_JOINTS[digit][joint], movement) in DEFAULT_LIMITS:
                columns[row, slot] = next(next_dof)
    return columns


FLEXION = np.array([2, 4, 5])
"""Index in DIGIT_MOVEMENTS of each moving joint's flexion."""
COLUMNS = _columns()
DOFS = len(DEFAULT_LIMITS)
HAS = COLUMNS >= 0
