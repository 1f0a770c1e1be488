"""WebXR and OpenXR hands: 25 or 26 joints, metres, Y up.

There is no standard file format. Supported are JSON frames with hands by name or in a list; joints by name (WebXR's,
OpenXR's XR_HAND_JOINT_..._EXT, or similar) or in the standards' order; each joint as numbers, as {x, y, z}, with its
position inside (IWER, Handy and recorders built on three.js), or as a 4x4 matrix. The static .handpose of handy-work is
read, too. Specifications: https://www.w3.org/TR/webxr-hand-input-1/ and XR_EXT_hand_tracking of OpenXR.
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
    """True if one of the first frames has a hand of 25 or 26 joints, or joints by name."""
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
    """The frames of a document, which is its only frame if it is a single hand."""
    return [document] if _joints(document) is not None else frames_of(document)


def _merge_equal_times(times: Floats, hands: list[list[HandSample]]) -> tuple[Floats, list[list[HandSample]]]:
    """Merge consecutive rows of equal time into one frame: some recorders write each hand in its own row."""
    rows = zip(times.tolist(), hands, strict=True)
    groups = [
        (time, [hand for _, row in group for hand in row]) for time, group in groupby(rows, key=lambda row: row[0])
    ]
    return np.array([time for time, _ in groups]), [row for _, row in groups]


def _hands(frame: Json) -> list[HandSample]:
    """The hands of a frame in any of the supported structures."""
    if isinstance(frame, list):
        joints = _joints(frame)
        if joints is not None:
            return [HandSample.of("hand", joints)]
        return [sample for hand in frame[:MAX_HANDS] for sample in _hand(hand, claim_from(hand))]
    if not isinstance(frame, dict):
        return []
    inside = frame.get("hands", frame.get("data"))
    if isinstance(inside, list):
        return [sample for hand in inside[:MAX_HANDS] for sample in _hand(hand, claim_from(hand))]
    holder = inside if isinstance(inside, dict) else frame
    sides = [key for key in holder if key.lower().replace("hand", "").strip("_- ") in {"left", "right", "l", "r"}]
    if sides:
        return [sample for key in sides for sample in _hand(holder[key], claim_from(key))]
    return _hand(holder, claim_from(frame))


def _hand(value: Json, claim: str) -> list[HandSample]:
    """A list of the hand in `value`, empty if there is none."""
    for key in _JOINT_KEYS:
        if isinstance(value, dict) and key in value:
            value = value[key]
    joints = _joints(value)
    return [] if joints is None else [HandSample.of(claim, joints)]


def _joints(value: Json) -> Floats | None:
    """(26, 3) in the order of OPENXR_JOINTS, NaN where a joint is missing; None if `value` is not a hand."""
    if isinstance(value, list):
        points = points_from(value, (len(JOINTS), len(OPENXR_JOINTS)))
        if points is not None and not _named(value):
            # OpenXR's 26 joints are a palm, then WebXR's 25.
            palm = np.full((len(OPENXR_JOINTS) - len(points), 3), np.nan)
            whole: Floats = np.concatenate([palm, points])
            return whole
        value = {name: item for item in value[:64] if isinstance(item, dict) and (name := _name(item))}
    if not isinstance(value, dict):
        return None
    found = {joint: point for key, item in value.items() if (joint := parse_joint(key)) and (point := point_from(item))}
    if len(found) < 3:
        return None
    joints = np.full((len(OPENXR_JOINTS), 3), np.nan)
    for joint, point in found.items():
        joints[_INDEX[joint]] = point
    return joints


def _name(item: dict[str, Json]) -> str | None:
    name = next((item[key] for key in ("name", "joint", "jointName", "id") if key in item), None)
    return name if isinstance(name, str) else None


def _named(value: list[Json]) -> bool:
    return isinstance(value[0], dict) and _name(value[0]) is not None


def _unit(frames: list[list[HandSample]]) -> str:
    """The unit in which the hands have the size of hands: some recorders write millimetres."""
    sizes = [hand.extent for hands in frames for hand in hands if hand.extent > 0]
    size = float(np.median(sizes)) if sizes else 0.2
    return "m" if size < 1.5 else "cm" if size < 40 else "mm"


def sniff_pose(head: bytes) -> bool:
    """True if the bytes start as a .handpose does: 25 as a float, then the identity matrix of the wrist."""
    return len(head) >= 8 and struct.unpack_from("<2f", head) == (25.0, 1.0)


def read_pose(data: bytes, source: str) -> Recording:
    """Read a .handpose: floats for 25, 25 matrices of the left hand, 25 of the right, and a weight for each.

    Raises CaptureError if the file's length differs.
    """
    need = 4 * (1 + 2 * _POSE_FLOATS + 2 * len(JOINTS))
    if len(data) != need:
        raise CaptureError(f"{source}: {len(data)} bytes, a handpose of two hands of {len(JOINTS)} joints has {need}")
    values = float32_values(data)[1 : 1 + 2 * _POSE_FLOATS]
    positions = values.reshape(1, 2 * len(JOINTS), 16)[..., 12:15]
    return Recording(
        format="WebXR handpose",
        names=tuple(f"{side}:{joint}" for side in ("left", "right") for joint in JOINTS),
        positions=positions,
        unit="m",
        up="y",
        up_is_defined=True,
        warnings=("a pose without time: one frame, each hand in the space of its own wrist",),
    )
