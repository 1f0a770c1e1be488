"""Positions of a hand's palm joints: under markers on them, or at the centres about which finger markers move."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from ..marker_sets import Spot, on_palm
from ..measurements import Measurement, inlier_mask
from ..proportions import PALM_JOINTS, Proportions, rest_frames_in_wrist

Floats = NDArray[np.float64]

MIN_FRAMES = 5
"""Minimum number of frames in which a marker must be seen; all frames of a shorter capture."""


def marker_at(spots: tuple[Spot, ...], local: Floats, joint: str) -> Floats | None:
    """Return the marker (F, 3) at a joint, None if there is none or it is seen in too few frames."""
    for i, spot in enumerate(spots):
        if spot.joint == joint and not any(spot.offset):
            visible_count = np.isfinite(local[:, i]).all(-1).sum()
            return local[:, i] if visible_count >= min(MIN_FRAMES, len(local)) else None
    return None


def set_palm_joints(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> Proportions:
    """Set palm joints to the median positions of their markers, and the origin to the wrist's marker.

    A knuckle without a marker is estimated by `_fit_knuckle`.
    """
    palm = hand.palm.copy()
    for index, joint in enumerate(PALM_JOINTS):
        marker = marker_at(spots, local, joint)
        if marker is not None:
            palm[index] = np.nanmedian(marker, axis=0)
        elif joint in _KNUCKLE_OF:
            palm[index] = _fit_knuckle(spots, local, _KNUCKLE_OF[joint], palm[index], KNUCKLE_PRIOR_WEIGHT)
    wrist = marker_at(spots, local, "wrist")
    if wrist is not None:
        palm = palm - np.nanmedian(wrist, axis=0)
    return replace(hand, palm=palm)


_KNUCKLE_OF = {CHAIN_JOINTS[digit][0]: digit for digit in DIGITS[1:]}

KNUCKLE_PRIOR_WEIGHT = 0.4
"""Weight of the mean hand's knuckle in the fit of a sphere: it matters in directions in which the marker did not
move."""
PALM_PRIOR_WEIGHT = 0.03
"""Weight of the mean hand's knuckles in `realign_palm_spots`, where all four together determine a rotation."""


def _fit_knuckle(spots: tuple[Spot, ...], local: Floats, digit: str, guess: Floats, prior_weight: float) -> Floats:
    """Estimate a knuckle (3,) as the centre about which the marker on the digit's first bone moves.

    Least squares for |p|² = 2 c·p + (r² − |c|²) over the frames, regularised towards `guess` and towards the upright
    planes through the finger's markers. Without a marker on that bone, the guess is returned.
    """
    marker = _proximal_marker(spots, local, digit)
    if marker is None:
        return guess
    points = marker[np.isfinite(marker).all(-1)]
    mean = points.mean(0)
    centred = points - mean
    scale = 2 * np.sqrt((centred**2).sum(-1).mean())
    row_scale = 1 / np.sqrt(len(centred))
    # The rows of the prior are scaled by the spread: it has the same effect for large and small movements.
    normals, offsets = _upright_planes(spots, local, digit, marker)
    rows = [2 * centred * row_scale, prior_weight * scale * np.eye(3), PLANE_WEIGHT * scale * normals]
    rhs = [
        (centred**2).sum(-1) * row_scale,
        prior_weight * scale * (guess - mean),
        PLANE_WEIGHT * scale * (offsets - normals @ mean),
    ]
    radius = np.concatenate([np.full(len(centred), row_scale), np.zeros(3 + len(normals))])
    fitted = np.linalg.lstsq(np.c_[np.concatenate(rows), radius], np.concatenate(rhs), rcond=None)[0]
    centre: Floats = fitted[:3] + mean
    return centre


PLANE_WEIGHT = 0.2
"""Weight of the constraint that a knuckle lies in the plane of its finger's markers."""


def _proximal_marker(spots: tuple[Spot, ...], local: Floats, digit: str) -> Floats | None:
    """Return the marker (F, 3) on a finger's first bone; None if there is none or it is rarely seen."""
    first, second = CHAIN_JOINTS[digit][:2] if digit else ("", "")
    candidates = [i for i, spot in enumerate(spots) if spot.joint == first and any(spot.offset)]
    candidates += [i for i, spot in enumerate(spots) if spot.joint == second and not any(spot.offset)]
    if not candidates or np.isfinite(local[:, candidates[0]]).all(-1).sum() < MIN_FRAMES:
        return None
    return local[:, candidates[0]]


def _upright_planes(spots: tuple[Spot, ...], local: Floats, digit: str, marker: Floats) -> tuple[Floats, Floats]:
    """Return the planes, perpendicular to the palm, through a digit's marker and that of its tip.

    Returns:
        Unit normals (N, 3) and offsets (N,) m, both divided by the square root of N.
    """
    tips = [i for i, spot in enumerate(spots) if spot.joint == CHAIN_JOINTS[digit][3]]
    if not tips:
        return np.zeros((0, 3)), np.zeros(0)
    normals = np.cross(local[:, tips[0]] - marker, [0.0, 0.0, 1.0])
    length = np.linalg.norm(normals, axis=-1)
    # A finger perpendicular to the palm has no unique upright plane.
    well_defined = length > 0.02
    normals, points = normals[well_defined] / length[well_defined, None], marker[well_defined]
    row_scale = 1 / np.sqrt(max(len(normals), 1))
    return normals * row_scale, (normals * points).sum(-1) * row_scale


def realign_palm_spots(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> tuple[Spot, ...]:
    """Rotate the spots on the back of the hand to make the knuckles coincide with the fingers' centres of motion."""
    palm = [i for i, spot in enumerate(spots) if on_palm(spot)]
    if not all(any(spots[i].offset) for i in palm):
        return spots
    knuckles = np.stack([hand.palm[PALM_JOINTS.index(joint)] for joint in _KNUCKLE_OF])
    fitted = [
        _fit_knuckle(spots, local, d, guess, PALM_PRIOR_WEIGHT)
        for d, guess in zip(_KNUCKLE_OF.values(), knuckles, strict=True)
    ]
    wrist = np.zeros((1, 3))
    transform = rot.fit_rigid(np.concatenate([knuckles, wrist]), np.concatenate([fitted, wrist]), np.ones(5))
    frames = rest_frames_in_wrist(hand)
    mirror = np.array([1.0 if hand.side == "right" else -1.0, 1.0, 1.0])
    result = list(spots)
    for i in palm:
        frame = frames[JOINT_INDEX[spots[i].joint]]
        position = np.linalg.inv(frame) @ np.linalg.inv(transform) @ frame @ [*spots[i].offset_on(hand.side), 1.0]
        x, y, z = position[:3] * mirror
        result[i] = Spot(spots[i].joint, (float(x), float(y), float(z)))
    return tuple(result)


def palm_measurements(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> list[Measurement]:
    """Return the distance, method and uncertainty of each palm joint of a measured hand; distances are to the wrist.

    The standard deviation of a joint under a marker is that of the marker's position; for a joint about which a
    finger's marker moves, it is that of the marker's distance.

    Args:
        hand: the measured proportions.
        spots: where the M markers sit.
        local: (F, M, 3) m, the markers in the wrist's frame.
    """
    result = []
    for joint, position in zip(PALM_JOINTS, hand.palm, strict=True):
        value = 1000 * float(np.linalg.norm(position))
        marker, proximal = marker_at(spots, local, joint), _proximal_marker(spots, local, _KNUCKLE_OF.get(joint, ""))
        if marker is None and proximal is None:
            result.append(Measurement("palm", joint, "by the hand's size", value))
            continue
        method = "under its marker" if marker is not None else "where its finger's marker circles about it"
        distances = np.linalg.norm((marker if marker is not None else proximal) - position, axis=-1)
        deviations = distances if marker is not None else distances - np.nanmedian(distances)
        inliers = inlier_mask(deviations)
        spread = 1000 * float(np.sqrt((deviations[inliers] ** 2).mean())) if inliers.sum() > 1 else None
        result.append(Measurement("palm", joint, method, value, spread, frames=int(inliers.sum())))
    return result
