"""The character's hand: a hand model with the performer's joint frames and the rig's bone lengths.

At zero angles its joints are oriented as the performer's, so equal angles give equal directions of all bones. Its palm
and the lengths of its bones are the rig's. Limits, solvers and keys work with it as with any hand model.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand import kinematics
from ...hand.flesh import Flesh
from ...hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX
from ...hand.kinematics import Pose
from ...hand.model import HandModel

Floats = NDArray[np.float64]

TIP_INDEX = [JOINT_INDEX[joints[-1]] for joints in CHAIN_JOINTS.values()]
"""(5,) indices of the fingertips."""
MIN_LENGTH = 1e-6
"""m, minimum length of a digit."""


@dataclass(frozen=True, slots=True, eq=False)
class RestHand:
    """A hand of a rig in its rest pose."""

    joints: Floats
    """(J, 3) m in the wrist's frame, positions of the joints at rest; NaN for joints that the rig lacks."""
    tips: Callable[[Pose], Floats] | None = None
    """Returns the positions (F, 5, 3) m, in the wrist's frame, of the rig's fingertips when it is keyed with a pose of
    the character's hand and its own limits apply; NaN for missing digits. None uses forward kinematics."""
    radii: Floats | None = None
    """(5, 4) m, half the thickness of the digits at their joints and tips, NaN without skin; None if no digit has
    skin."""


@dataclass(frozen=True, slots=True, eq=False)
class Character:
    """A character's hand as a hand model."""

    hand: HandModel
    """Digits that the rig lacks are the performer's, scaled like the others."""
    digits: tuple[str, ...]
    """The digits that the rig has, thumb first."""
    rig_tips: Callable[[Pose], Floats] | None = None
    """See RestHand.tips."""
    radii: Floats | None = None
    """See RestHand.radii."""

    @property
    def flesh(self) -> Flesh:
        """The flesh on its bones."""
        return Flesh.of(self.hand, self.radii, self.digits)

    @property
    def length(self) -> float:
        """Length of the longest digit from the wrist, m."""
        return float(digit_lengths(self.hand).max())

    def tips(self, angles: Floats) -> Floats:
        """Return positions (F, 5, 3) of the fingertips in m in the wrist's frame, from angles (F, D) in rad."""
        positions = tip_positions(self.hand, angles)
        if self.rig_tips is None or not len(angles):
            return positions
        roots = np.broadcast_to(np.eye(4), (len(angles), 4, 4))
        keyed = self.rig_tips(Pose(self.hand, roots, angles))
        return np.where(np.isfinite(keyed), keyed, positions)


def build_character(performer: HandModel, rig: RestHand) -> Character:
    """Build a character's hand from a performer's hand and a rig's rest pose. The limits are the performer's.

    A joint that the rig lacks gets the position of the next one outwards: its own bone has no length, and the bone
    before it is longer. Raises HandError for a rig without digits, or with a digit of no length.
    """
    joints = rig.joints
    digits = tuple(digit for digit in DIGITS if np.isfinite(joints[JOINT_INDEX[DIGIT_JOINTS[digit][-1]]]).all())
    if not digits:
        raise HandError(f"{performer.side} hand: the rig has no digit, expected a thumb or a finger with a tip")
    zero_pose = _zero_pose_frames(performer)
    positions = _fill_missing_joints(joints, digits)
    rows = [DIGITS.index(digit) for digit in digits]
    lengths, performer_lengths = chain_lengths(positions)[rows], chain_lengths(zero_pose[:, :3, 3])[rows]
    if not np.all(lengths > MIN_LENGTH):
        raise HandError(f"{performer.side} hand: the rig's {digits[int(lengths.argmin())]} has no length")
    is_missing = ~np.isfinite(positions).all(axis=-1)
    positions[is_missing] = float(np.mean(lengths / performer_lengths)) * zero_pose[is_missing, :3, 3]
    return Character(
        replace(performer, rest=_rest_transforms(performer, zero_pose, positions)), digits, rig.tips, rig.radii
    )


def _zero_pose_frames(hand: HandModel) -> Floats:
    """Return T_wrist_joint (J, 4, 4) at zero angles."""
    frames: Floats = kinematics.joint_frames(hand, Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs))))[0]
    return frames


def _fill_missing_joints(joints: Floats, digits: tuple[str, ...]) -> Floats:
    """Fill in missing joint positions (J, 3) with the next joint outwards, or with the wrist for metacarpals."""
    positions = joints.copy()
    positions[0] = 0.0
    for digit in digits:
        chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]
        for joint, following in zip(chain[-2::-1], chain[:0:-1], strict=True):
            if not np.isfinite(positions[joint]).all():
                positions[joint] = positions[following]
        base = JOINT_INDEX[DIGIT_JOINTS[digit][0]]
        if not np.isfinite(positions[base]).all():
            positions[base] = 0.0
    return positions


def _rest_transforms(hand: HandModel, zero_pose: Floats, positions: Floats) -> Floats:
    """Return T_parent_joint (J, 4, 4): the hand's rotations, and palm and bone lengths from joint positions (J, 3).

    zero_pose: T_wrist_joint (J, 4, 4) of the hand at zero angles.
    """
    rest_transforms = np.array(hand.rest)
    straight = {JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints[1:]}
    for joint, parent in enumerate(hand.parents):
        if parent < 0:
            continue
        bone = positions[joint] - positions[parent]
        if joint in straight:
            rest_transforms[joint, :3, 3] = 0.0, float(np.linalg.norm(bone)), 0.0
        else:
            rest_transforms[joint, :3, 3] = zero_pose[parent, :3, :3].T @ bone
    return rest_transforms


def chain_lengths(positions: Floats) -> Floats:
    """Return lengths (5,) of the digits in m, from the wrist along the bones, for joint positions (J, 3)."""
    chains = np.array([[0, *(JOINT_INDEX[joint] for joint in joints)] for joints in CHAIN_JOINTS.values()])
    lengths: Floats = np.linalg.norm(np.diff(positions[chains], axis=1), axis=-1).sum(axis=-1)
    return lengths


def tip_positions(hand: HandModel, angles: Floats) -> Floats:
    """Return positions (F, 5, 3) of the fingertips in m in the wrist's frame, from angles (F, D) in rad."""
    roots = np.broadcast_to(np.eye(4), (len(angles), 4, 4))
    positions: Floats = kinematics.joint_frames(hand, Pose(hand, roots, angles))[..., :3, 3][:, TIP_INDEX]
    return positions


def digit_lengths(hand: HandModel, weights: Floats | None = None) -> Floats:
    """Return lengths (5,) in m of the digits from the wrist, averaged by weights (5, 5), whose rows sum to 1."""
    lengths = chain_lengths(_zero_pose_frames(hand)[:, :3, 3])
    mixed: Floats = lengths if weights is None else weights @ lengths
    return mixed
