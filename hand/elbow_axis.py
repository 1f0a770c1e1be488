"""Estimate the rest rotation of a hand on its forearm from the elbow's axis, for captures without a rest pose."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from . import rotations as rot
from .joints import JOINTS, KNUCKLES, Side

Floats = NDArray[np.float64]

MIN_RANGE = np.deg2rad(20.0)
"""rad, minimum range of an elbow's bend. If an elbow stays bent, the normal of its plane is only roughly its axis."""
RANGE_PERCENTILES = (5.0, 95.0)
"""Percentiles of the bends between which that range is measured, to exclude outliers."""
MIN_AGREEMENT = 0.8
"""Minimum length of the sum of the frames' axes, relative to the sum of their lengths: 1 if all axes agree."""


def back_at_rest(upper: Floats, arm: Floats, side: Side) -> Floats | None:
    """Return the normal (F, 3) of the back of a hand at rest on its forearm; None if the elbow does not determine it.

    If an arm is held to the side with the back of the hand up, its elbow bends to the front. The normal is therefore
    the elbow's axis, which is fixed to the upper arm. It is estimated as the mean over all frames of the normal to the
    upper arm and the forearm, weighted by the sine of the bend.

    upper: (F, 3, 3) axes of the upper arm's bone in the world, for any rest rotation; they may be mirrored and scaled.
    arm: (F, 3, 3) the shoulder, the elbow and the wrist in the world. The result is NaN where two of them coincide or
    are unknown.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        upper = rot.orthonormal(upper)
        upper_arm, forearm = (rot.unit_vectors(part) for part in (arm[:, 1] - arm[:, 0], arm[:, 2] - arm[:, 1]))
    back = np.full((len(arm), 3), np.nan)
    valid = np.isfinite(np.c_[upper.reshape(-1, 9), upper_arm, forearm]).all(axis=-1)
    upper, upper_arm, forearm = upper[valid], upper_arm[valid], forearm[valid]
    axes = np.cross(upper_arm, forearm) * (1.0 if side == "right" else -1.0)
    sines = np.linalg.norm(axes, axis=-1)
    bends = np.arctan2(sines, (upper_arm * forearm).sum(axis=-1))
    total = np.einsum("fji,fj->fi", upper, axes).sum(axis=0)
    if not valid.any() or np.ptp(np.percentile(bends, RANGE_PERCENTILES)) < MIN_RANGE:
        return None
    if np.linalg.norm(total) < MIN_AGREEMENT * sines.sum():
        return None
    back[valid] = rot.rotate(rot.shortest_rotation(upper_arm, forearm), upper @ rot.unit_vector(total))
    return back


def wrist_at_rest(upper: Floats, arm: Floats, hand: Mapping[str, Floats], wrist: Floats, side: Side) -> Floats | None:
    """Return the rotation (F, 4) wxyz that a wrist would have if its hand rested on the forearm.

    NaN where `back_at_rest` is; None if the elbow does not determine it, or if fewer than two fingers have an MCP.

    upper, arm: see back_at_rest. hand: joint -> position (F, 3) in the world. wrist: (F, 4) wxyz, its rotation.
    """
    fingers = [hand[joint] for joint in KNUCKLES if joint in hand]
    back = back_at_rest(upper, arm, side) if len(fingers) > 1 else None
    if back is None:
        return None
    valid = np.isfinite(back).all(axis=-1)
    rest_frames = rot.frame_from_yz((arm[:, 2] - arm[:, 1])[valid], back[valid])
    palm_frames = hand_frames(np.stack([hand[JOINTS[0]], fingers[0], fingers[-1]], axis=1)[valid], side)
    rotations = np.full(wrist.shape, np.nan)
    rotations[valid] = rot.multiply(rot.from_matrix(rest_frames @ np.swapaxes(palm_frames, -1, -2)), wrist[valid])
    return rotations


def hand_frames(hand: Floats, side: Side) -> Floats:
    """Return frames (F, 3, 3) of hands: +Y along the hand, +Z out of its back.

    hand: (F, 3, 3) the wrist, and the MCP joints of the index and the little finger, or of the fingers nearest to them.
    """
    wrist, index, little = np.moveaxis(hand, 1, 0)
    across = (little - index) * (1.0 if side == "right" else -1.0)
    along = (index + little) / 2 - wrist
    return rot.frame_from_yz(along, np.cross(across, along))
