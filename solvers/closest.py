"""The closest pose where a digit's limits keep it from its target: each joint in turn turns as near as it may.

FABRIK ends where its passes no longer help, which within limits is not always the nearest pose. From there every
degree of freedom, outermost first, is set to the angle that brings the end nearest to its goal, or to its limit
(cyclic coordinate descent, Wang & Chen 1991, FABRIK-CGA's reference 15). No step leads away from the goal.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..hand.rotations import about, multiply, rotate

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """One degree of freedom of a digit, in the frame that it turns in."""

    bone: int
    """The bone that begins at its joint: 0, 1 or 2."""
    axis: Floats
    """(3,)"""
    limits: Floats
    """(2,) rad"""


def approach(turns: tuple[Turn, ...], angles: Floats, ends: Floats, goal: Floats, sweeps: int) -> Floats:
    """(N, K) angles as near to the goal (N, 3) m as stepwise turning gets from angles (N, K).

    ends (3, 3) m: the way along each bone to the next joint, in the last of them to what must reach the goal; bones
    beyond it have no length. Everything is in the digit's base frame.
    """
    angles = angles.copy()
    for _ in range(sweeps):
        for k in reversed(range(len(turns))):
            before, joint, end = _chain(turns, angles, ends, k)
            axis = rotate(before, np.broadcast_to(turns[k].axis, goal.shape))
            arm, wish = end - joint, goal - joint
            across = (axis * np.cross(arm, wish)).sum(-1)
            level = (arm * wish).sum(-1) - (axis * arm).sum(-1) * (axis * wish).sum(-1)
            # On the axis itself nothing is gained by turning.
            turn = np.where(np.hypot(across, level) > 1e-12, np.arctan2(across, level), 0.0)
            angles[:, k] = np.clip(angles[:, k] + turn, *turns[k].limits)
    return angles


def where(turns: tuple[Turn, ...], angles: Floats, ends: Floats) -> Floats:
    """(N, 3) m, the end at these angles."""
    return _chain(turns, angles, ends, 0)[2]


def _chain(turns: tuple[Turn, ...], angles: Floats, ends: Floats, stop: int) -> tuple[Floats, Floats, Floats]:
    """How the frame of turn `stop` stands before it turns (N, 4), where its joint is and where the end is (N, 3)."""
    now = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(angles), 4))
    at = np.zeros((len(angles), 3))
    before, joint, bone = now, at, 0
    for k, turn in enumerate(turns):
        for passed in range(bone, turn.bone):
            at = at + rotate(now, np.broadcast_to(ends[passed], at.shape))
        bone = turn.bone
        if k == stop:
            before, joint = now, at
        now = multiply(now, about(turn.axis, angles[:, k]))
    for passed in range(bone, 3):
        at = at + rotate(now, np.broadcast_to(ends[passed], at.shape))
    return before, joint, at
