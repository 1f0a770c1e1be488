"""How deep each pair of a hand's capsules is in each other, over a whole take."""

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import Flesh, near_pairs, touches
from ...hand.jacobians import pose_joints
from ...hand.model import HandModel

Floats = NDArray[np.float64]

FRAMES_AT_ONCE = 500


def pair_depths(flesh: Flesh, hand: HandModel, angles: Floats) -> Floats:
    """Return how deep each pair is (F, K) m, negative where it is apart and -inf where it is far apart."""
    found = np.full((len(angles), flesh.pairs.shape[1]), -np.inf)
    for start in range(0, len(angles), FRAMES_AT_ONCE):
        rows = slice(start, start + FRAMES_AT_ONCE)
        wrist = np.broadcast_to(np.eye(4), (len(angles[rows]), 4, 4))
        places = pose_joints(hand, wrist, angles[rows]).positions
        frame, pair = near_pairs(flesh, places.astype(np.float32))
        found[rows][frame, pair] = touches(flesh, places, frame, pair).depths
    return found
