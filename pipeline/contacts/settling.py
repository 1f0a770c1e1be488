"""Keep digits apart and hold contacts over a whole take, by the least motion.

The excess depth of a pair of capsules is spread over the time around it: the maximum within a window, smoothed over
that window, which is never less than the excess itself. Each frame then solves a pose problem in which the allowed
depth of each pair is its depth less that amount, so that digits begin to part shortly before they would be too deep,
and do not stop abruptly. The points of held contacts are objectives of the same problem. The changes of the angles are
smoothed over time, too, because several joints can part the same digits, and the problem is solved again from there. So
the last, unsmoothed change is small.
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
"""s before and after a pair is too deep, in which it parts and returns."""
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

    Joint limits have priority. Frames farther than 2 * ROUNDS windows from a frame that is too deep keep their angles
    exactly. So do all frames without a held or blended contact, unless digits are parted `everywhere`.

    Args:
        pose: F frames.
        times: (F,) s.
        flesh: flesh of the hand. free: the angles that may change, as in hand.jacobians. hold: the contacts to hold in
            these frames; None for none. everywhere: whether digits are kept apart in all frames, not just in those of
            the contacts. deep: (F, K) m, depths of the pairs in the pose, if known. motion: motion of the hand that
            holds the contacts, if known.
    """
    problem, start_angles, within = FleshProblem(pose.hand, flesh, free, hold), pose.angles, np.ones(len(pose))
    if hold is not None:
        motion = motion or (yield from part_of(0.0, 0.5, "", held_motion(pose, times, problem, hold)))
        start_angles, within = motion.angles, within if everywhere else motion.within
    known_depths = deep if hold is None else None
    work = _part(start_angles, window_frames(times, WINDOW_SECONDS), problem, within, known_depths)
    angles = yield from part_of(0.0 if hold is None else 0.5, 1.0, "", work)
    return Pose(pose.hand, pose.root, angles)


def _part(
    start_angles: Floats, radius: int, problem: FleshProblem, within: Floats, known_depths: Floats | None
) -> Steps[Floats]:
    """Return angles (F, D) rad with flesh parted where `within` (F,) is not 0, and contacts held.

    known_depths: (F, K) m, depths of the pairs before; None if not measured yet.
    """
    hand, angles, hold = problem.hand, start_angles, problem.hold
    is_held = np.zeros(len(angles), bool) if hold is None else hold.is_held(np.arange(len(angles)))
    for number in range(ROUNDS):
        if number:
            angles = start_angles + within[:, None] * smoothed(angles - start_angles, radius)
        deep = pair_depths(problem.flesh, hand, angles) if number or known_depths is None else known_depths
        required = within[:, None] * spread(problem.excess(deep), radius)
        rows, settled = np.flatnonzero(required.any(axis=1) | is_held), angles.copy()
        for start in range(0, len(rows), FRAMES_AT_ONCE):
            yield Progress((number + start / len(rows)) / ROUNDS, f"Settling the {hand.side} hand's digits")
            chunk = rows[start : start + FRAMES_AT_ONCE]
            patient = number == ROUNDS - 1
            settled[chunk] = problem.solve(angles[chunk], chunk, deep[chunk], required[chunk], patient=patient)
        angles = settled
    return angles
