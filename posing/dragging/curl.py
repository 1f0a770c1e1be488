"""How a person's finger curls: its joints bend together, in its plane.

A point under the mouse, at any depth, leaves angles of its finger open. Of the poses that have it there, the one
nearest to a person's is taken: the middle joint bends with the knuckle, which neither extends nor abducts. A thumb's is
the one nearest to where the drag began.

Seen from the side the mouse leaves nothing open, and a straight way to the palm passes where only a hook comes: the
middle joint bent, the knuckle extended. There the finger keeps the bend of the joints by which its tip is as far from
the knuckle as the mouse, and the knuckle bends along: the tip curls past the mouse, and meets it again at the palm.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, digit_of
from ...hand.kinematics import Pose
from ...hand.model import HandModel, Movement
from ...hand.smoothstep import smoothstep
from ...solvers.pose_problem import Preferences, SoftLimit

Floats = NDArray[np.float64]

PIP_PER_MCP = 1.5
"""Flexion of a finger's middle joint for each radian of its knuckle's; the last one follows by the hand's coupling.
First principal direction of the flexions in 11 takes of three performers of Han et al. (2018) and in the bundled Leap
recording, joined."""
SYNERGY_COST = 0.0006
"""m/rad: what a deviation from this ratio costs, as a distance from the goal on a hand of the usual length."""
ABDUCTION_COST = 0.002
"""m/rad: the same for abduction of the knuckle."""
POSTURE_COST = 0.0002
"""m: the same for a change by a joint's whole range. All these costs yield to the coupling of the last joint."""
KNUCKLE_LIMITS: Mapping[Movement, tuple[float, float, float]] = {
    "flexion": (-np.deg2rad(1.5), np.inf, 0.01),
    "abduction": (-np.deg2rad(4.0), np.deg2rad(4.0), 0.03),
    "twist": (0.0, 0.0, 0.01),
}
"""Movement of a knuckle -> least and largest change without a further cost, rad, and the cost of a radian beyond, m."""


FREE_HOOK = np.deg2rad(30.0)
"""rad by which a knuckle may lag behind its part of the middle joint's flexion."""
HOOK_FLEXION = np.deg2rad(60.0)
"""rad, change of a middle joint's flexion from which all that exceeds FREE_HOOK is taken back. Without flexion, nothing
is: the mouse may extend a knuckle."""
HOOK_LEAN = np.deg2rad(4.0)
"""rad that a finger whose hook was taken back leans to a side at most."""


def curls(joint: str) -> bool:
    """Whether a joint is a point of a finger."""
    return digit_of(joint) not in (None, "thumb")


def curl_preferences(hand: HandModel, joint: str) -> Preferences:
    """Return the preferences of a problem that moves a point of a finger."""
    chain = CHAIN_JOINTS[str(digit_of(joint))]
    rows = [_row(hand, [(chain[0], "abduction", ABDUCTION_COST)])]
    if joint in chain[2:]:  # a dragged middle joint leaves those after it as they are
        rows.append(
            _row(hand, [(chain[0], "flexion", -SYNERGY_COST), (chain[1], "flexion", SYNERGY_COST / PIP_PER_MCP)])
        )
    limits = {hand.dof(chain[0], movement): limit for movement, limit in KNUCKLE_LIMITS.items()}
    soft = tuple(SoftLimit(angle, *limit) for angle, limit in limits.items() if angle is not None)
    return Preferences(POSTURE_COST, tuple(rows), soft)


def _row(hand: HandModel, terms: Sequence[tuple[str, Movement, float]]) -> Floats:
    """A row (D,) of a soft coupling, m/rad; zero where the hand lacks one of the angles."""
    row = np.zeros(hand.dofs)
    for joint, movement, cost in terms:
        angle = hand.dof(joint, movement)
        if angle is None:
            return np.zeros(hand.dofs)
        row[angle] = cost
    return row


def unhooked(start: Pose, joint: str, pose: Pose) -> Pose:
    """Return the pose of a finger whose tip or last joint was dragged, with its knuckle bent along with the others.

    start, pose: one frame each. It changes continuously with the pose.
    """
    hand, chain = pose.hand, CHAIN_JOINTS[str(digit_of(joint))]
    knuckle, middle = hand.dof(chain[0], "flexion"), hand.dof(chain[1], "flexion")
    if joint not in chain[2:] or knuckle is None or middle is None:
        return pose
    gain = pose.angles[0] - start.angles[0]
    hook = float(gain[middle] / PIP_PER_MCP - gain[knuckle] - FREE_HOOK)
    share = float(smoothstep(np.array(gain[middle] / HOOK_FLEXION)))
    if hook <= 0.0 or share <= 0.0:
        return pose
    angles = pose.angles.copy()
    angles[0, knuckle] = min(angles[0, knuckle] + share * hook, hand.limits[knuckle, 1])
    aside = hand.dof(chain[0], "abduction")
    if aside is not None:
        leaning = np.clip(gain[aside], -HOOK_LEAN, HOOK_LEAN) - gain[aside]
        angles[0, aside] += share * min(hook / FREE_HOOK, 1.0) * leaning
    return Pose(hand, pose.root, angles)
