"""Inverse kinematics of a single digit for fingertip positions, starting from its current angles."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS
from ...hand.kinematics import Pose, joint_position
from ...hand.model import HandModel
from ...solvers.planar.planar_hand import PlanarDigit, digits
from ...solvers.pose_problem import Objective, PoseProblem, Preferences, angles_of, retry_strayed, solve
from .touching import Shell, Touch, touch

Floats = NDArray[np.float64]

TIP_POSTURE_WEIGHT = 1e-5
"""m, weight of the posture term (for a joint's whole range) when only the tip matters."""
EXTENSION_STEPS = 10
EXTENSION_DISTANCE = 20.0
"""Distance of the point at which a digit points to extend the hand, in hand lengths."""
TIP_TOLERANCE_M = 1e-5
"""m, maximum distance of a tip that has reached its goal."""


@lru_cache(maxsize=8)
def digit_of_hand(hand: HandModel, name: str) -> PlanarDigit:
    """Return a digit of a hand. Raises HandError for a hand that is not five flexing digits on a rigid palm."""
    return next(digit for digit in digits(hand) if digit.name == name)


def shell_of(hand: HandModel, digit: PlanarDigit) -> Shell:
    """Return the distances between a digit's first and last joint, from its lengths and its middle joint's range."""
    first, second = (float(length) for length in digit.lengths[:2])
    low, high = (float(angle) for angle in hand.limits[digit.flexions[1]])
    straightest, sharpest = min(max(0.0, low), high), max(abs(low), abs(high))
    far, near = (
        math.sqrt(max(first * first + second * second + 2 * first * second * math.cos(bend), 0.0))
        for bend in (straightest, sharpest)
    )
    return Shell(min(near, far), far)


def touch_digit(hand: HandModel, name: str, angles: Floats, goals: Floats) -> Touch:
    """Return which goals (F, 3) m in the wrist's frame a digit at angles (D,) rad can touch.

    Its bone lengths decide, not its limits; its last bone is the last phalanx. Raises HandError as digit_of_hand does.
    """
    digit = digit_of_hand(hand, name)
    last = joint_position(Pose.at_origin(hand, angles[None]), hand.joints[digit.joints[2]])
    desired = np.broadcast_to(last, goals.shape)
    return touch(shell_of(hand, digit), float(digit.lengths[2]), digit.T_wrist_base[:3, 3], goals, desired)


def bring_tip(hand: HandModel, name: str, angles: Floats, goals: Floats) -> Floats:
    """Return angles (F, D) rad that bring a digit's tip as near as possible to goals (F, 3) m in the wrist's frame.

    The result is within limits and as near as possible to the current angles (D,), which are kept for goals that are
    not finite.
    """
    tip, free, known = hand.site_index(CHAIN_JOINTS[name][-1]), angles_of(hand, [name]), np.isfinite(goals).all(axis=-1)
    start = Pose(hand, np.tile(np.eye(4), (len(goals), 1, 1)), np.repeat(angles[None], len(goals), 0))
    objective = Objective(tip, goals, known.astype(float))
    problem = PoseProblem.of(start, free, [objective])
    near = retry_strayed(problem, solve(problem)).pose
    # From there, remove the error left by posture and tendon couplings.
    return solve(
        PoseProblem.of(near, free, [objective], coupled=False, preferences=Preferences(TIP_POSTURE_WEIGHT))
    ).pose.angles


def extend_digit(hand: HandModel, name: str, angles: Floats, lengths: Floats) -> Floats:
    """Return angles (F, D) rad at which a digit's tip is `lengths` (F,) m from the wrist, as far as its limits allow.

    Starts from angles (D,), which are also returned for shorter lengths. The hand is longest if the tip, the first
    joint and the wrist are in line; this is found by repeatedly pointing at a distant goal in the tip's present
    direction, which about halves the deviation each time. For lengths in between, the tip's direction and length are
    interpolated together.
    """
    joint = CHAIN_JOINTS[name][-1]
    tip = joint_position(Pose.at_origin(hand, angles[None]), joint)
    length = float(np.linalg.norm(tip))
    longest = tip
    for _ in range(EXTENSION_STEPS):
        longest = joint_position(
            Pose.at_origin(hand, bring_tip(hand, name, angles, EXTENSION_DISTANCE * longest)), joint
        )
    max_length = float(np.linalg.norm(longest))
    if not max_length > length > 0:
        return np.repeat(angles[None], len(lengths), 0)
    wanted_lengths = np.clip(lengths, length, max_length)[:, None]
    fractions = (wanted_lengths - length) / (max_length - length)
    directions = (1 - fractions) * tip / length + fractions * longest / max_length
    return bring_tip(
        hand, name, angles, wanted_lengths * directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    )
