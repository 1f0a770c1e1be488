"""The character's hand: the performer's joints and movements on the bones of a rig.

Its joints stand as the performer's do at angles of zero, so that equal angles are equal directions of all bones; its
palm and the lengths of its bones are the rig's. A hand of other proportions is so a hand like any other, and whatever
knows angles (limits, solvers, keys) knows it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand import kinematics
from ...hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX
from ...hand.kinematics import Pose
from ...hand.model import HandModel

Floats = NDArray[np.float64]

TIP_INDEX = [JOINT_INDEX[joints[-1]] for joints in CHAIN_JOINTS.values()]
"""(5,) the joints that are fingertips."""
LEAST = 1e-6
"""m, no hand is smaller."""


@dataclass(frozen=True, slots=True, eq=False)
class RestHand:
    """A hand of a rig, as it is built."""

    joints: Floats
    """(J, 3) m in the wrist's frame, where its joints are at rest; NaN where it has none."""
    tips: Callable[[Pose], Floats] | None = None
    """(F, 5, 3) m in the wrist's frame, where its fingertips come to be when it is keyed by a pose of the character's
    hand, which its limits may hold back; NaN for a digit that it lacks. None: where forward kinematics say."""


@dataclass(frozen=True, slots=True, eq=False)
class Character:
    """A character's hand, and what it is like beside the performer's."""

    hand: HandModel
    """Digits that the rig lacks are the performer's, as large as the others."""
    digits: tuple[str, ...]
    """Those that the rig has, thumb first."""
    keyed: Callable[[Pose], Floats] | None = None
    """See RestHand.tips."""

    @property
    def length(self) -> float:
        """m, of the longest digit from the wrist."""
        return float(size(self.hand).max())

    def tips(self, angles: Floats) -> Floats:
        """(F, 5, 3) m in the wrist's frame, where the fingertips are at angles (F, D) rad."""
        there = tips(self.hand, angles)
        if self.keyed is None or not len(angles):
            return there
        roots = np.broadcast_to(np.eye(4), (len(angles), 4, 4))
        keyed = self.keyed(Pose(self.hand, roots, angles))
        return np.where(np.isfinite(keyed), keyed, there)


def character(performer: HandModel, rig: RestHand) -> Character:
    """The hand of a rig.

    A joint that is missing lies on the next one outwards: its bone has no length, and the bone before reaches further.
    The limits are the performer's. Raises HandError for a rig without a digit, or with digits without any length.
    """
    joints = rig.joints
    digits = tuple(digit for digit in DIGITS if np.isfinite(joints[JOINT_INDEX[DIGIT_JOINTS[digit][-1]]]).all())
    if not digits:
        raise HandError(f"{performer.side} hand: the rig has no digit, expected a thumb or a finger with a tip")
    world = _at_zero(performer)
    places = _outwards(joints, digits)
    own = np.array([float(reaches(places)[DIGITS.index(digit)]) for digit in digits])
    like = reaches(world[:, :3, 3])[[DIGITS.index(digit) for digit in digits]]
    if not np.all(own > LEAST):
        raise HandError(f"{performer.side} hand: the rig's {digits[int(own.argmin())]} has no length")
    lacking = ~np.isfinite(places).all(axis=-1)
    places[lacking] = float(np.mean(own / like)) * world[lacking, :3, 3]
    return Character(replace(performer, rest=_rest(performer, world, places)), digits, rig.tips)


def _at_zero(hand: HandModel) -> Floats:
    """(J, 4, 4) T_wrist_joint at angles of zero."""
    frames: Floats = kinematics.joint_frames(hand, Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs))))[0]
    return frames


def _outwards(joints: Floats, digits: tuple[str, ...]) -> Floats:
    """(J, 3) joints that a digit of the rig lacks on the next one outwards; metacarpals of fingers on the wrist."""
    places = joints.copy()
    places[0] = 0.0
    for digit in digits:
        chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]
        for joint, following in zip(chain[-2::-1], chain[:0:-1], strict=True):
            if not np.isfinite(places[joint]).all():
                places[joint] = places[following]
        base = JOINT_INDEX[DIGIT_JOINTS[digit][0]]
        if not np.isfinite(places[base]).all():
            places[base] = 0.0
    return places


def _rest(hand: HandModel, world: Floats, places: Floats) -> Floats:
    """(J, 4, 4) T_parent_joint: turns as the hand's, the palm and the lengths of bones from places (J, 3)."""
    rest = np.array(hand.rest)
    straight = {JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints[1:]}
    for joint, parent in enumerate(hand.parents):
        if parent < 0:
            continue
        away = places[joint] - places[parent]
        if joint in straight:
            rest[joint, :3, 3] = 0.0, float(np.linalg.norm(away)), 0.0
        else:
            rest[joint, :3, 3] = world[parent, :3, :3].T @ away
    return rest


def reaches(places: Floats) -> Floats:
    """(5,) m from the wrist to each digit's first moving joint and along its bones, from places (J, 3)."""
    chains = np.array([[0, *(JOINT_INDEX[joint] for joint in joints)] for joints in CHAIN_JOINTS.values()])
    lengths: Floats = np.linalg.norm(np.diff(places[chains], axis=1), axis=-1).sum(axis=-1)
    return lengths


def tips(hand: HandModel, angles: Floats) -> Floats:
    """(F, 5, 3) m in the wrist's frame, where the fingertips are at angles (F, D) rad."""
    roots = np.broadcast_to(np.eye(4), (len(angles), 4, 4))
    places: Floats = kinematics.joint_frames(hand, Pose(hand, roots, angles))[..., :3, 3][:, TIP_INDEX]
    return places


def size(hand: HandModel, shares: Floats | None = None) -> Floats:
    """(5,) m, how long each digit is from the wrist; of digits mixed by shares (5, 5), rows sum to 1."""
    lengths = reaches(_at_zero(hand)[:, :3, 3])
    mixed: Floats = lengths if shares is None else shares @ lengths
    return mixed
