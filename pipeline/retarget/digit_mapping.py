"""Which of the performer's digits each digit of a rig follows, where it has fewer."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, digit_of
from ...hand.model import HandModel

Floats = NDArray[np.float64]

FINGERS = DIGITS[1:]
OF_MITTEN = "middle-finger"
"""What the only finger of a rig is called where its names say no other: it stands for all four."""


def shares(digits: Collection[str]) -> Floats:
    """(5, 5) how much each of the performer's digits (columns) counts in each of a rig's (rows); rows sum to 1.

    Every digit follows the performer's of its name, and what the rig lacks is left out; the only finger of a mitten,
    which stands for all, follows the mean of all.
    """
    table = np.eye(len(DIGITS))
    if is_mitten(digits):
        table[DIGITS.index(OF_MITTEN)] = [0.0, *[1.0 / len(FINGERS)] * len(FINGERS)]
    return table


def is_mitten(digits: Collection[str]) -> bool:
    """Whether the only finger of these digits stands for all; one that is named as another follows its own."""
    return [finger for finger in FINGERS if finger in digits] == [OF_MITTEN]


def shared_angles(hand: HandModel, table: Floats, angles: Floats) -> Floats:
    """(F, D) rad, angles (F, D) mixed by shares (5, 5): a joint does what those in its place on other digits do.

    A movement that another digit does not have stays its own.
    """
    mixing = np.eye(hand.dofs)
    for dof, movement in enumerate(hand.movements):
        joint = hand.joints[hand.axis_joint[dof]]
        digit = digit_of(joint)
        if digit not in FINGERS:
            continue
        place = CHAIN_JOINTS[digit].index(joint)
        others = [hand.dof(CHAIN_JOINTS[other][place], movement) for other in FINGERS]
        if None not in others:
            mixing[dof] = 0.0
            mixing[dof, [other for other in others if other is not None]] = table[DIGITS.index(digit), 1:]
    mixed: Floats = angles if np.array_equal(mixing, np.eye(hand.dofs)) else angles @ mixing.T
    return mixed
