"""Moments of hands that are known, to be sent."""

import numpy as np

from knuckle.hand import kinematics, poses, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import SIDES
from knuckle.hand.kinematics import Pose
from knuckle.streams.sender import Outgoing


def moments(count: int, rate: float = 60.0, sides=SIDES) -> list[Outgoing]:
    """Hands that wander, turn and close from open to a fist; without markers."""
    hands = {side: proportions.build(proportions.adult(side)) for side in sides}
    result = []
    for number in range(count):
        share = number / max(count - 1, 1)
        frames = {}
        for side, hand in hands.items():
            root = np.eye(4)
            root[:3, :3] = rot.to_matrix(rot.about(np.array([0.36, 0.48, 0.8]), 0.3 + share))
            root[:3, 3] = [0.3 if side == "left" else -0.3, -0.4 + 0.1 * share, 1.1]
            angles = (1 - share) * poses.angles(hand, "open") + share * poses.angles(hand, "fist")
            frames[side] = kinematics.joint_frames(hand, Pose(hand, root[None], angles[None]))[0]
        result.append(Outgoing(number, number / rate, (), np.zeros((0, 3)), frames))
    return result
