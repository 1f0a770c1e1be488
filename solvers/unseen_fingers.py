"""Fingers that have no marker in a whole take go with those beside them, as fingers do, in place of standing still.

Between two fingers that are seen, a finger's angles lie on the straight way from one to the other, by its place in the
hand. Beside the outermost that is seen, it goes most of the way from rest to what that one does. How near
that comes on recorded hands is in docs/explanation/labelling.md.
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
"""The thumb goes its own way: nothing is told of it by them, nor of them by it."""
BESIDE = 0.8
"""How far from rest a finger beside the outermost that is seen goes towards what that one does."""


def accompanied(pose: Pose, seen: Bools) -> tuple[Pose, tuple[str, ...]]:
    """The pose with the fingers that are never seen going with the others, and their names.

    seen (5,): which digits have a target in some frame, in the order of DIGITS. Angles stay within the hand's limits
    and, where these allow it, its couplings.
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
    """(F,) rad, what the fingers `known` tell of a degree of freedom of finger `number`."""
    hand = pose.hand
    part = CHAIN_JOINTS[FINGERS[number]].index(hand.joints[hand.axis_joint[dof]])

    def beside(other: int) -> Floats:
        """(F,) the same movement of another finger; at rest where that finger does not move so."""
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
    """The angles (F, D), the outermost joint of each row over the lost fingers moved to where the row holds."""
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
