"""WebXR and OpenXR hands: 25 or 26 joints, metres, Y up.

There is no standard file format. JSON frames may contain hands by name or in a list. Joints may be named (as in WebXR,
as OpenXR's XR_HAND_JOINT_..._EXT, or similarly) or in the standards' order. A joint may be three numbers, an {x, y, z}
object, an object with a position (IWER, Handy and recorders built on three.js), or a 4x4 matrix. The static .handpose
of handy-work is also read. Specifications: https://www.w3.org/TR/webxr-hand-input-1/ and OpenXR's XR_EXT_hand_tracking.
"""

import struct
from itertools import groupby

import numpy as np

from ...errors import CaptureError
from ...hand.joints import JOINTS
from ..hand_tracks import HandSample, marker_names, track_hands
from ..marker_labels import OPENXR_JOINTS, parse_joint
from ..markers import Floats
from ..recording import Recording
from .binary_floats import float32_values
from .hand_json import MAX_HANDS, Json, claim_from, frames_of, point_from, points_from, rate_of, times_of

_INDEX = {joint: index for index, joint in enumerate(OPENXR_JOINTS)}
_JOINT_KEYS = ("joints", "jointTransforms", "jointPositions", "jointPoses", "hand_joints", "poses")
_POSE_FLOATS = 16 * len(JOINTS)


def matches(document: Json) -> bool:
    """Return whether one of the first frames has a hand of 25 or 26 joints, or named joints."""
    return any(_hands(frame) for frame in _frames(document)[:200])


def read(document: Json, source: str) -> Recording:
    """Read the joints of every hand. Raises CaptureError if there is no hand."""
    frames = _frames(document)
    rate = rate_of(document)
    times = times_of(frames, rate)
    hands = [_hands(frame) for frame in frames]
    if times is not None:
        times, hands = _merge_equal_times(times, hands)
    names, positions, warnings = track_hands(hands, source)
    labels, positions = marker_names(names, OPENXR_JOINTS, positions)
    unit = _unit(hands)
    return Recording(
        format="WebXR JSON",
        names=labels,
        positions=positions,
        times=times,
        rate=rate,
        unit="m" if unit == "m" else None,
        default_unit=unit,
        up="y",
        up_is_defined=True,
        warnings=warnings,
    )


def _frames(document: Json) -> list[Json]:
    """Return the frames of a document. A document that is a single hand is one frame."""
    return [document] if _joints(document) is not None else frames_of(document)


def _merge_equal_times(times: Floats, hands: list[list[HandSample]]) -> tuple[Floats, list[list[HandSample]]]:
    """Merge consecutive rows with equal times into one frame: some recorders write a row for each hand."""
    rows = zip(times.tolist(), hands, strict=True)
    groups = [
        (time, [hand for _, row in group for hand in row]) for time, group in groupby(rows, key=lambda row: row[0])
    ]
    return np.array([time for time, _ in groups]), [row for _, row in groups]


def _hands(frame: Json) -> list[HandSample]:
    """Return the hands of a frame in any of the supported structures."""
    if isinstance(frame, list):
        joints = _joints(frame)
        if joints is not None:
            return [HandSample.of("hand", joints)]
        return [sample for hand in frame[:MAX_HANDS] for sample in _hand(hand, claim_from(hand))]
    if not isinstance(frame, dict):
        return []
    hands = frame.get("hands", frame.get("data"))
    if isinstance(hands, list):
        return [sample for hand in hands[:MAX_HANDS] for sample in _hand(hand, claim_from(hand))]
    by_side = hands if isinstance(hands, dict) else frame
    sides = [key for key in by_side if key.lower().replace("hand", "").strip("_- ") in {"left", "right", "l", "r"}]
    if sides:
        return [sample for key in sides for sample in _hand(by_side[key], claim_from(key))]
    return _hand(by_side, claim_from(frame))


def _hand(value: Json, claim: str) -> list[HandSample]:
    """Return a list with the hand in `value`; empty if there is none. claim: see HandSample."""
    for key in _JOINT_KEYS:
        if isinstance(value, dict) and key in value:
            value = value[key]
    joints = _joints(value)
    return [] if joints is None else [HandSample.of(claim, joints)]


def _joints(value: Json) -> Floats | None:
    """Return positions (26, 3) in the order of OPENXR_JOINTS, NaN for missing joints; None if `value` is not a hand."""
    if isinstance(value, list):
        points = points_from(value, (len(JOINTS), len(OPENXR_JOINTS)))
        if points is not None and not _has_names(value):
            # OpenXR's 26 joints are a palm, then WebXR's 25.
            palm = np.full((len(OPENXR_JOINTS) - len(points), 3), np.nan)
            with_palm: Floats = np.concatenate([palm, points])
            return with_palm
        value = {name: item for item in value[:64] if isinstance(item, dict) and (name := _name(item))}
    if not isinstance(value, dict):
        return None
    points_by_joint = {
        joint: point for key, item in value.items() if (joint := parse_joint(key)) and (point := point_from(item))
    }
    if len(points_by_joint) < 3:
        return None
    joints = np.full((len(OPENXR_JOINTS), 3), np.nan)
    for joint, point in points_by_joint.items():
        joints[_INDEX[joint]] = point
    return joints


def _name(item: dict[str, Json]) -> str | None:
    name = next((item[key] for key in ("name", "joint", "jointName", "id") if key in item), None)
    return name if isinstance(name, str) else None


def _has_names(value: list[Json]) -> bool:
    return isinstance(value[0], dict) and _name(value[0]) is not None


def _unit(frames: list[list[HandSample]]) -> str:
    """Guess the unit from the size of the hands: some recorders write millimetres."""
    sizes = [hand.extent for hands in frames for hand in hands if hand.extent > 0]
    size = float(np.median(sizes)) if sizes else 0.2
    return "m" if size < 1.5 else "cm" if size < 40 else "mm"


def sniff_pose(head: bytes) -> bool:
    """Return whether bytes start like a .handpose: 25 as a float, then the identity matrix of the wrist."""
    return len(head) >= 8 and struct.unpack_from("<2f", head) == (25.0, 1.0)


def read_pose(data: bytes, source: str) -> Recording:
    """Read a .handpose: the number 25, 25 matrices of the left hand, 25 of the right, and a weight for each, as floats.

    Raises CaptureError for a file of another length.
    """
    expected = 4 * (1 + 2 * _POSE_FLOATS + 2 * len(JOINTS))
    if len(data) != expected:
        raise CaptureError(
            f"{source}: {len(data)} bytes, expected {expected} for a handpose of two hands with {len(JOINTS)} joints"
        )
    values = float32_values(data)[1 : 1 + 2 * _POSE_FLOATS]
    positions = values.reshape(1, 2 * len(JOINTS), 16)[..., 12:15]
    return Recording(
        format="WebXR handpose",
        names=tuple(f"{side}:{joint}" for side in ("left", "right") for joint in JOINTS),
        positions=positions,
        unit="m",
        up="y",
        up_is_defined=True,
        warnings=("a static pose: one frame, with each hand in the coordinates of its own wrist",),
    )
