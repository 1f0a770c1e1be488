"""The law of the blends of a contact that a correction holds: what happens amid its range does not shorten them."""

from dataclasses import replace

import numpy as np

from knuckle.hand import poses, proportions
from knuckle.hand.flesh import Flesh, touches
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import JOINT_INDEX
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.pipeline.contacts.hold_touch import HoldFailure, blends_needed, find_touch, hold_touch
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
    touch = find_touch(pose, Flesh.of(hand), "thumb", "index-finger")

    def after(rows: slice) -> float:
        part = Pose.at_origin(hand, pose.angles[rows])
        return blends_needed(part, times[rows], Flesh.of(hand), free, touch)[1]

    of_second_half = after(slice(FRAMES // 2, FRAMES))
    assert of_second_half > 0.19, "the hand comes from so far that the blend is longer than the least"
    assert abs(after(slice(0, FRAMES)) - of_second_half) < 1.5 / RATE


def test_a_contact_that_a_hand_lacks_a_digit_for_is_told_from_one_that_it_does_not_reach() -> None:
    hand = proportions.build(proportions.adult("right"))
    pose, times = Pose.at_origin(hand, np.tile(poses.angles(hand, "ok"), (9, 1))), np.arange(9) / RATE
    touch = find_touch(pose, Flesh.of(hand), "thumb", "index-finger")

    def unheld(pose: Pose, flesh: Flesh) -> HoldFailure:
        free, full = angles_of(hand, ("thumb", "index-finger")), np.ones(len(pose), bool)
        found = run_to_end(hold_touch(pose, times, flesh, free, touch, full=full, continues=(False, False)))
        assert isinstance(found, HoldFailure)
        return found

    assert unheld(pose, Flesh.of(hand, digits=("thumb", "middle-finger"))) == HoldFailure(lacking=("index-finger",))
    stiff = replace(hand, limits=np.clip(hand.limits, -1e-3, 1e-3))
    straight, flesh = Pose.at_origin(stiff, np.zeros((9, hand.dofs))), Flesh.of(hand)
    joints = joint_frames(stiff, straight)[:1, :, :3, 3]
    pairs = np.flatnonzero((np.sort(flesh.parts, axis=0) == [[0], [1]]).all(axis=0))
    nearest = -touches(flesh, joints, np.zeros(len(pairs), int), pairs).depths.max()
    tips = joints[0, [JOINT_INDEX["thumb-tip"], JOINT_INDEX["index-finger-tip"]]]
    apart = unheld(straight, flesh).apart
    assert 0.01 < nearest - 0.002 < apart < np.linalg.norm(tips[0] - tips[1]), "of a hand that hardly moves"
