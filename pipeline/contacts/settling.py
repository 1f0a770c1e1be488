"""Flesh that settles over a whole take: digits kept apart, and contacts held, by the least motion.

What a pair of capsules is too deep by is spread over the time around it: the greatest within the window, smoothed by
it, which is never less than what is needed. Every frame then solves a pose problem in which each pair may be as deep as
it was less that amount, so that digits begin to part shortly before they would be too deep, and do not stop within a
frame. The points of held contacts are objectives of the same problem. What that moved is smoothed over time, too,
because several joints can part or join the same digits, and solved again from there. So what is moved at last is the
least that a smooth motion leaves to be done.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import Flesh
from ...hand.generators import Progress, Steps, part_of
from ...hand.kinematics import Pose
from .flesh_depths import FRAMES_AT_ONCE, pair_depths
from .flesh_problem import FleshProblem, Hold
from .held_motion import HeldMotion, held_motion
from .windows import smoothed, spread, window_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WINDOW_SECONDS = 0.1
"""s before and after a pair is too deep, over which it parts and comes back."""
ROUNDS = 3
"""Number of times that the smoothed motion is solved again; the last is not smoothed."""


def settle(
    pose: Pose,
    times: Floats,
    flesh: Flesh,
    free: Ints,
    hold: Hold | None = None,
    *,
    everywhere: bool = True,
    deep: Floats | None = None,
    motion: HeldMotion | None = None,
) -> Steps[Pose]:
    """Return the pose with digits and palm at most MAX_DEPTH deep in each other, and with contacts held.

    As far as the limits allow. Frames farther than ROUNDS windows, twice, from one that is deeper keep their angles to
    the bit, and unless digits are parted `everywhere` all frames in which no contact is held or blended.

    Args:
        pose: F frames.
        times: (F,) s.
        flesh: of its hand.
        free: the angles that may change, as in hand.jacobians.
        held: the contacts to hold, of the same frames; None for none.
        everywhere: whether digits are kept apart in all frames, not just in those of the contacts.
        deep: (F, K) m, how deep pairs are in the pose, if that is known.
        motion: how the hand holds the contacts, if that is known.
    """
    problem, before, within = FleshProblem(pose.hand, flesh, free, hold), pose.angles, np.ones(len(pose))
    if hold is not None:
        motion = motion or (yield from part_of(0.0, 0.5, "", held_motion(pose, times, problem, hold)))
        before, within = motion.angles, within if everywhere else motion.within
    known_depths = deep if hold is None else None
    work = _part(before, window_frames(times, WINDOW_SECONDS), problem, within, known_depths)
    angles = yield from part_of(0.0 if hold is None else 0.5, 1.0, "", work)
    return Pose(pose.hand, pose.root, angles)


def _part(
    before: Floats, radius: int, problem: FleshProblem, within: Floats, known_depths: Floats | None
) -> Steps[Floats]:
    """Return angles (F, D) rad with flesh parted where `within` (F,) is not 0, and contacts held.

    known: (F, K) m, how deep pairs are before; None if that was not measured yet.
    """
    hand, angles, hold = problem.hand, before, problem.hold
    is_held = np.zeros(len(angles), bool) if hold is None else hold.is_held(np.arange(len(angles)))
    for number in range(ROUNDS):
        if number:
            angles = before + within[:, None] * smoothed(angles - before, radius)
        deep = pair_depths(problem.flesh, hand, angles) if number or known_depths is None else known_depths
        needed = within[:, None] * spread(problem.excess(deep), radius)
        rows, settled = np.flatnonzero(needed.any(axis=1) | is_held), angles.copy()
        for start in range(0, len(rows), FRAMES_AT_ONCE):
            yield Progress((number + start / len(rows)) / ROUNDS, f"Settling the {hand.side} hand's digits")
            chunk = rows[start : start + FRAMES_AT_ONCE]
            patient = number == ROUNDS - 1
            settled[chunk] = problem.solve(angles[chunk], chunk, deep[chunk], needed[chunk], patient=patient)
        angles = settled
    return angles
