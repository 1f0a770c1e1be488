"""Map the performer's digits to those of a rig, which may have fewer."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, digit_of
from ...hand.model import HandModel

Floats = NDArray[np.float64]

FINGERS = DIGITS[1:]
MITTEN_FINGER = "middle-finger"
"""The name that detection gives to a rig's only finger without a name of its own. It represents all four fingers."""


def digit_weights(digits: Collection[str]) -> Floats:
    """Return weights (5, 5) of the performer's digits (columns) in each digit of the rig (rows). Rows sum to 1.

    Every digit follows the performer's digit of the same name. The only finger of a mitten follows the mean of all
    fingers.
    """
    table = np.eye(len(DIGITS))
    if is_mitten(digits):
        table[DIGITS.index(MITTEN_FINGER)] = [0.0, *[1.0 / len(FINGERS)] * len(FINGERS)]
    return table


def is_mitten(digits: Collection[str]) -> bool:
    """Return whether the only finger of these digits represents all fingers. A finger with another name does not."""
    return [finger for finger in FINGERS if finger in digits] == [MITTEN_FINGER]


def mix_angles(hand: HandModel, table: Floats, angles: Floats) -> Floats:
    """Mix angles (F, D) of corresponding joints of the fingers with weights (5, 5) of digits.

    A movement that not all fingers have is not mixed.
    """
    mixing = np.eye(hand.dofs)
    for dof, movement in enumerate(hand.movements):
        joint = hand.joints[hand.axis_joint[dof]]
        digit = digit_of(joint)
        if digit not in FINGERS:
            continue
        position = CHAIN_JOINTS[digit].index(joint)
        dofs = [hand.dof(CHAIN_JOINTS[finger][position], movement) for finger in FINGERS]
        if None not in dofs:
            mixing[dof] = 0.0
            mixing[dof, [finger_dof for finger_dof in dofs if finger_dof is not None]] = table[DIGITS.index(digit), 1:]
    mixed: Floats = angles if np.array_equal(mixing, np.eye(hand.dofs)) else angles @ mixing.T
    return mixed
