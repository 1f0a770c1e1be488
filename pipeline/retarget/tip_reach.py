"""Fingertips to positions, on a hand that otherwise stays as near to a pose as it can."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import BASE, linkage
from ...hand.joints import CHAIN_JOINTS, DIGITS
from ...hand.kinematics import Pose
from ...solvers.pose_problem import Objective, PoseProblem, solve
from .character_hand import Character

Floats = NDArray[np.float64]

POSTURE = 0.01
"""m, what a joint's whole range away from the pose counts, on a hand of usual length. With less, joints swing from
limit to limit for a fraction of a millimetre where they hardly move the tip; CORRECTIONS put right what it costs."""
CORRECTIONS = 2
"""How often positions are shifted by what posture and the rig's own limits have left of the way to them,"""
MOST = 0.016
"""parts of the hand's length, at most by so much each time: what is out of reach stays out of reach."""
THERE = 1e-8
"""Part of the hand's length: a tip so near to its position is left alone."""
CHUNK = 1000
"""Frames solved at a time."""


def bring_tips(of: Character, angles: Floats, digits: Sequence[str], begun: Floats, positions: Floats) -> Floats:
    """(F, D) rad with the tips of some digits at positions (F, T, 3) m in the wrist's frame, as near to angles (F, D)
    as may be; begun (F, T, 3) m is where these have the tips. A tip that is there leaves its digit as it is."""
    result, away = angles.copy(), np.linalg.norm(positions - begun, axis=-1) > THERE * of.length
    for column, digit in enumerate(digits):
        frames = np.flatnonzero(away[:, column])
        for rows in np.array_split(frames, -(-len(frames) // CHUNK)) if len(frames) else ():
            result[rows] = _bring_tip(of, result[rows], digit, positions[rows, column])
    return result


def _bring_tip(of: Character, angles: Floats, digit: str, goals: Floats) -> Floats:
    tip = CHAIN_JOINTS[digit][-1]
    free = BASE + np.flatnonzero(linkage(of.hand).moves[of.hand.joints.index(tip)])
    start = now = Pose(of.hand, np.tile(np.eye(4), (len(angles), 1, 1)), angles)
    shifted, most = goals, MOST * of.length
    for _ in range(CORRECTIONS + 1):
        problem = PoseProblem.of(start, free, [Objective(of.hand.site_index(tip), shifted)], posture=POSTURE)
        now = solve(problem, now).pose
        left = goals - of.tips(now.angles)[:, DIGITS.index(digit)]
        length = np.linalg.norm(left, axis=-1, keepdims=True)
        shifted = shifted + left * np.minimum(1.0, most / np.maximum(length, 1e-12))
    return now.angles
