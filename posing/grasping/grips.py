"""A table of grips. Angles in degrees, for an adult's hand; they are clipped to a hand's own limits."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS
from ...hand.model import HandModel, Movement

Floats = NDArray[np.float64]
Name = Literal["wrap", "ball", "pinch", "write"]
Thumb = tuple[float, float, float, float, float, float]
"""CMC abduction, twist and flexion, MCP abduction and flexion, IP flexion."""
Finger = tuple[float, float, float, float]
"""MCP abduction and flexion, PIP and DIP flexion."""
Fingers = tuple[Finger, Finger, Finger, Finger]


@dataclass(frozen=True, slots=True)
class Grip:
    """A type of grasp: the open hand, and how far it closes without an object."""

    name: Name
    opened: Fingers
    closed: Fingers
    thumbs: tuple[tuple[Thumb, Thumb], ...]
    """Motions of the thumb, from opened to closed; the one that opposes the fingers best is used."""
    digits: tuple[int, ...]
    """Digits that hold; the others stay opened."""
    contact_values: tuple[tuple[float, float, float], ...]
    """Value of a contact of each phalanx, by digit, proximal phalanx first."""
    joint_speeds: tuple[tuple[float, float, float], ...] = ((1.0, 1.0, 1.0),)
    """Relative speeds of the fingers' joints, outwards; those that hold best are used."""
    starts_around: bool = False
    """Whether the object is between the fingers before they close; else the hand approaches until its skin touches."""

    def bends(self, hand: HandModel, thumb: int) -> tuple[Floats, Floats]:
        """Return opened and closed angles, (D,) rad each, within the hand's limits, for one of the thumb's motions."""
        opened, closed = self.thumbs[thumb]
        return angles(hand, opened, self.opened), angles(hand, closed, self.closed)


def angles(hand: HandModel, thumb: Thumb, fingers: Fingers) -> Floats:
    """Return angles (D,) rad, clipped to the hand's limits."""
    result = np.zeros(hand.dofs)
    for joint, movement, degrees in _named(thumb, fingers):
        dof = hand.dof(joint, movement)
        if dof is not None:
            result[dof] = np.deg2rad(degrees)
    clipped: Floats = np.clip(result, hand.limits[:, 0], hand.limits[:, 1])
    return clipped


def _named(thumb: Thumb, fingers: Fingers) -> list[tuple[str, Movement, float]]:
    cmc, mcp, ip, _ = CHAIN_JOINTS["thumb"]
    where: list[tuple[str, Movement]] = [(cmc, "abduction"), (cmc, "twist"), (cmc, "flexion")]
    where += [(mcp, "abduction"), (mcp, "flexion"), (ip, "flexion")]
    result = [(*at, degrees) for at, degrees in zip(where, thumb, strict=True)]
    for digit, (aside, *bends) in zip(DIGITS[1:], fingers, strict=True):
        joints = CHAIN_JOINTS[digit]
        result.append((joints[0], "abduction", aside))
        result += [(joint, "flexion", bend) for joint, bend in zip(joints, bends, strict=False)]
    return result


def _thumbs(
    asides: tuple[float, ...], twists: tuple[float, ...], opened: tuple[float, ...], closed: tuple[float, ...]
) -> tuple[tuple[Thumb, Thumb], ...]:
    """Return all combinations of CMC abductions and twists, with opened and closed CMC, MCP and IP flexion."""
    return tuple(
        ((aside, twist, opened[0], 0.0, opened[1], opened[2]), (aside, twist, closed[0], 0.0, closed[1], closed[2]))
        for aside in asides
        for twist in twists
    )


ALL = (0, 1, 2, 3, 4)
_AROUND = ((1.0, 1.0, 1.0), (1.0, 0.5, 0.4), (1.0, 0.2, 0.15))
_POWER = ((0.2, 0.5, 1.5), *[(0.5, 0.7, 1.0)] * 4)

WRAP = Grip(
    "wrap",
    ((3, 5, 5, 3), (0, 5, 5, 3), (-3, 5, 5, 3), (-6, 5, 5, 3)),
    ((0, 90, 100, 60), (0, 90, 100, 60), (0, 90, 100, 60), (0, 80, 100, 60)),
    _thumbs((20, 32, 44, 56), (-15, 0, 15), (-20, 0, 0), (35, 50, 60)),
    ALL,
    _POWER,
    joint_speeds=_AROUND,
)
BALL = Grip(
    "ball",
    ((10, 0, 5, 3), (2, 0, 5, 3), (-6, 0, 5, 3), (-14, 0, 5, 3)),
    ((2, 85, 80, 50), (0, 85, 80, 50), (-1, 85, 80, 50), (-4, 85, 80, 50)),
    _thumbs((20, 32, 44, 56), (-15, 0, 15), (-20, 0, 0), (35, 45, 45)),
    ALL,
    _POWER,
    joint_speeds=_AROUND,
)
PINCH = Grip(
    "pinch",
    ((4, 20, 25, 14), (0, 22, 26, 16), (-2, 40, 42, 26), (-5, 46, 44, 28)),
    ((4, 62, 58, 40), (0, 64, 60, 42), (-2, 40, 42, 26), (-5, 46, 44, 28)),
    _thumbs((2, 10, 18, 26), (-10, 0, 10), (-5, 10, 5), (35, 45, 45)),
    (0, 1, 2),
    ((0.0, 0.0, 2.0), (0.0, 0.0, 2.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    starts_around=True,
)
WRITE = Grip(
    "write",
    ((-14, 50, 20, 6), (-18, 82, 56, 31), (-14, 64, 66, 42), (-14, 66, 66, 42)),
    ((-17, 67, 32, 14), (4, 54, 36, 19), (-14, 64, 66, 42), (-14, 66, 66, 42)),
    _thumbs((24, 28, 32), (-20, -17, -12), (15, 5, -2), (35, 35, 8)),
    (0, 1, 2),
    ((0.0, 0.0, 2.0), (0.0, 0.0, 2.0), (0.0, 0.5, 1.5), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    starts_around=True,
)
"""The middle finger starts below the pen and extends until the pen lies on it."""
GRIPS: dict[Name, Grip] = {grip.name: grip for grip in (WRAP, BALL, PINCH, WRITE)}

PINCHED: tuple[Thumb, Fingers] = (
    (10.2, -1.5, 29.7, -2.7, 21.5, 21.6),
    ((4, 41, 46, 30.7), (0, 40, 42, 28), (-2, 40, 42, 26), (-5, 46, 44, 28)),
)
"""Angles with the pads of thumb and index finger together."""
WRITING: tuple[Thumb, Fingers] = (
    (28.3, -17.6, 33.4, 1.2, 17.3, 2.3),
    ((-16.3, 60.5, 26.8, 9.8), (-18.4, 70.7, 45.1, 25.2), (-14, 64, 66, 42), (-14, 66, 66, 42)),
)
"""Angles with the pads of thumb and index finger and the side of the middle finger around a 9 mm pen on the web: a
least squares fit on the skin of Knuckle's own hand, the three at 120 degrees about the pen."""
