"""Estimate the motion of fingers without markers from their neighbours.

Between two visible fingers the angles are interpolated linearly. A finger beyond the outermost visible finger follows
its motion, reduced by FOLLOWED_MOTION. docs/explanation/labelling.md gives the accuracy on recorded hands.
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
"""The fingers; the thumb moves independently of them."""
FOLLOWED_MOTION = 0.8
"""Fraction of the outermost visible finger's motion from rest that a finger beyond it follows."""


def estimate_unseen_fingers(pose: Pose, seen: Bools) -> tuple[Pose, tuple[str, ...]]:
    """Return the pose with estimated angles for the fingers that are never seen, and the names of these fingers.

    seen (5,): which digits have a target in any frame, in the order of DIGITS. Angles stay within the hand's limits
    and, where the limits allow it, its couplings.
    """
    hand = pose.hand
    visible = [finger for finger in range(len(FINGERS)) if seen[finger + 1]]
    unseen = [finger for finger in range(len(FINGERS)) if not seen[finger + 1]]
    if not visible or not unseen:
        return pose, ()
    angles = pose.angles.copy()
    low, high = hand.limits.T
    for finger in unseen:
        for dof in _dofs(hand, FINGERS[finger]):
            angles[:, dof] = np.clip(_estimate(pose, finger, visible, dof), low[dof], high[dof])
    return replace(pose, angles=_coupled(hand, angles, unseen)), tuple(FINGERS[finger] for finger in unseen)


def _dofs(hand: HandModel, finger: str) -> list[int]:
    return [dof for dof in range(hand.dofs) if hand.joints[hand.axis_joint[dof]] in CHAIN_JOINTS[finger]]


def _estimate(pose: Pose, finger: int, visible: list[int], dof: int) -> Floats:
    """Estimate a degree of freedom of a finger from the fingers `visible`: (F,) rad."""
    hand = pose.hand
    joint = CHAIN_JOINTS[FINGERS[finger]].index(hand.joints[hand.axis_joint[dof]])

    def angle_of(visible_finger: int) -> Floats:
        """Return the corresponding angle (F,) of another finger, or the rest angle if that finger lacks it."""
        same = hand.dof(CHAIN_JOINTS[FINGERS[visible_finger]][joint], hand.movements[dof])
        neutral_angle = np.full(len(pose.angles), hand.neutral[dof])
        return neutral_angle if same is None else pose.angles[:, same]

    inner = max((neighbour for neighbour in visible if neighbour < finger), default=None)
    outer = min((neighbour for neighbour in visible if neighbour > finger), default=None)
    if inner is None or outer is None:
        nearest = outer if inner is None else inner
        assert nearest is not None
        neutral_angle = float(hand.neutral[dof])
        return neutral_angle + FOLLOWED_MOTION * (angle_of(nearest) - neutral_angle)
    fraction = (finger - inner) / (outer - inner)
    return (1 - fraction) * angle_of(inner) + fraction * angle_of(outer)


def _coupled(hand: HandModel, angles: Floats, unseen: list[int]) -> Floats:
    """Set the outermost joint of each coupling within the unseen fingers so that the coupling holds."""
    low, high = hand.limits.T
    unseen_dofs = {dof for finger in unseen for dof in _dofs(hand, FINGERS[finger])}
    for row in hand.couplings:
        dofs = np.flatnonzero(row.coefficients)
        if set(dofs.tolist()) <= unseen_dofs:
            last = int(dofs[np.argmax(hand.axis_joint[dofs])])
            value = angles @ row.coefficients
            corrected = angles[:, last] + (np.clip(value, row.lower, row.upper) - value) / row.coefficients[last]
            angles[:, last] = np.clip(corrected, low[last], high[last])
    return angles
