"""The palm's frame, in which the targets of the fingers are smoothed.

A waving hand moves its fingertips by metres per second, and a filter fast enough to follow lets their noise through.
Relative to the palm they move little. The frame need not be accurate: it is removed before smoothing and restored
afterwards.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics, rotations
from ...hand.joints import BENDING_JOINTS, CHAIN_JOINTS
from ...hand.marker_sets import Spot, on_palm
from ...hand.model import HandModel
from ...hand.rotations import fit_rigid
from ..planar.palm_pose import spans_a_plane
from ..solver import hold_last

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_MOVING_JOINTS = BENDING_JOINTS | {joints[0] for joints in CHAIN_JOINTS.values()}


@dataclass(frozen=True, slots=True, eq=False)
class PalmMarkerSet:
    """The targets fixed to the palm, and their poses on it."""

    sites: Ints
    """(T,)"""
    position_columns: Ints
    """(P,) targets whose positions are fixed to the palm."""
    rest_positions: Floats
    """(P, 3) m, these positions in the wrist's frame."""
    rotation_columns: Ints
    """(R,) targets whose joints do not bend."""
    rest_rotations: Floats
    """(R, 4) unit quaternions, their rotations in the wrist's frame."""


def palm_marker_set(hand: HandModel, sites: Ints) -> PalmMarkerSet:
    """Find the targets that are fixed to the palm."""
    spots = [Spot(hand.joints[hand.sites[site].joint], hand.sites[site].offset) for site in sites]
    position_columns = np.array([i for i, spot in enumerate(spots) if on_palm(spot)], int)
    rotation_columns = np.array([i for i, spot in enumerate(spots) if spot.joint not in _MOVING_JOINTS], int)
    neutral = kinematics.joint_frames(hand, kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs))))
    rest_positions = kinematics.site_positions(hand, neutral)[0, sites[position_columns]]
    joints = [hand.sites[site].joint for site in sites[rotation_columns]]
    return PalmMarkerSet(
        sites, position_columns, rest_positions, rotation_columns, rotations.from_matrix(neutral[0, joints, :3, :3])
    )


def palm_frames(
    palm: PalmMarkerSet, positions: Floats, quaternions: Floats | None, known: tuple[Bools, Bools], last: Floats
) -> Floats:
    """Estimate the wrist's frame, or one near it, in each frame.

    The rotation comes from at least three palm positions that are not in a line, else from a joint that does not bend,
    else from the frame before; the translation from the palm positions, else from the frame before.

    Args:
        palm: the targets on the palm.
        positions: (F, T, 3) m.
        quaternions: (F, T, 4) unit quaternions; None without.
        known: (F, T) each, which of the positions and rotations are known.
        last: (4, 4) the frame before the first.

    Returns:
        (F, 4, 4) T_world_palm.
    """
    palm_positions, visible = positions[:, palm.position_columns], known[0][:, palm.position_columns]
    weights = visible.astype(float)
    seen = np.where(visible[..., None], palm_positions, 0.0)
    spans_plane = spans_a_plane(palm.rest_positions, weights)
    rotation = np.broadcast_to(last[:3, :3], (len(positions), 3, 3)).copy()
    if spans_plane.any():
        rotation[spans_plane] = fit_rigid(
            np.broadcast_to(palm.rest_positions, seen[spans_plane].shape), seen[spans_plane], weights[spans_plane]
        )[:, :3, :3]
    has_rotation = spans_plane
    if quaternions is not None and len(palm.rotation_columns):
        known_rotations = known[1][:, palm.rotation_columns]
        first, rows = known_rotations.argmax(1), np.arange(len(positions))
        wrist = rotations.multiply(
            quaternions[rows, palm.rotation_columns[first]], rotations.conjugate(palm.rest_rotations[first])
        )
        by_joint = known_rotations.any(1) & ~spans_plane
        rotation[by_joint] = rotations.to_matrix(wrist[by_joint])
        has_rotation = has_rotation | by_joint
    result = np.broadcast_to(last, (len(positions), 4, 4)).copy()
    result[:, :3, :3] = hold_last(rotation, has_rotation, last[:3, :3])
    count = weights.sum(1)
    rest_sum = np.einsum("fij,fj->fi", result[:, :3, :3], weights @ palm.rest_positions)
    translation = (np.einsum("fp,fpi->fi", weights, seen) - rest_sum) / np.maximum(count, 1.0)[:, None]
    result[:, :3, 3] = hold_last(translation, count > 0, last[:3, 3])
    return result


def to_frames(frames: Floats, positions: Floats) -> Floats:
    """Transform positions (F, N, 3) from the world into frames (F, 4, 4)."""
    return np.asarray((positions - frames[:, None, :3, 3]) @ frames[:, :3, :3], np.float64)


def from_frames(frames: Floats, positions: Floats) -> Floats:
    """Transform positions (F, N, 3) from frames (F, 4, 4) to the world."""
    return np.asarray(positions @ frames[:, :3, :3].swapaxes(1, 2) + frames[:, None, :3, 3], np.float64)
