"""The law of the blends of a contact that a correction holds: what happens amid its range does not shorten them."""

import numpy as np

from knuckle.hand import poses, proportions
from knuckle.hand.flesh import Flesh
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.contacts.hold_touch import blends_needed, chosen_touch
from knuckle.solvers.pose_problem import angles_of

FRAMES, RATE = 60, 100.0
AWAY = (-11, -12, -3, 0, 3, 25, 15, 6, 24, -14, -17)
"""Degrees by which the joints of thumb and index finger are not where they pinch."""
JUMP = (8, 24, 17, -16, -12, 22, -30, 19, 18, -2, -12)
"""Degrees by which they turn between the two middle frames."""


def test_a_hand_that_jumps_amid_a_contact_leaves_it_as_slowly_as_from_its_second_half() -> None:
    hand = proportions.build(proportions.adult("right"))
    free = angles_of(hand, ("thumb", "index-finger"))
    angles = np.tile(poses.angles(hand, "ok"), (FRAMES, 1))
    angles[:, free - 6] += np.deg2rad(AWAY)
    angles[FRAMES // 2 :, free - 6] += np.deg2rad(JUMP)
    pose, times = Pose.at_origin(hand, np.clip(angles, *hand.limits.T)), np.arange(FRAMES) / RATE
    touch = chosen_touch(pose, Flesh.of(hand), "thumb", "index-finger")

    def after(rows: slice) -> float:
        part = Pose.at_origin(hand, pose.angles[rows])
        return blends_needed(part, times[rows], Flesh.of(hand), free, touch)[1]

    of_second_half = after(slice(FRAMES // 2, FRAMES))
    assert of_second_half > 0.19, "the hand comes from so far that the blend is longer than the least"
    assert abs(after(slice(0, FRAMES)) - of_second_half) < 1.5 / RATE
