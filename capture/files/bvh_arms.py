"""Rotations of the hands and forearms in a BVH file, from its channels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...hand import rotations as rot
from ...hand.elbow_axis import wrist_at_rest
from ...hand.forearm import arms_rest_alike, unpronated
from ...hand.joint_words import is_bare_thumb, joint_in_label
from ...hand.joints import JOINTS, SIDES, Side
from ..arm_labels import ELBOW_WORDS, is_called
from ..markers import Bools, Floats

WRIST = JOINTS[0]


@dataclass(frozen=True, slots=True)
class BvhArm:
    """Indices of the joints of an arm that a hand is on."""

    side: Side
    upper: int
    elbow: int
    hand: dict[str, int]
    """WebXR's name of a joint -> its index."""


def joints_of_arms(names: Sequence[str], arms: Sequence[BvhArm]) -> Bools:
    """Return (J,) whether a joint's rotation is used: those of hands and of these arms are."""
    used = np.array([joint_in_label(name) is not None or is_bare_thumb(name) for name in names])
    for arm in arms:
        used[[arm.upper, arm.elbow]] = True
    return used


def rest_hands_on_forearms(arms: Sequence[BvhArm], rest: Floats, positions: Floats, rotations: Floats) -> None:
    """Give elbows the rotation of a hand at rest on the forearm, see `marker_labels.ELBOW`, in `rotations`.

    No joint is rotated in the rest pose, so a joint's rotation is also that of a hand at rest on it. If the arms do not
    mirror each other in the rest pose, the axes of the elbows show the hand at rest. The rotations of upper arms are
    then unknown, and so are those of elbows that hardly bend.

    rest: (J, 3) positions of the joints in the rest pose. positions: (F, J, 3). rotations: (F, J, 4) wxyz, changed in
    place.
    """
    common = [joint for joint in JOINTS if all(joint in arm.hand for arm in arms)]
    points = [rest[[arm.elbow, *(arm.hand[joint] for joint in common)]] for arm in arms]
    at_rest = len(points) == len(SIDES) and arms_rest_alike(*points)
    for arm in arms:
        along = rest[arm.hand[WRIST]] - rest[arm.elbow]
        moved = (
            unpronated(rotations[:, arm.upper], rotations[:, arm.elbow], along)
            if at_rest
            else _wrist_at_rest(arm, positions, rotations)
        )
        rotations[:, arm.upper], rotations[:, arm.elbow] = np.nan, np.nan if moved is None else moved


def _wrist_at_rest(arm: BvhArm, positions: Floats, rotations: Floats) -> Floats | None:
    """Return `wrist_at_rest` of an arm, see rest_hands_on_forearms."""
    wrist = arm.hand[WRIST]
    hand = {joint: positions[:, index] for joint, index in arm.hand.items()}
    points = positions[:, [arm.upper, arm.elbow, wrist]]
    return wrist_at_rest(rot.to_matrix(rotations[:, arm.upper]), points, hand, rotations[:, wrist], arm.side)


def find_arms(names: Sequence[str], parents: Sequence[int]) -> list[BvhArm]:
    """Return the arms whose hands, wrists and elbows are named, left before right. parents: -1 for a root."""
    hands: dict[Side, dict[str, int]] = {side: {} for side in SIDES}
    for index, name in enumerate(names):
        named = joint_in_label(name)
        if named is not None and named[0] is not None and named[1] != WRIST:
            hands[named[0]].setdefault(named[1], index)
    found = (_arm(side, hand, names, parents) for side, hand in hands.items() if hand)
    return [arm for arm in found if arm is not None]


def _arm(side: Side, digits: dict[str, int], names: Sequence[str], parents: Sequence[int]) -> BvhArm | None:
    """Return the arm above joints of digits, None unless its wrist and elbow are named."""
    above = list(_ancestors(next(iter(digits.values())), parents))
    wrists = [index for index in above if joint_in_label(names[index]) == (side, WRIST)]
    elbows = [index for index in above if any(is_called(names[index], word, side) for word in ELBOW_WORDS)]
    if not wrists or not elbows or parents[elbows[-1]] < 0 or elbows[-1] >= wrists[0]:
        return None
    return BvhArm(side, parents[elbows[-1]], elbows[-1], {WRIST: wrists[0], **digits})


def _ancestors(index: int, parents: Sequence[int]) -> Iterator[int]:
    """Yield the joints above one, from its parent to the root."""
    while (index := parents[index]) >= 0:
        yield index
