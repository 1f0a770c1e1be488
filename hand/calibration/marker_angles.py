"""Compute joint angles directly from markers, without a solver, for the calibration of couplings and radii."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..digit_plane import WIDE_BOUNDS, fit_planes, plane_axes
from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot
from ..proportions import Proportions

Floats = NDArray[np.float64]

MIN_SEPARATION = 0.008
"""m, minimum distance between two markers of a bone for them to determine its direction."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanarMarkers:
    """One digit's markers in the plane in which it bends, with the first joint at the origin."""

    spots: tuple[Spot, ...]
    """(S,)"""
    positions: Floats
    """(F, S, 2) m: along the straight digit, and towards the palm. NaN where not seen."""


def project_to_plane(hand: Proportions, spots: tuple[Spot, ...], local: Floats, digit: str) -> PlanarMarkers:
    """Project a digit's markers on to its plane.

    Args:
        hand: the hand's proportions.
        spots: where the M markers sit.
        local: (F, M, 3) m, all markers in the wrist's frame.
        digit: the digit's name.
    """
    joints, row = CHAIN_JOINTS[digit], DIGITS.index(digit)
    columns = [i for i, spot in enumerate(spots) if spot.joint in joints]
    digit_spots = tuple(spots[i] for i in columns)
    mirror = np.array([1.0 if hand.side == "right" else -1.0, 1.0, 1.0])
    first = hand.first_joints[row]
    points = (local[:, columns] - first) @ rot.to_matrix(hand.digit_rotations[row]) * mirror
    # All planes go through the first joint, so a marker at that joint does not determine a plane.
    outer_markers = [s for s, spot in enumerate(digit_spots) if spot.joint != joints[0] or any(spot.offset)]
    if not outer_markers:
        return PlanarMarkers(digit_spots, np.full((len(local), len(columns), 2), np.nan))
    is_visible = np.all(np.isfinite(points[:, outer_markers]), axis=-1)
    distances_along = np.array([joints.index(digit_spots[s].joint) + digit_spots[s].offset[1] for s in outer_markers])
    abduction, twist = np.zeros(len(local)), np.zeros(len(local))
    last = np.where(is_visible, distances_along, -np.inf).argmax(axis=1)
    for end in range(len(outer_markers)):
        rows = (last == end) & is_visible[:, end]
        visible = np.where(is_visible[rows, :, None], points[np.ix_(rows, outer_markers)], 0.0)
        end_first = [end, *(other for other in range(len(outer_markers)) if other != end)]
        abduction[rows], twist[rows] = fit_planes(
            visible[:, end_first], is_visible[rows][:, end_first].astype(float), (WIDE_BOUNDS, WIDE_BOUNDS)
        )
    positions = np.einsum("fij,fsj->fsi", plane_axes(abduction, twist)[:, :2], points)
    return PlanarMarkers(digit_spots, np.where(is_visible.any(axis=1)[:, None, None], positions, np.nan))


def flexions(hand: Proportions, spots: tuple[Spot, ...], local: Floats, digit: str) -> Floats:
    """Return flexion (F, 3) rad of a digit's joints, MCP, PIP and DIP (thumb: CMC, MCP, IP); NaN where not seen.

    Each bone's direction is that of the two markers farthest apart on it. If no marker sits on the digit's first joint,
    the joint's position in the palm takes its place.

    Args:
        hand: the hand's proportions.
        spots: where the M markers sit.
        local: (F, M, 3) m, all markers in the wrist's frame.
        digit: the digit's name.
    """
    markers = project_to_plane(hand, spots, local, digit)
    lengths = hand.phalanges[DIGITS.index(digit)]
    directions = np.stack([_bone_angle(markers, digit, bone, lengths) for bone in range(3)], axis=1)
    bends = np.diff(directions, axis=1, prepend=0.0)
    wrapped: Floats = (bends + np.pi) % (2 * np.pi) - np.pi
    return wrapped


def _bone_angle(markers: PlanarMarkers, digit: str, bone: int, lengths: Floats) -> Floats:
    """Return the angle (F,) rad of a bone from the straight digit towards the palm; NaN where undetermined."""
    joints, frames = CHAIN_JOINTS[digit], len(markers.positions)
    on_bone = [
        (_position_on_bone(spot, joints, bone, lengths), markers.positions[:, s])
        for s, spot in enumerate(markers.spots)
    ]
    bone_markers = [(model, positions) for model, positions in on_bone if model is not None]
    if bone == 0 and not any(spot.joint == joints[0] and not any(spot.offset) for spot in markers.spots):
        bone_markers.append((np.zeros(2), np.zeros((frames, 2))))
    result = np.full(frames, np.nan)
    pairs = [(a, b) for b in range(len(bone_markers)) for a in range(b)]
    # The farthest pair comes last and overwrites the nearer ones.
    for a, b in sorted(
        pairs, key=lambda pair: float(np.linalg.norm(bone_markers[pair[0]][0] - bone_markers[pair[1]][0]))
    ):
        model, observed = bone_markers[b][0] - bone_markers[a][0], bone_markers[b][1] - bone_markers[a][1]
        if np.linalg.norm(model) >= MIN_SEPARATION:
            angle = np.arctan2(observed[:, 1], observed[:, 0]) - np.arctan2(model[1], model[0])
            result = np.where(np.isfinite(angle), angle, result)
    return result


def _position_on_bone(spot: Spot, joints: tuple[str, ...], bone: int, lengths: Floats) -> Floats | None:
    """Return the position (2,) m of a marker along a bone and towards the palm; None if it moves with another bone."""
    joint = joints.index(spot.joint)
    _, along, dorsal = spot.offset
    if joint == bone:
        return np.array([along, -dorsal])
    at_bone_end = joint == bone + 1 and (joint == len(joints) - 1 or not any(spot.offset))
    return np.array([lengths[bone] + along, -dorsal]) if at_bone_end else None
