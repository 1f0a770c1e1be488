"""A cost that makes dragged fingers curl as human fingers do: all joints together, in the finger's plane.

A point under the mouse, at any depth, does not determine all angles of its finger. Of the poses with the point there,
the most natural one is taken: the middle joint bends with the knuckle, which neither extends nor abducts. A thumb can
point anywhere, so it keeps the depth at which its drag began.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, digit_of
from ...hand.model import HandModel, Movement
from ...solvers.pose_problem import Preferences, SoftLimit

Floats = NDArray[np.float64]

PIP_PER_MCP = 1.5
"""Flexion of a finger's middle joint for each radian of knuckle flexion; the last joint follows by the hand's coupling.
First principal direction of the flexions in 11 takes of three performers of Han et al. (2018) and in the bundled Leap
recording, joined."""
SYNERGY_COST = 0.0006
"""m/rad, cost of deviating from PIP_PER_MCP, as a distance from the goal on a hand of the usual length."""
ABDUCTION_COST = 0.002
"""m/rad, cost of abducting the knuckle."""
POSTURE_COST = 0.0002
"""m, cost of changing a joint by its whole range. All these costs yield to the coupling of the last joint."""
KNUCKLE_LIMITS: Mapping[Movement, tuple[float, float, float]] = {
    "flexion": (-np.deg2rad(1.5), np.inf, 0.01),
    "abduction": (-np.deg2rad(4.0), np.deg2rad(4.0), 0.03),
    "twist": (0.0, 0.0, 0.01),
}
"""Movement of a knuckle -> minimum and maximum change without extra cost, rad, and the cost of a radian beyond, m."""


def curls(joint: str) -> bool:
    """Return whether dragging a joint curls a finger: it is a joint of a finger and not the thumb."""
    return digit_of(joint) not in (None, "thumb")


def curl_preferences(hand: HandModel, joint: str) -> Preferences:
    """Return the preferences of a problem that moves a point of a finger."""
    chain = CHAIN_JOINTS[str(digit_of(joint))]
    rows = [_row(hand, [(chain[0], "abduction", ABDUCTION_COST)])]
    if joint in chain[2:]:  # dragging a middle joint leaves the joints after it unchanged
        rows.append(
            _row(hand, [(chain[0], "flexion", -SYNERGY_COST), (chain[1], "flexion", SYNERGY_COST / PIP_PER_MCP)])
        )
    limits = {hand.dof(chain[0], movement): limit for movement, limit in KNUCKLE_LIMITS.items()}
    soft = tuple(SoftLimit(angle, *limit) for angle, limit in limits.items() if angle is not None)
    return Preferences(POSTURE_COST, tuple(rows), soft)


def _row(hand: HandModel, terms: Sequence[tuple[str, Movement, float]]) -> Floats:
    """Return a row (D,) of a soft coupling, m/rad; zero where the hand lacks one of the angles."""
    row = np.zeros(hand.dofs)
    for joint, movement, cost in terms:
        angle = hand.dof(joint, movement)
        if angle is None:
            return np.zeros(hand.dofs)
        row[angle] = cost
    return row
