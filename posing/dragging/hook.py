"""How a person's finger follows a fingertip that is pushed back along it: it curls, and does not hook.

Seen from the side, the tip of a straight finger moves straight back only if the knuckle extends or leans while the
middle joint bends. No person does that, so the knuckle flexes with the middle joint instead, and the tip moves along
its arc, as near to its knuckle as the mouse is. If it reaches the mouse at another depth that way, it stops there.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, digit_of
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...solvers.pose_problem import PoseProblem

Floats = NDArray[np.float64]
_Angles = tuple[int, int, int, int | None]
"""The flexions of a finger's knuckle, middle and last joint, and the abduction of its knuckle if it has one."""

MAX_PIP_PER_MCP = 2.5
"""Flexion of a middle joint for each radian of its knuckle's, above which a finger hooks."""
FREE_PIP = np.deg2rad(10.0)
"""rad that the middle joint of a straight finger may flex without its knuckle,"""
CLAW = 3.0
"""and more of that for each radian that it was flexed before: a bent finger may be drawn into a claw."""
EXTENSION_PER_PIP = 4.0
"""rad that the knuckle may extend for each radian that the middle joint is below that."""
DIP_PER_PIP = 2 / 3
"""Flexion of a last joint for each radian of the middle one's."""
STRAIGHT_AFTER = np.deg2rad(10.0)
"""rad that the knuckle of a hooked finger lacks, from which on it does not lean, and its last joint hooks no more."""
MIN_LEAN, MAX_LEAN = np.deg2rad(4.0), np.deg2rad(10.0)
"""rad that a knuckle may always lean, and may lean at most, so that a curled finger reaches the mouse."""


def unhooked(problem: PoseProblem, pose: Pose) -> tuple[Pose, Floats] | None:
    """Return a pose of a dragged fingertip with its finger curled, and limits (2, k) rad of poses that hook no more.

    None if the finger does not hook, or if it is no fingertip.
    """
    hand, joint = pose.hand, pose.hand.sites[problem.objectives[0].site].name
    digit = digit_of(joint)
    own = _angles(hand, digit) if digit is not None and joint == CHAIN_JOINTS[digit][3] else None
    bent = None if own is None else _bent(problem.start, pose, own)
    return None if own is None or bent is None else (bent, _limits(problem, pose, bent, own))


def _angles(hand: HandModel, digit: str) -> _Angles | None:
    """The angles of a finger; None if it lacks a flexion."""
    chain = CHAIN_JOINTS[digit]
    knuckle, middle, last = (hand.dof(joint, "flexion") for joint in chain[:3])
    if knuckle is None or middle is None or last is None:
        return None
    return knuckle, middle, last, hand.dof(chain[0], "abduction")


def _bent(start: Pose, pose: Pose, own: _Angles) -> Pose | None:
    """The pose with the knuckle flexed as far as a person's is with such a middle joint; None if it already is."""
    knuckle, middle, last, lean = own
    before, angles = start.angles[0], pose.angles[0].copy()
    beyond = angles[middle] - before[middle] - FREE_PIP - CLAW * max(before[middle], 0.0)
    least = before[knuckle] + (beyond / MAX_PIP_PER_MCP if beyond > 0.0 else EXTENSION_PER_PIP * beyond)
    least = min(least, pose.hand.limits[knuckle, 1])
    lacks = least - angles[knuckle]
    if lacks <= 0.0:
        return None
    angles[knuckle], part = least, min(lacks / STRAIGHT_AFTER, 1.0)
    most = before[last] + DIP_PER_PIP * (angles[middle] - before[middle])
    angles[last] -= part * max(angles[last] - most, 0.0)
    if lean is not None:
        lean_change = np.clip(angles[lean] - before[lean], -MAX_LEAN, MAX_LEAN)
        angles[lean] = before[lean] + (1.0 - part) * lean_change
    return Pose(pose.hand, pose.root, angles[None])


def _limits(problem: PoseProblem, pose: Pose, bent: Pose, own: _Angles) -> Floats:
    """Limits (2, k) rad of the problem that let a pose hook no more than `bent`, and lean no more than `pose`."""
    low, high = problem.limits.copy()
    knuckle, middle, _, lean = own
    low[_column(problem, knuckle)] = bent.angles[0, knuckle]
    high[_column(problem, middle)] = bent.angles[0, middle]
    if lean is not None:
        around, lean_angle, at = problem.start.angles[0, lean], pose.angles[0, lean], _column(problem, lean)
        most = np.clip(abs(lean_angle - around), MIN_LEAN, MAX_LEAN)
        low[at], high[at] = max(low[at], around - most), min(high[at], around + most)
    return np.stack([low, high])


def _column(problem: PoseProblem, angle: int) -> int:
    """The free variable that an angle is."""
    return int(np.searchsorted(problem.free, ROOT_DOFS + angle))
