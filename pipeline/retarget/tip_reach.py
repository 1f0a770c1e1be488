"""Move fingertips to positions while the hand stays as close to its pose as possible."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS, hand_topology
from ...hand.joints import CHAIN_JOINTS, DIGITS
from ...hand.kinematics import Pose
from ...solvers.pose_problem import Objective, PoseProblem, Preferences, solve
from .character_hand import Character

Floats = NDArray[np.float64]

POSTURE_WEIGHT = 0.01
"""m, cost of a joint's deviation by its whole range, on a hand of average length. With less, joints that hardly move
the tip swing from limit to limit for a fraction of a millimetre. Goals are shifted to compensate for it, see
CORRECTIONS."""
CORRECTIONS = 2
"""Number of times that goals are shifted by the error that posture and the rig's own limits leave."""
MAX_SHIFT = 0.016
"""Maximum shift of a goal in each correction, relative to the length of the hand."""
TIP_TOLERANCE = 1e-8
"""Relative to the length of the hand: a tip within this distance of its goal is not moved."""
FRAMES_PER_CHUNK = 1000
"""Frames solved at a time."""


def move_tips(character: Character, angles: Floats, digits: Sequence[str], initial: Floats, goals: Floats) -> Floats:
    """Move the tips of T digits to goals (F, T, 3) in m in the wrist's frame, staying close to angles (F, D).

    initial (F, T, 3): the tips' positions at these angles. A digit whose tip is already at its goal does not move.
    Returns angles (F, D) in rad.
    """
    result = angles.copy()
    distant = np.linalg.norm(goals - initial, axis=-1) > TIP_TOLERANCE * character.length
    for column, digit in enumerate(digits):
        frames = np.flatnonzero(distant[:, column])
        for chunk in np.array_split(frames, -(-len(frames) // FRAMES_PER_CHUNK)) if len(frames) else ():
            result[chunk] = _move_tip(character, result[chunk], digit, goals[chunk, column])
    return result


def _move_tip(character: Character, angles: Floats, digit: str, goals: Floats) -> Floats:
    """Move the tip of a digit to goals (F, 3) in m, correcting for the effects of posture and the rig's limits."""
    hand, tip = character.hand, CHAIN_JOINTS[digit][-1]
    free = ROOT_DOFS + np.flatnonzero(hand_topology(hand).affected_by[hand.joints.index(tip)])
    start = pose = Pose(hand, np.tile(np.eye(4), (len(angles), 1, 1)), angles)
    shifted, max_shift = goals, MAX_SHIFT * character.length
    for _ in range(CORRECTIONS + 1):
        problem = PoseProblem.of(
            start, free, [Objective(hand.site_index(tip), shifted)], preferences=Preferences(POSTURE_WEIGHT)
        )
        pose = solve(problem, pose).pose
        error = goals - character.tips(pose.angles)[:, DIGITS.index(digit)]
        length = np.linalg.norm(error, axis=-1, keepdims=True)
        shifted = shifted + error * np.minimum(1.0, max_shift / np.maximum(length, 1e-12))
    return pose.angles
