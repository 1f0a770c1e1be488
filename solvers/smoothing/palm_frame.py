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
    places: Ints
    """(P,) targets whose positions are fixed to the palm."""
    at_rest: Floats
    """(P, 3) m, these positions in the wrist's frame."""
    turns: Ints
    """(R,) targets whose joints do not bend."""
    turns_at_rest: Floats
    """(R, 4) unit quaternions, their rotations in the wrist's frame."""


def palm_marker_set(hand: HandModel, sites: Ints) -> PalmMarkerSet:
    """Find the targets that are fixed to the palm."""
    spots = [Spot(hand.joints[hand.sites[site].joint], hand.sites[site].offset) for site in sites]
    places = np.array([i for i, spot in enumerate(spots) if on_palm(spot)], int)
    turns = np.array([i for i, spot in enumerate(spots) if spot.joint not in _MOVING_JOINTS], int)
    still = kinematics.joint_frames(hand, kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs))))
    at_rest = kinematics.site_positions(hand, still)[0, sites[places]]
    joints = [hand.sites[site].joint for site in sites[turns]]
    return PalmMarkerSet(sites, places, at_rest, turns, rotations.from_matrix(still[0, joints, :3, :3]))


def palm_frames(
    on: PalmMarkerSet, places: Floats, turns: Floats | None, known: tuple[Bools, Bools], last: Floats
) -> Floats:
    """Estimate the wrist's frame, or one near it, in each frame.

    The rotation comes from at least three palm positions that are not in a line, else from a joint that does not bend,
    else from the frame before; the translation from the palm positions, else from the frame before.

    Args:
        on: the targets on the palm.
        places: (F, T, 3) m.
        turns: (F, T, 4) unit quaternions; None without.
        known: (F, T) each, which of the positions and rotations are known.
        last: (4, 4) the frame before the first.

    Returns:
        (F, 4, 4) T_world_palm.
    """
    here, there = places[:, on.places], known[0][:, on.places]
    weights = there.astype(float)
    seen = np.where(there[..., None], here, 0.0)
    wide = spans_a_plane(on.at_rest, weights)
    turned = np.broadcast_to(last[:3, :3], (len(places), 3, 3)).copy()
    if wide.any():
        turned[wide] = fit_rigid(np.broadcast_to(on.at_rest, seen[wide].shape), seen[wide], weights[wide])[:, :3, :3]
    told = wide
    if turns is not None and len(on.turns):
        sure = known[1][:, on.turns]
        first, rows = sure.argmax(1), np.arange(len(places))
        wrist = rotations.multiply(turns[rows, on.turns[first]], rotations.conjugate(on.turns_at_rest[first]))
        by_joint = sure.any(1) & ~wide
        turned[by_joint] = rotations.to_matrix(wrist[by_joint])
        told = told | by_joint
    result = np.broadcast_to(last, (len(places), 4, 4)).copy()
    result[:, :3, :3] = hold_last(turned, told, last[:3, :3])
    count = weights.sum(1)
    middle = np.einsum("fij,fj->fi", result[:, :3, :3], weights @ on.at_rest)
    moved = (np.einsum("fp,fpi->fi", weights, seen) - middle) / np.maximum(count, 1.0)[:, None]
    result[:, :3, 3] = hold_last(moved, count > 0, last[:3, 3])
    return result


def to_frames(frames: Floats, places: Floats) -> Floats:
    """Transform positions (F, N, 3) from the world into frames (F, 4, 4)."""
    return np.asarray((places - frames[:, None, :3, 3]) @ frames[:, :3, :3], np.float64)


def from_frames(frames: Floats, places: Floats) -> Floats:
    """Transform positions (F, N, 3) from frames (F, 4, 4) to the world."""
    return np.asarray(places @ frames[:, :3, :3].swapaxes(1, 2) + frames[:, None, :3, 3], np.float64)
