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
from ...hand.generators import Progress, Steps
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose, joint_frames
from ...solvers.pose_problem import (
    REFERENCE_LENGTH,
    Objective,
    PoseProblem,
    Separation,
    middle_finger_length,
    solve,
)
from .flesh_depths import pair_depths
from .held_contacts import HeldContacts
from .windows import smoothed, spread, window_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DEPTH = 0.8e-3
"""m of a hand of the usual length, how deep flesh is left in flesh: 1 mm is promised."""
NEAR = 4e-3
"""m of such a hand: pairs that are farther apart than this, and not parted, are not watched."""
WINDOW_SECONDS = 0.1
"""s before and after a pair is too deep, over which it parts and comes back."""
STAY_WEIGHT = 0.1
"""m of depth that moving a middle joint or a tip by 1 m costs: hands move little, rather than angles."""
ROUNDS = 3
"""How often the smoothed motion is solved again; the last is not smoothed."""
FRAMES_AT_ONCE = 500


def settle(
    pose: Pose, times: Floats, flesh: Flesh, free: Ints, held: HeldContacts | None = None, *, everywhere: bool = True
) -> Steps[Pose]:
    """Return the pose with digits and palm at most MOST_DEPTH deep in each other, and with contacts held.

    As far as the limits allow. Frames farther than ROUNDS windows, twice, from one that is deeper keep their angles to
    the bit, and unless digits are parted `everywhere` all frames in which no contact is held or blended.

    Args:
        pose: F frames.
        times: (F,) s.
        flesh: of its hand.
        free: the angles that may change, as in hand.jacobians.
        held: the contacts to hold, of the same frames; None for none.
        everywhere: whether digits are kept apart in all frames, not just in those of the contacts.
    """
    hand, angles, radius = pose.hand, pose.angles, window_frames(times, WINDOW_SECONDS)
    scale = middle_finger_length(hand) / REFERENCE_LENGTH
    within = np.ones(len(pose)) if everywhere or held is None else held.within
    for number in range(ROUNDS):
        if number:
            angles = pose.angles + within[:, None] * smoothed(angles - pose.angles, radius)
        deep = pair_depths(flesh, hand, angles)
        needed = within[:, None] * spread(np.maximum(deep - MOST_DEPTH * scale, 0.0), radius)
        moved = needed.any(axis=1) if held is None else needed.any(axis=1) | (held.within > 0.0)
        rows, settled = np.flatnonzero(moved), angles.copy()
        for start in range(0, len(rows), FRAMES_AT_ONCE):
            yield Progress((number + start / len(rows)) / ROUNDS, f"Settling the {hand.side} hand's digits")
            chunk = rows[start : start + FRAMES_AT_ONCE]
            allowed, of, goals = _allowed(deep[chunk], needed[chunk], scale), hand, list[Objective]()
            if held is not None:
                # What touches is just not too deep: parting it smoothly would open the contact.
                touching = held.touching(chunk, flesh)
                known = np.where(np.isfinite(allowed), allowed, MOST_DEPTH * scale)
                allowed = np.where(touching > 0.0, known + touching * (MOST_DEPTH * scale - known), allowed)
                of, goals = held.objectives(chunk)
            settled[chunk] = _solve(
                Pose.at_origin(of, angles[chunk]), free, goals, Separation(flesh, allowed), number == ROUNDS - 1
            )
        angles = settled
    return Pose(hand, pose.root, angles)


def _allowed(deep: Floats, needed: Floats, scale: float) -> Floats:
    """Return how deep pairs may be (F, K) m: less by `needed` than `deep`, and no other that is near too deep."""
    watched = np.where(deep > -NEAR * scale, MOST_DEPTH * scale, np.inf)
    return np.where((needed > 0.0) & np.isfinite(deep), np.where(np.isfinite(deep), deep, 0.0) - needed, watched)


def _solve(start: Pose, free: Ints, goals: list[Objective], separation: Separation, patient: bool) -> Floats:
    """Return angles (F, D) rad that reach goals and part flesh, with middle joints and tips near their places."""
    sites = [JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints[1::2]]
    places = joint_frames(start.hand, start)[..., :3, 3]
    stay = [Objective(site, places[:, site], STAY_WEIGHT) for site in sites]
    problem = PoseProblem.of(start, free, [*stay, *goals], separation=separation)
    angles: Floats = solve(problem, patient=patient).pose.angles
    return angles
