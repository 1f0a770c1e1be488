"""Leap Motion frames as JSON: millimetres, Y up, microseconds.

Two variants are read: frames as the service sends them (objects), and the packed recordings of LeapJS Playback, whose
first frame lists the names of the fields. The header's frameRate is the requested rate, not the actual one, and is not
used.
"""

import numpy as np

from ...hand.joints import DIGIT_JOINTS, DIGITS, JOINTS
from ..hand_tracks import HandSample, marker_names, track_hands
from ..markers import Floats
from ..recording import Recording
from .hand_json import MAX_HANDS, Json, claim_from, frames_of, point_from

LEAP_JOINTS: tuple[str, ...] = (*JOINTS, "elbow")
_INDEX = {joint: index for index, joint in enumerate(LEAP_JOINTS)}

# The bones of each finger start at carp, mcp, pip and dip. The thumb has one bone less: the service gives it a
# metacarpal of zero length (carp = mcp, the CMC joint), so that mcp-pip is the anatomical metacarpal.
_FINGER_FIELDS = ("carpPosition", "mcpPosition", "pipPosition", "dipPosition", "btipPosition")
_FIELDS = (_FINGER_FIELDS[1:], *(_FINGER_FIELDS for _ in DIGITS[1:]))
_DIGITS = tuple(DIGIT_JOINTS[digit] for digit in DIGITS)


def matches(document: Json) -> bool:
    """Return whether a document has frames with `pointables`, as objects or packed."""
    return (
        any("pointables" in _frame(frame, None) for frame in frames_of(document)[:50])
        or _template(document) is not None
    )


def read(document: Json, source: str) -> Recording:
    """Read the joints of every hand. Raises CaptureError if there is no hand."""
    template = _template(document)
    frames = [_frame(frame, template) for frame in frames_of(document)[template is not None :]]
    timestamps = np.array([_number(frame.get("timestamp")) for frame in frames], np.float64)
    names, positions, warnings = track_hands([hands_in(frame) for frame in frames], source)
    labels, positions = marker_names(names, LEAP_JOINTS, positions)
    has_time = np.isfinite(timestamps)
    first = timestamps[has_time][0] if has_time.any() else 0.0
    return Recording(
        format="Leap JSON",
        names=labels,
        positions=positions,
        times=(timestamps - first) * 1e-6 if has_time.any() else None,
        unit="mm",
        up="y",
        up_is_defined=True,
        warnings=warnings,
    )


def _number(value: Json) -> float:
    return value if isinstance(value, float) and abs(value) < 1e30 else np.nan


def _template(document: Json) -> list[Json] | None:
    """Return the list of field names that a packed recording starts with; None for other documents."""
    frames = frames_of(document)
    first = frames[0] if frames else None
    if isinstance(first, list) and any(isinstance(field, dict) and "pointables" in field for field in first):
        return first
    return None


def _frame(frame: Json, template: list[Json] | None) -> dict[str, Json]:
    if template is not None:
        return _unpack(frame, template)
    return frame if isinstance(frame, dict) else {}


def _unpack(row: Json, template: list[Json]) -> dict[str, Json]:
    """Return a packed row of values as an object. {key: [[names]]} in the template stands for a list of objects."""
    result: dict[str, Json] = {}
    if not isinstance(row, list):
        return result
    for spec, value in zip(template, row, strict=False):
        if isinstance(spec, str):
            result[spec] = value
        elif isinstance(spec, dict):
            for key, inner_template in spec.items():
                if (
                    isinstance(inner_template, list)
                    and inner_template
                    and isinstance(inner_template[0], list)
                    and isinstance(value, list)
                ):
                    result[key] = [_unpack(item, inner_template[0]) for item in value]
    return result


def hands_in(frame: dict[str, Json]) -> list[HandSample]:
    """Return the hands of one frame."""
    hands, pointables = frame.get("hands"), frame.get("pointables")
    if not isinstance(hands, list) or not isinstance(pointables, list):
        return []
    fingers: dict[str, list[dict[str, Json]]] = {}
    for pointable in pointables:
        if isinstance(pointable, dict) and not pointable.get("tool"):
            fingers.setdefault(str(pointable.get("handId")), []).append(pointable)
    samples = []
    for hand in hands[:MAX_HANDS]:
        if isinstance(hand, dict):
            hand_id = str(hand.get("id"))
            joints = _joints(hand, fingers.get(hand_id, []))
            if np.isfinite(joints).all(axis=-1).any():
                samples.append(HandSample.of(claim_from(hand.get("type")), joints, hand_id))
    return samples


def _joints(hand: dict[str, Json], fingers: list[dict[str, Json]]) -> Floats:
    """Return (26, 3) in mm in the order of LEAP_JOINTS, NaN where a joint is missing."""
    joints = np.full((len(LEAP_JOINTS), 3), np.nan)
    for name in ("wrist", "elbow"):
        joints[_INDEX[name]] = point_from(hand.get(name)) or np.nan
    for finger in fingers:
        digit = _number(finger.get("type"))
        if digit not in range(5):
            continue
        for name, key in zip(_DIGITS[int(digit)], _FIELDS[int(digit)], strict=True):
            joints[_INDEX[name]] = point_from(finger.get(key)) or np.nan
        tip = _INDEX[_DIGITS[int(digit)][-1]]
        if np.isnan(joints[tip]).any():
            joints[tip] = point_from(finger.get("tipPosition")) or np.nan
    return joints
