"""Digits kept apart over a whole take: the least motion by which flesh is nowhere deeper in flesh than MOST_DEPTH.

What a pair of capsules is too deep by is spread over the time around it: the greatest within the window, smoothed by
it, which is never less than what is needed. Every frame then solves a pose problem in which each pair may be as deep as
it was less that amount, so that digits begin to part shortly before they would be too deep, and do not stop within a
frame. What that moved is smoothed over time, too, because several joints can part the same digits, and solved again
from there. So what is moved at last is the least that a smooth motion leaves to be done.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import Flesh, near_pairs, touches
from ...hand.generators import Progress, Steps
from ...hand.jacobians import pose_joints
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from ...solvers.pose_problem import (
    REFERENCE_LENGTH,
    Objective,
    PoseProblem,
    Separation,
    middle_finger_length,
    solve,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_DEPTH = 0.8e-3
"""m of a hand of the usual length, how deep flesh is left in flesh: 1 mm is promised."""
NEAR = 4e-3
"""m of such a hand: pairs that are farther apart than this, and not parted, are not watched."""
WINDOW_SECONDS = 0.1
"""s before and after a pair is too deep, over which it parts and comes back."""
STAY_WEIGHT = 0.1
"""m of depth that moving a joint beyond a knuckle by 1 m costs: hands move little, rather than angles."""
ROUNDS = 3
"""How often the smoothed motion is solved again; the last is not smoothed."""
FRAMES_AT_ONCE = 500


def keep_apart(pose: Pose, times: Floats, flesh: Flesh, free: Ints) -> Steps[Pose]:
    """Return the pose with digits and palm at most MOST_DEPTH deep in each other, as far as the limits allow.

    Frames farther than ROUNDS windows, twice, from one that is deeper keep their angles to the bit.

    Args:
        pose: F frames.
        times: (F,) s.
        flesh: of its hand.
        free: the angles that may change, as in hand.jacobians.
    """
    hand, angles, radius = pose.hand, pose.angles, window_frames(times)
    most = MOST_DEPTH * middle_finger_length(hand) / REFERENCE_LENGTH
    for number in range(ROUNDS):
        if number:
            angles = pose.angles + smoothed(angles - pose.angles, radius)
        deep = pair_depths(flesh, hand, angles)
        needed = spread(np.maximum(deep - most, 0.0), radius)
        rows, parted = np.flatnonzero(needed.any(axis=1)), angles.copy()
        for start in range(0, len(rows), FRAMES_AT_ONCE):
            yield Progress((number + start / len(rows)) / ROUNDS, f"Keeping the {hand.side} hand's digits apart")
            chunk = rows[start : start + FRAMES_AT_ONCE]
            parted[chunk] = _part(Pose.at_origin(hand, angles[chunk]), flesh, free, deep[chunk], needed[chunk])
        angles = parted
    return Pose(hand, pose.root, angles)


def _part(start: Pose, flesh: Flesh, free: Ints, deep: Floats, needed: Floats) -> Floats:
    """Return angles (F, D) rad with pairs less deep by `needed` (F, K) than `deep`, in m, and no other too deep."""
    scale = middle_finger_length(start.hand) / REFERENCE_LENGTH
    watched = np.where(deep > -NEAR * scale, MOST_DEPTH * scale, np.inf)
    with np.errstate(invalid="ignore"):
        allowed = np.where((needed > 0.0) & np.isfinite(deep), deep - needed, watched)
    sites = [JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints[1:]]
    places = joint_frames(start.hand, start)[..., :3, 3]
    stay = [Objective(site, places[:, site], STAY_WEIGHT) for site in sites]
    problem = PoseProblem.of(start, free, stay, separation=Separation(flesh, allowed))
    angles: Floats = solve(problem, patient=False).pose.angles
    return angles


def window_frames(times: Floats) -> int:
    """Return the frames of half a window, by the times (F,) s."""
    step = float(np.median(np.diff(times))) if len(times) > 1 else WINDOW_SECONDS
    return min(int(np.ceil(WINDOW_SECONDS / max(step, 1e-6))), len(times))


def pair_depths(flesh: Flesh, hand: HandModel, angles: Floats) -> Floats:
    """Return how deep each pair is (F, K) m, negative where it is apart and -inf where it is far apart."""
    found = np.full((len(angles), flesh.pairs.shape[1]), -np.inf)
    for start in range(0, len(angles), FRAMES_AT_ONCE):
        rows = slice(start, start + FRAMES_AT_ONCE)
        wrist = np.broadcast_to(np.eye(4), (len(angles[rows]), 4, 4))
        places = pose_joints(hand, wrist, angles[rows]).positions
        frame, pair = near_pairs(flesh, places.astype(np.float32))
        found[rows][frame, pair] = touches(flesh, places, frame, pair).depths
    return found


def spread(values: Floats, radius: int) -> Floats:
    """Return values (F, K) of at least 0 spread over time: the greatest within `radius` frames, smoothed over as many.

    Nowhere less than the value itself.
    """
    result, columns = np.zeros_like(values), np.flatnonzero(values.any(axis=0))
    if len(columns):
        padded = np.pad(values[:, columns], ((radius, radius), (0, 0)))
        greatest = padded[: len(values)].copy()
        for shift in range(1, 2 * radius + 1):
            np.maximum(greatest, padded[shift : shift + len(values)], out=greatest)
        result[:, columns] = smoothed(greatest, radius)
    return result


def smoothed(values: Floats, radius: int) -> Floats:
    """Return the means of values (F, K) over `radius` frames to each side, weighted by a Hann window."""
    weights = np.hanning(2 * radius + 3)[1:-1]
    padded, result = np.pad(values, ((radius, radius), (0, 0)), mode="edge"), np.zeros_like(values)
    for shift, weight in enumerate(weights / weights.sum()):
        result += weight * padded[shift : shift + len(values)]
    return result
