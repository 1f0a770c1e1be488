"""Depths of a hand's capsules in each other over a whole take, for each pair, each digit and the palm."""

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import PALM, Flesh, near_pairs, touches
from ...hand.kinematics import Pose
from ...hand.model import HandModel

Floats = NDArray[np.float64]

FRAMES_AT_ONCE = 500


def pair_depths(flesh: Flesh, hand: HandModel, angles: Floats) -> Floats:
    """Return the depth (F, K) m of each pair of capsules; negative for a gap, -inf for capsules far apart."""
    return depths_at(flesh, Pose.at_origin(hand, angles).joints_in_wrist)


def depths_at(flesh: Flesh, joints: Floats) -> Floats:
    """Return the depths (F, K) m of pairs as pair_depths does, with joints at positions (F, J, 3) m."""
    depths = np.full((len(joints), flesh.pairs.shape[1]), -np.inf)
    for start in range(0, len(joints), FRAMES_AT_ONCE):
        rows = slice(start, start + FRAMES_AT_ONCE)
        joint_positions = joints[rows].astype(np.float32)
        frame, pair = near_pairs(flesh, joint_positions)
        depths[rows][frame, pair] = touches(flesh, joint_positions, frame, pair).depths
    return depths


def part_depths(flesh: Flesh, depths: Floats) -> Floats:
    """Return the depth (F, P) mm of each part in the others, 0 without contact. depths: (F, K) m, see pair_depths."""
    deepest, parts = np.zeros((len(depths), PALM + 1)), flesh.parts
    for part in range(PALM + 1):
        columns = np.flatnonzero((parts == part).any(axis=0))
        if len(columns):
            deepest[:, part] = 1000 * np.maximum(depths[:, columns].max(axis=1), 0.0)
    return deepest
