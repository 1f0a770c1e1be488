"""Rotations of the hands and forearms in a BVH file, from its channels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...hand import rotations as rot
from ...hand.elbow_axis import wrist_at_rest
from ...hand.forearm import arms_are_symmetric, remove_pronation
from ...hand.joint_words import is_bare_thumb, joint_in_label
from ...hand.joints import JOINTS, SIDES, Side
from ..arm_labels import ELBOW_WORDS, is_called
from ..markers import Bools, Floats

WRIST = JOINTS[0]


@dataclass(frozen=True, slots=True)
class BvhArm:
    """Indices of the joints of an arm and its hand."""

    side: Side
    upper: int
    elbow: int
    hand: dict[str, int]
    """WebXR's name of a joint of the hand -> its index."""


def joints_of_arms(names: Sequence[str], arms: Sequence[BvhArm]) -> Bools:
    """Return whether each joint (J,) belongs to a hand or to one of these arms, whose rotations are used."""
    used = np.array([joint_in_label(name) is not None or is_bare_thumb(name) for name in names])
    for arm in arms:
        used[[arm.upper, arm.elbow]] = True
    return used


def rest_hands_on_forearms(arms: Sequence[BvhArm], rest: Floats, positions: Floats, rotations: Floats) -> None:
    """Set the rotations of elbows, in place, to those of a hand at rest on the forearm (see `marker_labels.ELBOW`).

    If the arms mirror each other in the rest pose, in which no joint is rotated, a forearm's rotation is also that of a
    hand at rest on it. Otherwise the hand at rest is estimated from the elbow's axis. Rotations of upper arms, and of
    elbows that hardly bend, become NaN.

    Args:
        arms: the arms.
        rest: (J, 3) positions of the joints in the rest pose.
        positions: (F, J, 3).
        rotations: (F, J, 4) wxyz.
    """
    common = [joint for joint in JOINTS if all(joint in arm.hand for arm in arms)]
    points = [rest[[arm.elbow, *(arm.hand[joint] for joint in common)]] for arm in arms]
    at_rest = len(points) == len(SIDES) and arms_are_symmetric(*points)
    for arm in arms:
        along = rest[arm.hand[WRIST]] - rest[arm.elbow]
        resting = (
            remove_pronation(rotations[:, arm.upper], rotations[:, arm.elbow], along)
            if at_rest
            else _wrist_at_rest(arm, positions, rotations)
        )
        rotations[:, arm.upper], rotations[:, arm.elbow] = np.nan, np.nan if resting is None else resting


def _wrist_at_rest(arm: BvhArm, positions: Floats, rotations: Floats) -> Floats | None:
    """Return `wrist_at_rest` of an arm, see rest_hands_on_forearms."""
    wrist = arm.hand[WRIST]
    hand = {joint: positions[:, index] for joint, index in arm.hand.items()}
    points = positions[:, [arm.upper, arm.elbow, wrist]]
    return wrist_at_rest(rot.to_matrix(rotations[:, arm.upper]), points, hand, rotations[:, wrist], arm.side)


def find_arms(names: Sequence[str], parents: Sequence[int]) -> list[BvhArm]:
    """Return the arms whose hands, wrists and elbows have known names, left before right. parents: -1 for a root."""
    hands: dict[Side, dict[str, int]] = {side: {} for side in SIDES}
    for index, name in enumerate(names):
        side, joint = joint_in_label(name) or (None, WRIST)
        if side is not None and joint != WRIST:
            hands[side].setdefault(joint, index)
    arms = (_arm(side, hand, names, parents) for side, hand in hands.items() if hand)
    return [arm for arm in arms if arm is not None]


def _arm(side: Side, digits: dict[str, int], names: Sequence[str], parents: Sequence[int]) -> BvhArm | None:
    """Return the arm of a hand with these digits' joints; None if its wrist or elbow has no known name."""
    ancestors = list(_ancestors(next(iter(digits.values())), parents))
    wrists = [index for index in ancestors if joint_in_label(names[index]) == (side, WRIST)]
    elbows = [index for index in ancestors if any(is_called(names[index], word, side) for word in ELBOW_WORDS)]
    if not wrists or not elbows or parents[elbows[-1]] < 0 or elbows[-1] >= wrists[0]:
        return None
    return BvhArm(side, parents[elbows[-1]], elbows[-1], {WRIST: wrists[0], **digits})


def _ancestors(index: int, parents: Sequence[int]) -> Iterator[int]:
    """Yield the ancestors of a joint, from its parent to the root."""
    while (index := parents[index]) >= 0:
        yield index
