"""VRM's T-pose, in which humanoid bones are aligned with the world, and the joint frames of a hand in this pose.

A person who faces −Y has the left arm along +X, the palm down and the fingers straight along the arm. The thumb points
45 degrees to the front, rolled by 90 degrees: its nail faces outwards, and it flexes along the palm (VRM 1.0, tpose.md,
definitions 1.6 to 1.8). Rows are bones in the order of humanoid_bones.HAND_BONES.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand import proportions
from ...hand import rotations as rot
from ...hand.joints import SIDES, Side
from .humanoid_bones import ARM, DIGIT_BONES, HAND_BONES, JOINT_INDICES, PHALANGES, TRUNK, Vector

Floats = NDArray[np.float64]

MIN_ALIGNMENT = 0.8
"""Minimum cosine between the expected and the actual direction of a bone for it to count as aligned."""
BODY_HEIGHT_M = 1.7
"""Height of the default body in m."""
# Lengths as fractions of the body's height: Drillis & Contini (1966), in Winter, Biomechanics and Motor Control, 4.1.
_SPINE, _SHOULDER, _UPPER_ARM, _FOREARM = 0.818 - 0.530, 0.129, 0.186, 0.146

_DIGITS = slice(1, None)
_THUMB, _INDEX, _MIDDLE, _LITTLE = 1, 4, 7, 13
"""Row of each digit's first bone."""


def _t_pose_frames(side: Side) -> Floats:
    """Return the HandModel's joint frames (16, 3, 3) in the T-pose."""
    out = 1.0 if side == "left" else -1.0
    fingers = rot.frame_from_yz(np.array([out, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    frames: Floats = np.tile(fingers, (len(JOINT_INDICES), 1, 1))
    frames[_THUMB:_INDEX] = rot.frame_from_yz(np.array([out, -1.0, 0.0]), np.array([-out, -1.0, 0.0]))
    return frames


T_POSE_FRAMES: dict[Side, Floats] = {side: _t_pose_frames(side) for side in SIDES}
"""(16, 3, 3) HandModel's joint frames of each hand in the T-pose, in Blender's axes."""


def _adult_hand_offsets(side: Side) -> Floats:
    """Return the positions (16, 3) of an adult hand's bones in their parents in m. The wrist's row is zero."""
    frames, adult = T_POSE_FRAMES[side], proportions.adult(side)
    offsets: Floats = proportions.rest_frames_in_wrist(adult)[JOINT_INDICES, :3, 3] @ frames[0].T
    for digit in range(len(DIGIT_BONES)):
        first = _THUMB + digit * len(PHALANGES)
        for bone in range(1, len(PHALANGES)):
            offsets[first + bone] = frames[first, :, 1] * adult.phalanges[digit, bone - 1]
    return offsets


def _adult_offsets() -> dict[str, Vector]:
    up = BODY_HEIGHT_M * _SPINE / len(TRUNK)
    offsets: dict[str, Vector] = dict.fromkeys(TRUNK[1:], (0.0, 0.0, up))
    for side in SIDES:
        out = BODY_HEIGHT_M if side == "left" else -BODY_HEIGHT_M
        arm = (
            (0.3 * out * _SHOULDER, 0.0, up),
            *((out * r, 0.0, 0.0) for r in (0.7 * _SHOULDER, _UPPER_ARM, _FOREARM)),
        )
        offsets |= {f"{side.capitalize()}{part}": offset for part, offset in zip(ARM, arm, strict=True)}
        hand = [(float(x), float(y), float(z)) for x, y, z in _adult_hand_offsets(side)]
        offsets |= dict(zip(list(HAND_BONES[side])[_DIGITS], hand[_DIGITS], strict=True))
    return offsets


ADULT_OFFSETS = _adult_offsets()
"""Bone -> its position in its parent in m, for an adult in the T-pose: for senders that send only rotations."""


def bone_from_joint(side: Side, offsets: Floats) -> Floats:
    """Return (16, 4) wxyz rotations from HandModel's joint frames to the bones'; NaN where they cannot be determined.

    The frames of bones that are aligned with the world in the T-pose follow from the bones' directions. In avatars with
    other axes only the wrist's frame can be determined, from the knuckles.

    offsets: (16, 3) positions of the bones in their parents in m.
    """
    frames = T_POSE_FRAMES[side]
    if not _is_world_aligned(side, offsets):
        rotations = np.full((len(JOINT_INDICES), 4), np.nan)
        rotations[0] = _wrist_from_knuckles(side, offsets)
        return rotations
    directions = np.empty_like(offsets)
    directions[0] = frames[0, :, 1]
    # The last bone of a digit has no child; it continues the one before.
    bones = offsets[_DIGITS].reshape(len(DIGIT_BONES), len(PHALANGES), 3)
    directions[_DIGITS] = bones[:, [1, 2, 2]].reshape(-1, 3)
    is_misaligned = ~_are_aligned(directions, frames[:, :, 1])
    directions[is_misaligned] = frames[is_misaligned, :, 1]
    rotations = rot.from_matrix(rot.frame_from_yz(directions, frames[:, :, 2]))
    rotations[is_misaligned] = np.nan
    return rotations


def resting_wrist(side: Side, offsets: Floats, hand: Vector) -> Floats | None:
    """Return the rotation (4,) wxyz from the joint frame of a wrist at rest on the forearm to the forearm's bone.

    None for an avatar whose bones are not aligned with the world in the T-pose: they do not show how a hand rests.

    offsets: see bone_from_joint. hand: the hand's position in the forearm's bone in m.
    """
    wrist = T_POSE_FRAMES[side][0]
    aligned = _is_world_aligned(side, offsets) and _are_aligned(np.array([hand]), wrist[None, :, 1]).all()
    return rot.from_matrix(wrist) if aligned else None


def _are_aligned(actual: Floats, expected: Floats) -> NDArray[np.bool_]:
    """Return (N,) whether vectors (N, 3) of any length are roughly parallel to unit vectors (N, 3)."""
    aligned: NDArray[np.bool_] = np.einsum("nk,nk->n", actual, expected) > MIN_ALIGNMENT * np.linalg.norm(
        actual, axis=1
    )
    return aligned


def _is_world_aligned(side: Side, offsets: Floats) -> bool:
    """Return whether the hand's bone is aligned with the world in the T-pose, judged by its knuckles."""
    actual = np.stack([offsets[_MIDDLE], offsets[_INDEX] - offsets[_LITTLE]])
    return bool(_are_aligned(actual, np.stack([T_POSE_FRAMES[side][0, :, 1], [0.0, -1.0, 0.0]])).all())


def _wrist_from_knuckles(side: Side, offsets: Floats) -> Floats:
    """Return (4,) wxyz of the wrist's frame from the knuckles, NaN if they are collinear with it."""
    to_little = offsets[_LITTLE] - offsets[_INDEX]
    right = to_little if side == "right" else -to_little
    back = np.cross(right, offsets[_MIDDLE])
    if np.linalg.norm(back) <= 0.1 * np.linalg.norm(right) * np.linalg.norm(offsets[_MIDDLE]):
        return np.full(4, np.nan)
    return rot.from_matrix(rot.frame_from_yz(offsets[_MIDDLE], back))
