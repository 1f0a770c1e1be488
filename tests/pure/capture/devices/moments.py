"""Moments of hands that are known, to be sent."""

import numpy as np

from knuckle.capture.network.sender import OutgoingFrame
from knuckle.hand import kinematics, poses, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import DIGITS, SIDES
from knuckle.hand.kinematics import Floats, Pose
from knuckle.hand.model import HandModel


def fist(hand: HandModel) -> Floats:
    """(D,) rad, to which moments close: bent more at the PIP than the DIP goes with, as a tendon has it."""
    angles = poses.angles(hand, "fist")
    for digit in DIGITS[1:]:
        angles[hand.dof(f"{digit}-phalanx-distal", "flexion")] = np.deg2rad(60.0)
    return angles


FOREARM = 0.25
"""m"""


def moments(count: int, rate: float = 60.0, sides=SIDES, arms: bool = False) -> list[OutgoingFrame]:
    """Hands that wander, turn and close from open to a fist, without markers; with arms, they bend on forearms."""
    hands = {side: proportions.build(proportions.adult(side)) for side in sides}
    result = []
    for number in range(count):
        share = number / max(count - 1, 1)
        frames, forearms = {}, {}
        for side, hand in hands.items():
            root = np.eye(4)
            root[:3, :3] = rot.to_matrix(rot.from_axis_angle(np.array([0.36, 0.48, 0.8]), 0.3 + share))
            root[:3, 3] = [0.3 if side == "left" else -0.3, -0.4 + 0.1 * share, 1.1]
            angles = (1 - share) * poses.angles(hand, "open") + share * fist(hand)
            frames[side] = kinematics.joint_frames(hand, Pose(hand, root[None], angles[None]))[0]
            if arms:
                forearms[side] = root.copy()
                bend = rot.from_axis_angle(np.array([0.96, 0.0, 0.28]), 0.8 * share - 0.2)
                forearms[side][:3, :3] = root[:3, :3] @ rot.to_matrix(bend)
                forearms[side][:3, 3] -= FOREARM * forearms[side][:3, 1]
        result.append(OutgoingFrame(number, number / rate, (), np.zeros((0, 3)), frames, forearms))
    return result
