"""A take that moves every joint through its range, as a performer is told to do it before a capture.

One digit after the other: a finger bends at the knuckle with its other joints straight, then at these as a hook, then
at all of them, and moves from side to side; the thumb bends, spreads, crosses the palm, and bends its last two joints,
together and the last one alone. Then all fingers together, and the thumb to each fingertip.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from skin_motions import eased, plausible, wandering

from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.model import HandModel, Movement
from knuckle.hand.proportions import adult, build

Floats = NDArray[np.float64]

MOVE_FRAMES = 20
"""Frames from one pose to the next."""
MCP, PIP, DIP = range(3)
Bend = Mapping[tuple[int, Movement], float]
"""Joint of a digit and movement -> the angle, in degrees."""

FINGER: tuple[Bend, ...] = (
    {(MCP, "flexion"): 85},
    {(PIP, "flexion"): 105, (DIP, "flexion"): 65},
    {(MCP, "flexion"): 85, (PIP, "flexion"): 105, (DIP, "flexion"): 65},
    {(MCP, "abduction"): 14},
    {(MCP, "abduction"): -24},
    {(MCP, "flexion"): -25},
)
THUMB: tuple[Bend, ...] = (
    {(MCP, "flexion"): 33},
    {(MCP, "flexion"): -18},
    {(MCP, "abduction"): 50},
    {(MCP, "abduction"): -50},
    {(MCP, "flexion"): 30, (MCP, "abduction"): 45, (MCP, "twist"): 15},
    {(MCP, "flexion"): 30, (MCP, "abduction"): -45, (MCP, "twist"): -15},
    {(PIP, "flexion"): 60},
    {(DIP, "flexion"): 65},
    {(DIP, "flexion"): -22},
    {(PIP, "flexion"): 60, (DIP, "flexion"): 65},
    {(MCP, "flexion"): 30, (PIP, "flexion"): 55, (DIP, "flexion"): 60},
)
TOGETHER = (FINGER[2], FINGER[1], FINGER[0], FINGER[5])


def exercise(seed: int = 50) -> tuple[Floats, Floats]:
    """Return angles (F, 26) rad and roots (F, 4, 4) m of such a take at 100 Hz."""
    hand = build(adult("right"))
    open_hand = _pose(hand, {})
    poses = [open_hand]
    for digit in DIGITS:
        for bend in THUMB if digit == "thumb" else FINGER:
            poses += [_pose(hand, {digit: bend}), open_hand]
    for bend in TOGETHER:
        poses += [_pose(hand, dict.fromkeys(DIGITS[1:], bend)), open_hand]
    poses += [_pose(hand, {"thumb": THUMB[-1], **dict.fromkeys(DIGITS[1:], FINGER[2])}), open_hand]
    angles = plausible(hand, eased(np.array(poses), MOVE_FRAMES), seed)
    return angles, wandering(seed, len(angles))


def _pose(hand: HandModel, digits: Mapping[str, Bend]) -> Floats:
    """Return the angles (26,) rad of a hand that is flat but for some digits."""
    angles = np.zeros(hand.dofs)
    for digit, bend in digits.items():
        for (joint, movement), degrees in bend.items():
            angles[hand.dof(CHAIN_JOINTS[digit][joint], movement)] = np.deg2rad(degrees)
    return angles
