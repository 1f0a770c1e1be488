"""Hands and targets that the solvers' laws are tried on."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from knuckle.hand import kinematics, rotations
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, TIPS
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import Targets

HANDS = {side: build(adult(side)) for side in ("left", "right")}
EIGHT = ("wrist", KNUCKLES[0], KNUCKLES[3], *TIPS)
"""FABRIK-CGA's eight markers: p, q, r and the fingertips."""
FULL = ("wrist", *(joint for digit in DIGITS for joint in CHAIN_JOINTS[digit]))

_MIDDLE_AND_LAST = [joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][1:3]]

sides = st.sampled_from(["left", "right"])


def natural(hand, fractions):
    """Angles (F, D) inside the limits: fractions (F, D) of the ranges, last joints coupled, no twist, no side bend.

    Middle and last joints bend forwards: markers on joints leave a zigzag of a few degrees open, and of the two
    ways to bend the forward one is taken.
    """
    low, high = hand.limits.T
    angles = low + (high - low) * fractions
    for index, movement in enumerate(hand.movements):
        joint = hand.joints[hand.axis_joint[index]]
        if movement == "twist" or (movement == "abduction" and joint == CHAIN_JOINTS["thumb"][1]):
            angles[:, index] = 0.0
        if movement == "flexion" and joint in _MIDDLE_AND_LAST:
            angles[:, index] = np.maximum(angles[:, index], 0.0)
    for row in hand.couplings:
        middle, last = np.flatnonzero(row.coefficients)
        angles[:, last] = np.clip(-row.coefficients[middle] * angles[:, middle], low[last], high[last])
    return angles


@st.composite
def poses(draw: st.DrawFn, hand: HandModel, frames: int = 4) -> Pose:
    """Natural poses anywhere in the world."""
    fractions = draw(hnp.arrays(float, (frames, hand.dofs), elements=st.floats(0.02, 0.98)))
    turns = draw(
        hnp.arrays(float, (frames, 4), elements=st.floats(-1, 1)).filter(lambda q: (abs(q).max(1) > 0.1).all())
    )
    places = draw(hnp.arrays(float, (frames, 3), elements=st.floats(-2, 2)))
    root = np.tile(np.eye(4), (frames, 1, 1))
    root[:, :3, :3] = rotations.to_matrix(turns / np.linalg.norm(turns, axis=1, keepdims=True))
    root[:, :3, 3] = places
    return Pose(hand, root, natural(hand, fractions))


def targets_at(hand: HandModel, pose: Pose, names: tuple[str, ...]) -> Targets:
    """Where the named sites are in a pose, as targets at 100 Hz."""
    sites = np.array([hand.site_index(name) for name in names])
    positions = kinematics.site_positions(hand, kinematics.joint_frames(hand, pose))[:, sites]
    return Targets(np.arange(len(pose)) / 100, sites, positions, np.ones(positions.shape[:2]))
