"""Measure a performer's proportions from a capture: directly where markers sit at joints, else by scaling.

A mean adult's hand is fitted to the markers in four steps: its size from distances on the palm; its knuckles from
markers on them, or as centres of the spheres on which finger markers move; its bones from markers at both ends, or from
the reach of the fingertip; each digit's direction from the joint angles.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from .. import rotations as rot
from ..digit_plane import WIDE_BOUNDS, fit_planes
from ..joints import CHAIN_JOINTS, DIGITS, Side
from ..limits import DEFAULT_LIMITS
from ..marker_sets import Spot, on_palm, palm_visible
from ..measurements import Measurement, mean_and_spread
from ..model import Movement
from ..proportions import PALM_JOINTS, Proportions, adult, site_positions, to_wrist_frame
from .palm_joints import MIN_FRAMES, marker_at, realign_palm_spots, set_palm_joints

Floats = NDArray[np.float64]

MAX_FRAMES = 2000
"""Maximum number of frames that are used, evenly spaced over the take; more do not improve the result."""
MIN_SIZE, MAX_SIZE = 0.04, 0.6
"""m, from the wrist to the middle finger's tip, of a doll and a giant: outside this range the capture's unit is
wrong."""


def measure_proportions(
    side: Side, spots: tuple[Spot, ...], positions: Floats, lengths: Floats | None = None
) -> tuple[Proportions, tuple[Spot, ...]]:
    """Measure the proportions of a hand from its markers.

    Args:
        side: 'left' or 'right'.
        spots: where the M markers sit.
        positions: (F, M, 3) m, NaN where not seen.
        lengths: (5, 3) m, known bone lengths, which are not changed; NaN where unknown.

    Returns:
        The proportions, and the markers' corrected spots: if no marker sits at a palm joint, the spots on the back of
        the hand are moved to make the knuckles coincide with the centres about which the fingers move.

    Raises:
        HandError: no frame shows three palm markers, the hand's size is outside MIN_SIZE..MAX_SIZE, or a palm joint
            would be farther than MAX_SIZE from the wrist.
    """
    positions = positions[:: max(1, len(positions) // MAX_FRAMES)]
    hand = scaled_mean_hand(side, spots, positions)
    visible = positions[frames_with_palm(side, spots, positions)]
    if not MIN_SIZE < hand.size < MAX_SIZE:
        raise HandError(
            f"{side} hand: {hand.size:.3g} m long by its palm markers, expected {MIN_SIZE} to {MAX_SIZE} m: "
            "say in which unit the capture's lengths are (Unit, --unit)"
        )
    for _ in range(3):
        spots = realign_palm_spots(hand, spots, to_wrist_frame(hand, spots, visible))
        hand = set_palm_joints(hand, spots, to_wrist_frame(hand, spots, visible))
        _check_palm(hand)
    local = to_wrist_frame(hand, spots, visible)
    hand = _set_bone_lengths(hand, spots, local, np.full((5, 3), np.nan) if lengths is None else lengths)
    return _set_digit_directions(hand, spots, local), spots


def _check_palm(hand: Proportions) -> None:
    """Raise HandError if joints of the palm are farther from the wrist than any hand is long."""
    distances = np.linalg.norm(hand.palm, axis=-1)
    if not (distances < MAX_SIZE).all():
        farthest = int(np.argmax(distances))
        raise HandError(
            f"{hand.side} hand: by the motion of its markers the {PALM_JOINTS[farthest]} would be "
            f"{distances[farthest]:.3g} m from the wrist, "
            f"expected {MAX_SIZE} m at most: give the labels of the hand's own markers"
        )


def scaled_mean_hand(side: Side, spots: tuple[Spot, ...], positions: Floats) -> Proportions:
    """Scale a mean adult's hand to the mean distance between its palm markers.

    positions: (F, M, 3) m, NaN where not seen.

    Raises:
        HandError: no frame shows three palm markers.
    """
    hand, visible = adult(side), positions[frames_with_palm(side, spots, positions)]
    palm = [i for i, spot in enumerate(spots) if on_palm(spot)]
    rest = site_positions(hand, tuple(spots[i] for i in palm))
    pairs = [(a, b) for a in range(len(palm)) for b in range(a)]
    distances = np.array(
        [_median(np.linalg.norm(visible[:, palm[a]] - visible[:, palm[b]], axis=-1)) for a, b in pairs]
    )
    model_distances = np.array([np.linalg.norm(rest[a] - rest[b]) for a, b in pairs])
    is_finite = np.isfinite(distances)
    return hand.scaled(float(distances[is_finite].sum() / max(model_distances[is_finite].sum(), 1e-6)))


def frames_with_palm(side: Side, spots: tuple[Spot, ...], positions: Floats) -> NDArray[np.bool_]:
    """Return whether at least three palm markers are seen in each frame (F,), which determine the hand's position.

    Raises:
        HandError: there is no such frame.
    """
    with_palm = palm_visible(spots, positions)
    if not with_palm.any():
        count = sum(map(on_palm, spots))
        raise HandError(
            f"{side} hand: {count} palm marker{'' if count == 1 else 's'}, three must be seen in one frame: "
            "the wrist and two knuckles, or three on the back of the hand"
        )
    return with_palm


def _median(values: Floats) -> float:
    """Return the median of the finite values; NaN if there is none."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")


def _set_bone_lengths(hand: Proportions, spots: tuple[Spot, ...], local: Floats, lengths: Floats) -> Proportions:
    """Set bone lengths: the known lengths (5, 3) m, then those of bones with markers at both ends.

    If a digit has unknown bones, these are scaled until the digit reaches its fingertip's marker.
    """
    phalanges = np.where(np.isfinite(lengths), lengths, hand.phalanges)
    for row, digit in enumerate(DIGITS):
        chain = [marker_at(spots, local, joint) for joint in CHAIN_JOINTS[digit]]
        first = hand.first_joints[row]
        ends = [np.broadcast_to(first, (len(local), 3)), *chain[1:]]
        unknown = [bone for bone in range(3) if not np.isfinite(lengths[row, bone])]
        for bone in unknown:
            bone_start, bone_end = ends[bone], ends[bone + 1]
            if bone_start is not None and bone_end is not None:
                phalanges[row, bone] = np.nanmedian(np.linalg.norm(bone_end - bone_start, axis=-1))
        if unknown:
            unknown_length = phalanges[row, unknown].sum()
            stretch = max(
                (_reach(first, spots, local, digit) - phalanges[row].sum() + unknown_length) / unknown_length, 1.0
            )
            all_have_markers = all(joint is not None for joint in chain)
            phalanges[row, unknown] *= min(stretch, MAX_STRETCH) if all_have_markers else stretch
    return replace(hand, phalanges=phalanges)


def bone_measurements(hand: Proportions, spots: tuple[Spot, ...], local: Floats, lengths: Floats) -> list[Measurement]:
    """Return the method and uncertainty of a measured hand's bones.

    Args:
        hand: the measured proportions.
        spots: where the M markers sit.
        local: (F, M, 3) m, the markers in the wrist's frame.
        lengths: (5, 3) m, lengths that were not measured here and are not reported; NaN for the other bones.
    """
    result = []
    for row, digit in enumerate(DIGITS):
        joints = CHAIN_JOINTS[digit]
        first = hand.first_joints[row]
        ends = [np.broadcast_to(first, (len(local), 3)), *(marker_at(spots, local, joint) for joint in joints[1:])]
        has_tip = _reach(first, spots, local, digit) > 0
        for bone in np.flatnonzero(~np.isfinite(lengths[row])):
            bone_start, bone_end, value = ends[bone], ends[bone + 1], 1000 * float(hand.phalanges[row, bone])
            if bone_start is None or bone_end is None:
                method = "by how far the fingertip reaches" if has_tip else "by the hand's size"
                result.append(Measurement("bone", joints[bone], method, value))
                continue
            mean, spread, frames = mean_and_spread(1000 * np.linalg.norm(bone_end - bone_start, axis=-1))
            method = f"over all frames, {100 * (value / mean - 1):+.1f} % for the fingertip to reach its markers"
            result.append(Measurement("bone", joints[bone], method, value, spread, frames=frames))
    return result


MAX_STRETCH = 1.05
"""Maximum factor on the bones' median lengths if all of them are measured: noise exaggerates a finger's reach."""


def _reach(first: Floats, spots: tuple[Spot, ...], local: Floats, digit: str) -> float:
    """Return the distance m from the first joint to the tip of the straight digit; 0 if the tip has no marker.

    It is nearly the largest distance over the frames, not the mean: devices stretch bones by a few per cent from frame
    to frame, and a digit that is too short visibly misses its target, while one that is slightly too long bends by a
    degree more. If the knuckle was estimated, the largest distances are unreliable, and a lower quantile is used.
    """
    is_measured = marker_at(spots, local, CHAIN_JOINTS[digit][0]) is not None
    tips = [i for i, spot in enumerate(spots) if spot.joint == CHAIN_JOINTS[digit][3]]
    if not tips:
        return 0.0
    distances = np.linalg.norm(local[:, tips[0]] - first, axis=-1)
    distances = distances[np.isfinite(distances)]
    if len(distances) < min(MIN_FRAMES, len(local)):
        return 0.0
    # On a straight finger, the marker is y beyond the last bone's end and (x, z) beside it.
    x, y, z = spots[tips[0]].offset
    return float(np.sqrt(max(np.quantile(distances, 0.99 if is_measured else 0.9) ** 2 - x**2 - z**2, 0.0)) - y)


def _set_digit_directions(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> Proportions:
    """Rotate each digit's base by the smallest rotation that brings its joint angles inside the limits."""
    frames = hand.digit_rotations.copy()
    mirror = np.array([1.0 if hand.side == "right" else -1.0, 1.0, 1.0])
    for row, digit in enumerate(DIGITS):
        joints = CHAIN_JOINTS[digit]
        first = hand.first_joints[row]
        chain = [marker_at(spots, local, joint) for joint in joints[1:]]
        base = rot.to_matrix(frames[row])
        if all(joint is not None for joint in chain):
            points = (np.stack([joint for joint in chain if joint is not None], 1) - first) @ base * mirror
            points = points[np.isfinite(points).all((1, 2))]
            correction = _base_correction(joints[0], points) if len(points) else rot.IDENTITY
        else:
            tips = [i for i, spot in enumerate(spots) if spot.joint == joints[3] and digit != "thumb"]
            correction = _abduction_correction(joints[0], (local[:, tips] - first) @ base * mirror)
        # Mirroring in X negates rotations about Y and Z.
        frames[row] = rot.multiply(frames[row], correction * [1.0, 1.0, mirror[0], mirror[0]])
    return replace(hand, digit_rotations=frames)


MIN_STRAIGHTNESS = 0.5
"""Minimum component of a bone's direction along the straight digit for it to determine abduction."""


def _abduction_correction(joint: str, tips: Floats) -> Floats:
    """Return the quaternion (4,) that brings a digit's abduction inside the limits. tips: (N, S, 3) m, tip markers."""
    tips = tips[np.isfinite(tips).all(-1)]
    ahead = tips[tips[:, 1] > MIN_STRAIGHTNESS * np.linalg.norm(tips, axis=-1)]
    return rot.from_axis_angle(
        [0.0, 0.0, 1.0], _shift_into_limits(np.arctan2(-ahead[:, 0], ahead[:, 1]), joint, "abduction")
    )


def _base_correction(joint: str, points: Floats) -> Floats:
    """Return the quaternion (4,) that rotates a digit's base to bring abduction, flexion and twist inside the limits.

    The first bone determines abduction and flexion. The digit's plane determines twist, in the half of the frames with
    the strongest bend.

    points: (N, 3, 3) m, the bones' ends in the base's frame, mirrored for a left hand.
    """
    direction = points[:, 0] / np.linalg.norm(points[:, 0], axis=-1, keepdims=True)
    ahead = direction[:, 1] > MIN_STRAIGHTNESS
    abduction = _shift_into_limits(np.arctan2(-direction[ahead, 0], direction[ahead, 1]), joint, "abduction")
    forward = np.hypot(direction[:, 0], direction[:, 1]) * np.where(direction[:, 1] < 0, -1.0, 1.0)
    flexion = _shift_into_limits(np.arctan2(-direction[:, 2], forward), joint, "flexion")
    correction = rot.multiply(
        rot.from_axis_angle([0.0, 0.0, 1.0], abduction), rot.from_axis_angle([-1.0, 0.0, 0.0], flexion)
    )
    rotated = points @ rot.to_matrix(correction)
    bend = np.linalg.norm(np.cross(rotated[:, 0], rotated[:, 2] - rotated[:, 0]), axis=-1)
    most_bent = rotated[bend >= np.median(bend)]
    _, twist = fit_planes(most_bent[:, ::-1], np.ones(most_bent.shape[:2]), (WIDE_BOUNDS, WIDE_BOUNDS))
    return rot.multiply(correction, rot.from_axis_angle([0.0, 1.0, 0.0], _shift_into_limits(twist, joint, "twist")))


def _shift_into_limits(angles: Floats, joint: str, movement: Movement) -> float:
    """Return the angle in rad to add to a digit's base to bring nine tenths of the angles inside the joint's limits.

    If the angles exceed both limits, the middle of their range is moved to the middle of the limits.
    """
    if not len(angles):
        return 0.0
    low, high = np.deg2rad(DEFAULT_LIMITS[joint, movement])
    observed_low, observed_high = np.quantile(angles, [0.05, 0.95])
    over, under = observed_high - high, observed_low - low
    return float((over + under) / 2 if over > 0 > under else max(over, 0.0) + min(under, 0.0))
