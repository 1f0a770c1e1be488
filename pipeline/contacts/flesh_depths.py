"""How deep a hand's capsules are in each other, over a whole take: each pair, and each digit and the palm."""

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import PALM, Flesh, near_pairs, touches
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel

Floats = NDArray[np.float64]

FRAMES_AT_ONCE = 500


def pair_depths(flesh: Flesh, hand: HandModel, angles: Floats) -> Floats:
    """Return how deep each pair is (F, K) m, negative where it is apart and -inf where it is far apart."""
    found = np.full((len(angles), flesh.pairs.shape[1]), -np.inf)
    for start in range(0, len(angles), FRAMES_AT_ONCE):
        rows = slice(start, start + FRAMES_AT_ONCE)
        joint_positions = joint_frames(hand, Pose.at_origin(hand, angles[rows]))[..., :3, 3].astype(np.float32)
        frame, pair = near_pairs(flesh, joint_positions)
        found[rows][frame, pair] = touches(flesh, joint_positions, frame, pair).depths
    return found


def part_depths(flesh: Flesh, deep: Floats) -> Floats:
    """Return how deep each part is in the others (F, P), in mm, 0 where it touches none; deep (F, K): see above."""
    deepest, parts = np.zeros((len(deep), PALM + 1)), flesh.parts
    for part in range(PALM + 1):
        columns = np.flatnonzero((parts == part).any(axis=0))
        if len(columns):
            deepest[:, part] = 1000 * np.maximum(deep[:, columns].max(axis=1), 0.0)
    return deepest
