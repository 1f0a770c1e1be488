"""A digit that brings its tip to a place of its hand, from the angles in which it stands."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand.joints import CHAIN_JOINTS
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...solvers.planar.planar_hand import PlanarDigit, digits
from ...solvers.pose_problem import Objective, PoseProblem, angles_of, retried, solve
from .touching import Shell, Touch, touch

Floats = NDArray[np.float64]

LEAST_POSTURE = 1e-5
"""m, what a joint's whole range counts where the tip alone matters."""
POINTINGS = 10
FAR = 20.0
"""Hands away that a digit points at, to make its hand longer."""
NEAR = 1e-5
"""m at which a tip is there."""


@lru_cache(maxsize=8)
def digit_of_hand(hand: HandModel, name: str) -> PlanarDigit:
    """Raises HandError for a hand that is not five flexing digits on a rigid palm."""
    return next(digit for digit in digits(hand) if digit.name == name)


def tip_places(hand: HandModel, angles: Floats, joint: str) -> Floats:
    """(F, 3) m where a joint is in the wrist's frame at angles (F, D) rad."""
    frames = kinematics.joint_frames(hand, Pose(hand, np.broadcast_to(np.eye(4), (len(angles), 4, 4)), angles))
    places: Floats = frames[:, hand.joints.index(joint), :3, 3]
    return places


def shell_of(hand: HandModel, digit: PlanarDigit) -> Shell:
    """How far from a digit's first joint its last one comes, as its lengths and its middle joint's range have it."""
    one, two = (float(length) for length in digit.lengths[:2])
    low, high = (float(angle) for angle in hand.limits[digit.flexions[1]])
    straightest, sharpest = min(max(0.0, low), high), max(abs(low), abs(high))
    far, near = (
        math.sqrt(max(one * one + two * two + 2 * one * two * math.cos(bend), 0.0)) for bend in (straightest, sharpest)
    )
    return Shell(min(near, far), far)


def touch_digit(hand: HandModel, name: str, angles: Floats, goals: Floats) -> Touch:
    """The case of places (F, 3) m in the wrist's frame for a digit that stands at angles (D,) rad.

    Of its lengths alone: the last phalanx is the last bone, and its limits are not asked. Raises HandError.
    """
    digit = digit_of_hand(hand, name)
    last = tip_places(hand, angles[None], hand.joints[digit.joints[2]])
    wanted = np.broadcast_to(last, goals.shape)
    return touch(shell_of(hand, digit), float(digit.lengths[2]), digit.T_wrist_base[:3, 3], goals, wanted)


def bring_tip(hand: HandModel, name: str, angles: Floats, goals: Floats) -> Floats:
    """(F, D) rad at which a digit's tip is as near to goals (F, 3) m in the wrist's frame as its limits let it.

    Its joints stay as near to angles (D,) as they can. A goal that is not finite leaves them there.
    """
    tip, free, known = hand.site_index(CHAIN_JOINTS[name][-1]), angles_of(hand, [name]), np.isfinite(goals).all(axis=-1)
    start = Pose(hand, np.tile(np.eye(4), (len(goals), 1, 1)), np.repeat(angles[None], len(goals), 0))
    objective = Objective(tip, goals, known.astype(float))
    problem = PoseProblem.of(start, free, [objective])
    near = retried(problem, solve(problem)).pose
    # What posture and tendons have left of the way, from there.
    return solve(PoseProblem.of(near, free, [objective], coupled=False, posture=LEAST_POSTURE)).pose.angles


def lengthened(hand: HandModel, name: str, angles: Floats, lengths: Floats) -> Floats:
    """(F, D) rad at which a digit's tip is lengths (F,) m from the wrist, or as far as its limits let it.

    From angles (D,); shorter lengths than those leave them as they are. The hand is longest where its digit points on
    from wrist and first joint alike, which is found by pointing far out again and again: of the way by which the digit
    then lies aside about half is left each time. On the way there the tip's direction goes as far as its length.
    """
    joint = CHAIN_JOINTS[name][-1]
    home = tip_places(hand, angles[None], joint)
    length = float(np.linalg.norm(home))
    longest = home
    for _ in range(POINTINGS):
        longest = tip_places(hand, bring_tip(hand, name, angles, FAR * longest), joint)
    most = float(np.linalg.norm(longest))
    if not most > length > 0:
        return np.repeat(angles[None], len(lengths), 0)
    wanted = np.clip(lengths, length, most)[:, None]
    part = (wanted - length) / (most - length)
    way = (1 - part) * home / length + part * longest / most
    return bring_tip(hand, name, angles, wanted * way / np.linalg.norm(way, axis=-1, keepdims=True))
