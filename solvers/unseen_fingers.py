"""Estimate fingers without markers in a whole take from their neighbours instead of leaving them still.

Between two visible fingers the angles are interpolated linearly. Beyond the outermost visible finger a finger follows
that one with reduced motion (BESIDE). docs/explanation/labelling.md gives the accuracy on recorded hands.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..hand.joints import CHAIN_JOINTS, DIGITS
from ..hand.kinematics import Pose
from ..hand.model import HandModel

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FINGERS = DIGITS[1:]
"""Without the thumb, which moves independently of the fingers."""
BESIDE = 0.8
"""Part of the outermost visible finger's motion from rest that a finger beyond it follows."""


def accompanied(pose: Pose, seen: Bools) -> tuple[Pose, tuple[str, ...]]:
    """Return the pose with estimated angles for the fingers that are never seen, and the names of these fingers.

    seen (5,): which digits have a target in any frame, in the order of DIGITS. Angles stay within the hand's limits
    and, where the limits allow it, its couplings.
    """
    hand = pose.hand
    known = [number for number in range(len(FINGERS)) if seen[number + 1]]
    lost = [number for number in range(len(FINGERS)) if not seen[number + 1]]
    if not known or not lost:
        return pose, ()
    angles = pose.angles.copy()
    low, high = hand.limits.T
    for number in lost:
        for dof in _dofs(hand, FINGERS[number]):
            angles[:, dof] = np.clip(_told(pose, number, known, dof), low[dof], high[dof])
    return replace(pose, angles=_coupled(hand, angles, lost)), tuple(FINGERS[number] for number in lost)


def _dofs(hand: HandModel, finger: str) -> list[int]:
    return [dof for dof in range(hand.dofs) if hand.joints[hand.axis_joint[dof]] in CHAIN_JOINTS[finger]]


def _told(pose: Pose, number: int, known: list[int], dof: int) -> Floats:
    """Estimate a degree of freedom of a finger from the fingers `known`: (F,) rad."""
    hand = pose.hand
    part = CHAIN_JOINTS[FINGERS[number]].index(hand.joints[hand.axis_joint[dof]])

    def beside(other: int) -> Floats:
        """Return the same angle of another finger (F,), the rest angle if that finger does not have it."""
        same = hand.dof(CHAIN_JOINTS[FINGERS[other]][part], hand.movements[dof])
        rest = np.full(len(pose.angles), hand.neutral[dof])
        return rest if same is None else pose.angles[:, same]

    before = max((other for other in known if other < number), default=None)
    after = min((other for other in known if other > number), default=None)
    if before is None or after is None:
        near = after if before is None else before
        assert near is not None
        rest = float(hand.neutral[dof])
        return rest + BESIDE * (beside(near) - rest)
    share = (number - before) / (after - before)
    return (1 - share) * beside(before) + share * beside(after)


def _coupled(hand: HandModel, angles: Floats, lost: list[int]) -> Floats:
    """Set the outermost joint of each coupling within the lost fingers so that the coupling holds, in angles (F, D)."""
    low, high = hand.limits.T
    own = {dof for number in lost for dof in _dofs(hand, FINGERS[number])}
    for row in hand.couplings:
        held = np.flatnonzero(row.coefficients)
        if set(held.tolist()) <= own:
            last = int(held[np.argmax(hand.axis_joint[held])])
            value = angles @ row.coefficients
            moved = angles[:, last] + (np.clip(value, row.lower, row.upper) - value) / row.coefficients[last]
            angles[:, last] = np.clip(moved, low[last], high[last])
    return angles
