"""Parse hand recordings in JSON: safe loading, and points, times, rates and sides in their many spellings."""

import json
import math
from typing import Any

import numpy as np

from ...errors import CaptureError
from ..markers import Floats

Json = Any
"""A value of json.loads: dict, list, str, float, bool or None. Integers of any length are parsed as floats."""

MAX_HANDS = 64
"""Maximum number of hands read from a frame. It is above hand_tracks.MAX_TRACKS, beyond which an error is reported."""
MAX_DEPTH = 64
"""Maximum number of levels of nesting; the deepest known recorder has nine."""

MAX_VALUES = 12_000_000
"""Maximum number of values in a document, counted by commas and brackets: 80 MB of Leap frames. A value takes 30 to 200
bytes of memory, as text possibly only two."""


def load(data: bytes, source: str) -> Json:
    """Parse a JSON document. Raises CaptureError, naming the line, if it is not JSON, too large or too deep."""
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise CaptureError(f"{source}: has over {MAX_VALUES} values, the most for JSON: split the take")
    try:
        text = data.decode("utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaptureError(f"{source}: byte {error.start} is not UTF-8 text, expected JSON") from None
    if _depth(data) > MAX_DEPTH:
        raise CaptureError(f"{source}: brackets are nested more than {MAX_DEPTH} deep, expected a recording of hands")
    try:
        return json.loads(text, parse_int=float)
    except json.JSONDecodeError as error:
        raise CaptureError(
            f"{source}, line {error.lineno}, column {error.colno}: not JSON, {error.msg[:60].lower()}"
        ) from None


def _depth(data: bytes) -> int:
    """Return an upper bound of the depth of nested brackets, without recursion; brackets in strings count, too."""
    codes = np.frombuffer(data, np.uint8)
    brackets = np.flatnonzero((codes == 91) | (codes == 93) | (codes == 123) | (codes == 125))
    if not len(brackets):
        return 0
    return int(np.cumsum(np.where((codes[brackets] == 91) | (codes[brackets] == 123), 1, -1)).max())


def point_from(value: Json) -> tuple[float, float, float] | None:
    """Return x, y, z from [x, y, z, ...], {x, y, z}, a 4x4 matrix, or an object that contains one; None otherwise."""
    if isinstance(value, list) and len(value) == 3:
        x, y, z = value
        return (x, y, z) if isinstance(x, float) and isinstance(y, float) and isinstance(z, float) else None
    if isinstance(value, dict):
        for key in ("position", "positionM", "position_m", "pos", "pose", "transform", "p"):
            if key in value:
                return point_from(value[key])
        if "matrix" in value or "offsetMatrix" in value:
            return point_from(value.get("matrix", value.get("offsetMatrix")))
        value = [value.get("x", value.get("X")), value.get("y", value.get("Y")), value.get("z", value.get("Z"))]
    if not isinstance(value, list) or len(value) < 3:
        return None
    # Sixteen numbers are a 4x4 matrix, column by column: the position is its last column.
    x, y, z = value[12:15] if len(value) == 16 else value[:3]
    if isinstance(x, float) and isinstance(y, float) and isinstance(z, float):
        return x, y, z
    return None


_FRAME_KEYS = ("frames", "samples", "recording", "data", "results", "detections", "poses", "sequence")
_TIME_KEYS = {
    1.0: ("t_s", "time_s", "timestamp_s", "timesec", "seconds", "ptsseconds", "timeseconds", "timestampseconds"),
    1e-3: ("t_ms", "tms", "time_ms", "timems", "timestamp_ms", "timestampms", "offsetms", "elapsedms", "elapsed_ms"),
    1e-6: ("timestamp_us", "timestampus", "time_us", "timeus"),
    1e-9: ("timestamp_ns", "timestampns", "time_ns", "timens"),
}
_TIME_UNITS = {key: scale for scale, keys in _TIME_KEYS.items() for key in keys}
_PLAIN_TIME_KEYS = ("t", "time", "timestamp", "ts")
_RATE_KEYS = ("fps", "frame_rate", "framerate", "rate", "sampling_rate", "samplingrate", "hz")


def frames_of(document: Json) -> list[Json]:
    """Return the frames of a recording: the document itself if it is a list, a list in it, or it as the only frame."""
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        for key in _FRAME_KEYS:
            if isinstance(document.get(key), list):
                return list(document[key])
    return [document]


def rate_of(document: Json) -> float | None:
    """Return the frame rate in Hz that the document states, None if it states none."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key.lower() in _RATE_KEYS and isinstance(value, float):
                return value
        for key in ("metadata", "meta", "info", "header"):
            if isinstance(document.get(key), dict) and (rate := rate_of(document[key])) is not None:
                return rate
    return None


def times_of(frames: list[Json], rate: float | None) -> Floats | None:
    """Return the times (F,) in s since the first frame that has a time.

    Without times they follow from frame numbers and `rate`; without these the result is None. Times may be in s, ms, us
    or ns from any origin; if the key does not name the unit, it follows from the step between frames.
    """
    raw = np.full(len(frames), math.nan)
    scale: float | None = None
    for index, frame in enumerate(frames):
        time_and_unit = _time_and_unit(frame)
        if time_and_unit:
            raw[index], scale = time_and_unit
    frames_with_time = np.flatnonzero(np.isfinite(raw))
    if not len(frames_with_time):
        return _times_by_number(frames, rate)
    if scale is None:
        steps = np.abs(np.diff(raw[frames_with_time]))
        step = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
        scale = 1.0 if step < 0.75 else 1e-3 if step < 750 else 1e-6 if step < 750e3 else 1e-9
    times: Floats = (raw - raw[frames_with_time[0]]) * scale
    return times


def time_of(frame: Json) -> float | None:
    """Return the time of a single frame in s, assumed to be in s if the key names no unit; None if it has no time."""
    time_and_unit = _time_and_unit(frame)
    return time_and_unit[0] * (time_and_unit[1] or 1.0) if time_and_unit else None


def _time_and_unit(frame: Json) -> tuple[float, float | None] | None:
    """Return the time of a frame, and its unit in s or None if the key names none; None if the frame has no time."""
    if not isinstance(frame, dict):
        return None
    for key, value in frame.items():
        if isinstance(value, float) and math.isfinite(value) and abs(value) < 1e30:
            name = key.lower()
            if name in _TIME_UNITS:
                return value, _TIME_UNITS[name]
            if name in _PLAIN_TIME_KEYS:
                return value, None
    return None


def _times_by_number(frames: list[Json], rate: float | None) -> Floats | None:
    """Return the times (F,) in s by frame numbers: omitted frames leave a gap. None without numbers or a rate."""
    if not rate or rate <= 0:
        return None
    numbers = [
        next((frame[key] for key in ("frame", "index", "frame_index", "frameIndex") if key in frame), None)
        if isinstance(frame, dict)
        else None
        for frame in frames
    ]
    if not numbers or not all(isinstance(number, float) and abs(number) < 1e15 for number in numbers):
        return None
    frame_numbers = np.array(numbers, np.float64)
    times: Floats = (frame_numbers - frame_numbers[0]) / rate
    return times


def points_from(value: Json, counts: tuple[int, ...]) -> Floats | None:
    """Return points (N, 3) from a list of N points, or from a flat list of N*3, N*7 or N*16 numbers; else None.

    counts: the allowed values of N.
    """
    if not isinstance(value, list):
        return None
    if value and isinstance(value[0], float):
        for size in (3, 7, 16):
            count, rest = divmod(len(value), size)
            if rest == 0 and count in counts:
                value = [value[start : start + size] for start in range(0, len(value), size)]
                break
    if len(value) not in counts:
        return None
    points = [point_from(item) for item in value]
    if all(point is None for point in points):
        return None
    return np.array([point or (math.nan,) * 3 for point in points], np.float64)


def claim_from(value: Json) -> str:
    """Return left, right or hand, from a value such as `Left`, `RIGHT`, {label: ...} or [{categoryName: ...}]."""
    for _ in range(6):
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, dict):
            keys = ("label", "categoryName", "category_name", "classification", "displayName", "handedness", "hand")
            value = next((value[key] for key in keys if key in value), None)
        else:
            break
    text = value.lower() if isinstance(value, str) else ""
    return "left" if text.startswith("l") else "right" if text.startswith("r") else "hand"
