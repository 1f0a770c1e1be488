"""Rotations of the hands and forearms of a BVH file: what its channels tell beyond the places of its joints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...hand.forearm import arms_rest_alike, unpronated
from ...hand.joint_words import joint_in_label
from ...hand.joints import JOINTS, SIDES, Side
from ..arm_labels import ELBOW_WORDS, is_called
from ..markers import Bools, Floats

WRIST = JOINTS[0]


@dataclass(frozen=True, slots=True)
class _Arm:
    """Indices of the joints of an arm that a hand is on."""

    upper: int
    elbow: int
    hand: dict[str, int]
    """WebXR's name of a joint -> its index."""


def joints_of_arms(names: Sequence[str], parents: Sequence[int]) -> Bools:
    """Return which joints (J,) have rotations that are of use: hands and their arms. parents: -1 for a root."""
    used = np.array([joint_in_label(name) is not None for name in names])
    for arm in _arms(names, parents).values():
        used[[arm.upper, arm.elbow]] = True
    return used


def with_resting_hands(names: Sequence[str], parents: Sequence[int], rest: Floats, rotations: Floats) -> Floats:
    """Return rotations whose elbows have that of a hand at rest on the forearm, see `marker_labels.ELBOW`.

    No joint is turned in the rest pose, so that a joint's rotation is that of anything which rests on it. Unknown are
    those of upper arms, and of elbows unless the arms mirror each other in the rest pose.

    parents: -1 for a root. rest: (J, 3) where the joints are in the rest pose. rotations: (F, J, 4) wxyz.
    """
    arms, rotations = _arms(names, parents), rotations.copy()
    common = [joint for joint in JOINTS if all(joint in arm.hand for arm in arms.values())]
    points = [rest[[arm.elbow, *(arm.hand[joint] for joint in common)]] for arm in arms.values()]
    at_rest = len(points) == len(SIDES) and arms_rest_alike(*points)
    for arm in arms.values():
        along = rest[arm.hand[WRIST]] - rest[arm.elbow]
        moved = unpronated(rotations[:, arm.upper], rotations[:, arm.elbow], along) if at_rest else np.nan
        rotations[:, arm.upper], rotations[:, arm.elbow] = np.nan, moved
    return rotations


def _arms(names: Sequence[str], parents: Sequence[int]) -> dict[Side, _Arm]:
    """Return the arms whose hands, wrists and elbows are named."""
    hands: dict[Side, dict[str, int]] = {side: {} for side in SIDES}
    for index, name in enumerate(names):
        named = joint_in_label(name)
        if named is not None and named[0] is not None and named[1] != WRIST:
            hands[named[0]].setdefault(named[1], index)
    found = {side: _arm(side, hand, names, parents) for side, hand in hands.items() if hand}
    return {side: arm for side, arm in found.items() if arm is not None}


def _arm(side: Side, digits: dict[str, int], names: Sequence[str], parents: Sequence[int]) -> _Arm | None:
    """Return the arm above joints of digits, None unless its wrist and elbow are named."""
    above = list(_ancestors(next(iter(digits.values())), parents))
    wrists = [index for index in above if joint_in_label(names[index]) == (side, WRIST)]
    elbows = [index for index in above if any(is_called(names[index], word, side) for word in ELBOW_WORDS)]
    if not wrists or not elbows or parents[elbows[-1]] < 0 or elbows[-1] >= wrists[0]:
        return None
    return _Arm(parents[elbows[-1]], elbows[-1], {WRIST: wrists[0], **digits})


def _ancestors(index: int, parents: Sequence[int]) -> Iterator[int]:
    """Yield the joints above one, from its parent to the root."""
    while (index := parents[index]) >= 0:
        yield index
