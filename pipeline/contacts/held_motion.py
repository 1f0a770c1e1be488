"""The motion of a hand that approaches, holds and leaves contacts.

The frames of contacts are posed so that the points of skin meet, first each frame on its own, then from the changes of
the angles, smoothed over time. At the start and the end of a contact, the angles would jump from one frame to the next.
Each jump is spread over frames before or after it, so many that no joint rotates by more than MAX_ROTATION per frame.
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
from .flesh_problem import FleshProblem, Hold
from .windows import smoothed, window_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ROTATION = np.deg2rad(3.5)
"""rad per frame by which a joint may additionally rotate while a hand approaches or leaves a contact. The documentation
promises 5 degrees."""
MAX_SLOPE = 1.5
"""Maximum slope of a smooth step, relative to that of a linear one."""
SMOOTHING_SECONDS = 0.1
"""s before and after a frame over which the changes in contacts are smoothed."""
ROUNDS = 3
"""Number of times that the frames of contacts are posed; the changes are smoothed after all but the last."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldMotion:
    """The angles of a hand that approaches, holds and leaves contacts."""

    angles: Floats
    """(F, D) rad"""
    within: Floats
    """(F,) weights of the motion: 1 in the frames of contacts, fading before and after, 0 where nothing changes."""


def held_motion(pose: Pose, times: Floats, problem: FleshProblem, hold: Hold) -> Steps[HeldMotion]:
    """Return the motion of a hand that holds contacts over F frames at times (F,) s."""
    radius = window_frames(times, SMOOTHING_SECONDS)
    is_held = hold.is_held(np.arange(len(pose)))
    rows, changes = np.flatnonzero(is_held), np.zeros(pose.angles.shape)
    low, high = pose.hand.limits.T
    for number in range(ROUNDS):
        start_angles = pose.angles + changes
        for start in range(0, len(rows), FRAMES_AT_ONCE):
            description = f"Holding the {pose.hand.side} hand's contacts"
            yield Progress((number + start / len(rows)) / ROUNDS, description)
            chunk = rows[start : start + FRAMES_AT_ONCE]
            deep = pair_depths(problem.flesh, pose.hand, start_angles[chunk])
            required, patient = problem.excess(deep), number == ROUNDS - 1
            changes[chunk] = (
                problem.solve(start_angles[chunk], chunk, deep, required, patient=patient) - pose.angles[chunk]
            )
        if number < ROUNDS - 1:
            for first, stop in zip(*runs(is_held[:, None])[1:], strict=True):
                changes[first:stop] = smoothed(changes[first:stop], radius)
                changes[first:stop] = np.clip(pose.angles[first:stop] + changes[first:stop], low, high)
                changes[first:stop] -= pose.angles[first:stop]
    spread, within = _spread_jumps(pose.hand, changes, hold)
    within = np.where(is_held, 1.0, within)
    angles = np.where(within[:, None] > 0.0, np.clip(pose.angles + changes + spread, low, high), pose.angles)
    return HeldMotion(angles, within)


def _spread_jumps(hand: HandModel, changes: Floats, hold: Hold) -> tuple[Floats, Floats]:
    """Return the angles (F, D) rad that spread the jumps of `changes` (F, D) rad over time, and weights (F,).

    A jump is spread over the previous frames at the start of a contact, and over the following ones at its end.
    """
    spread, within, count = np.zeros(changes.shape), np.zeros(len(changes)), len(changes)
    approach_frames, release_frames = hold.approach_frames(), hold.release_frames()
    for row in sorted(approach_frames.keys() | release_frames.keys()):
        if not 0 < row < count:
            continue
        jump, fraction = (
            changes[row] - changes[row - 1],
            0.5 if row in approach_frames and row in release_frames else 1.0,
        )
        if row in approach_frames:
            length = max(approach_frames[row], blend_frames(hand, jump))
            rows = np.arange(max(row - length, 0), row)
            weights = smoothstep(1.0 - (row - rows) / (length + 1))
            spread[rows] += fraction * weights[:, None] * jump
            within[rows] = np.maximum(within[rows], weights)
        if row in release_frames:
            length = max(release_frames[row], blend_frames(hand, jump))
            rows = np.arange(row, min(row + length, count))
            weights = smoothstep(1.0 - (rows - row + 1) / (length + 1))
            spread[rows] -= fraction * weights[:, None] * jump
            within[rows] = np.maximum(within[rows], weights)
    return spread, within


def blend_frames(hand: HandModel, jump: Floats) -> int:
    """Return the number of frames over which to spread a jump of angles (D,) rad so that no joint exceeds
    MAX_ROTATION."""
    angle = float(np.sqrt(np.bincount(hand.axis_joint, jump**2)).max())
    return int(np.ceil(MAX_SLOPE * angle / MAX_ROTATION))
