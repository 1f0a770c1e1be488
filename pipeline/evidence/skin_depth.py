"""Depth of a hand's digits in each other and in the palm, by the flesh on its bones (hand/flesh.py)."""

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import Flesh, near_pairs, touches
from .evidence import PARTS

Floats = NDArray[np.float64]

FRAMES_AT_ONCE = 4096


def depths(flesh: Flesh, joints: Floats) -> Floats:
    """Return the depth (F, P) in mm of each part in the others, 0 where it touches none.

    joints: (F, J, 3) m, positions of the joints.
    """
    deepest = np.zeros((len(joints), len(PARTS)))
    parts = flesh.parts
    for start in range(0, len(joints), FRAMES_AT_ONCE):
        rows = slice(start, start + FRAMES_AT_ONCE)
        joint_positions = joints[rows].astype(np.float32)
        frame, pair = near_pairs(flesh, joint_positions)
        deep = touches(flesh, joint_positions, frame, pair).depths
        touch = deep > 0
        for side in parts:
            np.maximum.at(deepest[rows], (frame[touch], side[pair[touch]]), deep[touch])
    return 1000 * deepest
