"""How a hand comes to the contacts that it holds, and leaves them.

The frames of contacts are posed so that the points of skin meet, first each on its own, then from what that moved,
smoothed over time. Where a contact begins or ends, what was moved would change from one frame to the next: that leap
is spread over the frames before, or after, as many as its joints need at MAX_TURN a frame.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...capture.cleaning import runs
from ...hand.generators import Progress, Steps
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.smoothstep import smoothstep
from .flesh_depths import FRAMES_AT_ONCE, pair_depths
from .flesh_problem import FleshProblem, Held
from .windows import smoothed, window_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_TURN = np.deg2rad(3.5)
"""rad a frame, by which a joint may turn more where a hand comes to a contact or leaves it: 5 degrees are promised."""
STEEPEST = 1.5
"""Slope of a smooth step in its middle, over that of an even one."""
SMOOTHING_SECONDS = 0.1
"""s before and after a frame, by which what is moved in contacts is smoothed."""
ROUNDS = 3
"""How often the frames of contacts are posed; the last is not smoothed."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldMotion:
    """The angles of a hand that comes to contacts, holds them, and leaves them."""

    angles: Floats
    """(F, D) rad"""
    within: Floats
    """(F,) 0..1: 1 in the frames of contacts, fading over those before and after; elsewhere 0, and nothing moves."""


def held_motion(pose: Pose, times: Floats, problem: FleshProblem, held: Held) -> Steps[HeldMotion]:
    """Return how a hand of F frames holds contacts; times (F,) s."""
    radius = window_frames(times, SMOOTHING_SECONDS)
    counts = held.counts(np.arange(len(pose)))
    rows, moved = np.flatnonzero(counts), np.zeros(pose.angles.shape)
    low, high = pose.hand.limits.T
    for number in range(ROUNDS):
        start_angles = pose.angles + moved
        for start in range(0, len(rows), FRAMES_AT_ONCE):
            doing = f"Holding the {pose.hand.side} hand's contacts"
            yield Progress((number + start / len(rows)) / ROUNDS, doing)
            chunk = rows[start : start + FRAMES_AT_ONCE]
            deep = pair_depths(problem.flesh, pose.hand, start_angles[chunk])
            needed, patient = problem.excess(deep), number == ROUNDS - 1
            moved[chunk] = problem.solve(start_angles[chunk], chunk, deep, needed, patient=patient) - pose.angles[chunk]
        if number < ROUNDS - 1:
            for first, stop in zip(*runs(counts[:, None])[1:], strict=True):
                moved[first:stop] = smoothed(moved[first:stop], radius)
                moved[first:stop] = np.clip(pose.angles[first:stop] + moved[first:stop], low, high)
                moved[first:stop] -= pose.angles[first:stop]
    spread, within = _spread_leaps(pose.hand, moved, held)
    within = np.where(counts, 1.0, within)
    angles = np.where(within[:, None] > 0.0, np.clip(pose.angles + moved + spread, low, high), pose.angles)
    return HeldMotion(angles, within)


def _spread_leaps(hand: HandModel, moved: Floats, held: Held) -> tuple[Floats, Floats]:
    """Return what spreads the leaps of what was moved (F, D) rad over time, and how much each frame has of it (F,).

    A leap between two frames is spread over those before it where a contact begins, and after it where one ends.
    """
    spread, within, count = np.zeros(moved.shape), np.zeros(len(moved)), len(moved)
    starts, ends = held.starts(), held.ends()
    for row in sorted(starts.keys() | ends.keys()):
        if not 0 < row < count:
            continue
        leap, share = moved[row] - moved[row - 1], 0.5 if row in starts and row in ends else 1.0
        if row in starts:
            length = max(starts[row], blend_frames(hand, leap))
            rows = np.arange(max(row - length, 0), row)
            weights = smoothstep(1.0 - (row - rows) / (length + 1))
            spread[rows] += share * weights[:, None] * leap
            within[rows] = np.maximum(within[rows], weights)
        if row in ends:
            length = max(ends[row], blend_frames(hand, leap))
            rows = np.arange(row, min(row + length, count))
            weights = smoothstep(1.0 - (rows - row + 1) / (length + 1))
            spread[rows] -= share * weights[:, None] * leap
            within[rows] = np.maximum(within[rows], weights)
    return spread, within


def blend_frames(hand: HandModel, leap: Floats) -> int:
    """Return over how many frames a leap of angles (D,) rad is spread so that no joint turns more than MAX_TURN."""
    angle = float(np.sqrt(np.bincount(hand.axis_joint, leap**2)).max())
    return int(np.ceil(STEEPEST * angle / MAX_TURN))
