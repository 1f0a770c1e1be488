"""Move fingertips to positions while the hand stays as close to its pose as possible."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS, hand_topology
from ...hand.joints import CHAIN_JOINTS, DIGITS
from ...hand.kinematics import Pose
from ...solvers.pose_problem import Objective, PoseProblem, solve
from .character_hand import Character

Floats = NDArray[np.float64]

POSTURE = 0.01
"""m, how much a deviation of a joint by its whole range counts on a hand of usual length. With less, joints that
hardly move the tip swing from limit to limit for a fraction of a millimetre. CORRECTIONS compensate for its effect."""
CORRECTIONS = 2
"""How often goals are shifted by the error that posture and the rig's own limits have left."""
MOST = 0.016
"""Largest shift each time, relative to the length of the hand: a goal out of reach stays out of reach."""
THERE = 1e-8
"""Relative to the length of the hand: a tip so close to its goal is not moved."""
CHUNK = 1000
"""Frames solved at a time."""


def bring_tips(of: Character, angles: Floats, digits: Sequence[str], begun: Floats, positions: Floats) -> Floats:
    """Move the tips of T digits to positions (F, T, 3) in m in the wrist's frame, staying close to angles (F, D).

    begun (F, T, 3): the tips' positions at these angles. A digit whose tip is already at its position is left alone.
    Returns angles (F, D) in rad.
    """
    result, away = angles.copy(), np.linalg.norm(positions - begun, axis=-1) > THERE * of.length
    for column, digit in enumerate(digits):
        frames = np.flatnonzero(away[:, column])
        for rows in np.array_split(frames, -(-len(frames) // CHUNK)) if len(frames) else ():
            result[rows] = _bring_tip(of, result[rows], digit, positions[rows, column])
    return result


def _bring_tip(of: Character, angles: Floats, digit: str, goals: Floats) -> Floats:
    tip = CHAIN_JOINTS[digit][-1]
    free = ROOT_DOFS + np.flatnonzero(hand_topology(of.hand).affected_by[of.hand.joints.index(tip)])
    start = now = Pose(of.hand, np.tile(np.eye(4), (len(angles), 1, 1)), angles)
    shifted, most = goals, MOST * of.length
    for _ in range(CORRECTIONS + 1):
        problem = PoseProblem.of(start, free, [Objective(of.hand.site_index(tip), shifted)], posture=POSTURE)
        now = solve(problem, now).pose
        left = goals - of.tips(now.angles)[:, DIGITS.index(digit)]
        length = np.linalg.norm(left, axis=-1, keepdims=True)
        shifted = shifted + left * np.minimum(1.0, most / np.maximum(length, 1e-12))
    return now.angles
