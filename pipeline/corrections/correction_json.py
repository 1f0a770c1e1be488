"""Corrections as JSON: in a recipe, in a separate file, and beside a take. All input is validated.

The keys `turns`, `turn` and `place` mean rotations, a rotation and a position. They keep their names so that files of
earlier versions can be read; `turns` of a mapping (rig/mapping.py) does so too.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...errors import KnuckleError, RecipeError
from ...hand import poses
from ...hand.joints import DIGITS, JOINTS, SIDES
from ...solvers import make, make_smoothing
from ..recipe import decode_json
from .correction import (
    KINDS,
    Change,
    ContactChange,
    Correction,
    HeldOnObject,
    HeldTouch,
    HiddenMarkers,
    OtherMethods,
    PoseDifference,
    PoseToHold,
    SwappedLabels,
    TakenMotion,
    TimeRange,
)
from .touch_json import contact_to_dict, on_object_from_dict, touch_from_dict

MAX_CORRECTIONS = 1000
"""Maximum number of corrections of a take."""
MAX_SAMPLES = 5000
"""Maximum number of samples of motion from another take."""
MAX_LABELS = 1000
MAX_TEXT = 200
"""Maximum number of characters of a name or a label."""
MAX_OBJECT_NAME = 255
"""Maximum number of characters of an object's name: Blender 5 stores 255 bytes."""
MAX_TIME = 1e11
"""s, maximum time on a capture's clock."""
FIELDS = (
    *("id", "name", "kind", "hand", "start", "end", "blend_in", "blend_out"),
    *("factor", "factor_keys", "muted", "locked"),
)
"""Fields of all corrections; CHANGES lists the fields of each kind."""


def decode(text: str, where: str) -> tuple[Correction, ...]:
    """Return the corrections of a JSON text. Raises RecipeError naming `where`."""
    return from_list(decode_json(text, where), where)


def encode(corrections: tuple[Correction, ...]) -> str:
    """Return corrections as a JSON text, one per line."""
    lines = ",\n".join(json.dumps(entry) for entry in to_list(corrections))
    return f"[\n{lines}\n]" if lines else "[]"


def from_list(data: object, where: str) -> tuple[Correction, ...]:
    """Return the corrections in decoded JSON; None means no corrections.

    Raises RecipeError naming `where` and what is wrong.
    """
    if data is None:
        return ()
    if not isinstance(data, list) or len(data) > MAX_CORRECTIONS:
        found_text = f"{len(data)} of them" if isinstance(data, list) else type(data).__name__
        raise RecipeError(f"{where}: corrections are {found_text}, expected a list of at most {MAX_CORRECTIONS}")
    corrections = tuple(
        _correction(entry, f"{where}, correction {number}") for number, entry in enumerate(data, start=1)
    )
    seen = set[str]()
    for number, entry in enumerate(corrections, start=1):
        if entry.id in seen:
            raise RecipeError(
                f"{where}, correction {number}: another correction has its id '{entry.id}', expected a unique one"
            )
        seen.add(entry.id)
    return corrections


def to_list(corrections: tuple[Correction, ...]) -> list[dict[str, Any]]:
    """Return corrections as JSON."""
    return [_to_dict(correction) for correction in corrections]


def effect_of(correction: Correction) -> dict[str, Any]:
    """Return the effect of a correction as JSON: all fields but its name and lock."""
    return {name: value for name, value in _to_dict(correction).items() if name not in ("id", "name", "locked")}


def _correction(data: object, where: str) -> Correction:
    if not isinstance(data, dict):
        raise RecipeError(f"{where}: found {type(data).__name__}, expected an object with names and values")
    fields = _Fields(data, where)
    kind = fields.choice("kind", tuple(KINDS))
    read, kind_fields = CHANGES[kind]
    unknown = [name for name in data if name not in (*FIELDS, *kind_fields)]
    if unknown:
        raise RecipeError(f"{where}: '{unknown[0]:.40}' is not known, expected {', '.join((*FIELDS, *kind_fields))}")
    start = fields.number("start", -MAX_TIME, MAX_TIME)
    end = fields.number("end", start, MAX_TIME)
    return Correction(
        id=fields.text("id"),
        name=fields.text("name"),
        hand="left" if fields.choice("hand", SIDES) == "left" else "right",
        range=TimeRange(
            start,
            end,
            fields.number("blend_in", 0.0, MAX_TIME, 0.0),
            fields.number("blend_out", 0.0, MAX_TIME, 0.0),
        ),
        change=read(fields),
        factor=fields.number("factor", 0.0, 1.0, 1.0),
        factor_keys=_factor_keys(fields),
        muted=fields.flag("muted"),
        locked=fields.flag("locked"),
    )


def _factor_keys(fields: "_Fields") -> tuple[tuple[float, float], ...]:
    keys = fields.data.get("factor_keys", [])
    if not isinstance(keys, list) or not all(isinstance(key, list) and len(key) == 2 for key in keys):
        raise RecipeError(f"{fields.where}: factor_keys is {keys!r:.60}, expected pairs of a time and a factor")
    array = fields.numbers("factor_keys", keys, (len(keys), 2)) if keys else np.empty((0, 2))
    if (np.diff(array[:, 0]) <= 0).any() or ((array[:, 1] < 0) | (array[:, 1] > 1)).any():
        raise RecipeError(f"{fields.where}: factor_keys must have increasing times, and factors from 0 to 1")
    return tuple((float(time), float(factor)) for time, factor in array)


def _difference(fields: "_Fields") -> PoseDifference:
    rotations = fields.by_joint("turns")
    return PoseDifference({joint: fields.rotations(f"turns of {joint}", [q], 1)[0] for joint, q in rotations.items()})


def _pose(fields: "_Fields") -> PoseToHold:
    pose_data, digits = fields.data.get("pose"), fields.data.get("digits", list(DIGITS))
    if not isinstance(digits, list) or not digits or any(digit not in DIGITS for digit in digits):
        raise RecipeError(f"{fields.where}: digits is {digits!r:.60}, expected some of {', '.join(DIGITS)}")
    try:
        pose = poses.named(pose_data).name if isinstance(pose_data, str) else poses.from_dict(pose_data, fields.where)
    except KnuckleError as error:
        raise RecipeError(f"{fields.where}: {error}") from error
    return PoseToHold(pose, tuple(digit for digit in DIGITS if digit in digits))


def _motion(fields: "_Fields") -> TakenMotion:
    times, rotations = fields.data.get("times"), fields.by_joint("rotations")
    if not isinstance(times, list) or not 0 < len(times) <= MAX_SAMPLES:
        raise RecipeError(f"{fields.where}: 'times' must list 1 to {MAX_SAMPLES} times in s")
    seconds = fields.numbers("times", times, (len(times),))
    if (np.diff(seconds) <= 0).any():
        raise RecipeError(f"{fields.where}: its times must increase")
    sampled = {joint: fields.rotations(f"rotations of {joint}", q, len(seconds)) for joint, q in rotations.items()}
    source = fields.data.get("source", "")
    return TakenMotion(seconds, sampled, str(source)[:MAX_TEXT])


def _contact(fields: "_Fields") -> HeldTouch:
    return touch_from_dict(fields.data, fields.where)


def _on_object(fields: "_Fields") -> HeldOnObject:
    return on_object_from_dict(fields.data, fields.text("object", max_length=MAX_OBJECT_NAME), fields.where)


def _hide(fields: "_Fields") -> HiddenMarkers:
    return HiddenMarkers(fields.labels(1, MAX_LABELS))


def _swap(fields: "_Fields") -> SwappedLabels:
    first, second = fields.labels(2, 2)
    if first == second:
        raise RecipeError(f"{fields.where}: swaps '{first}' with itself, expected two labels")
    return SwappedLabels((first, second))


def _solve(fields: "_Fields") -> OtherMethods:
    solver, smoothing = fields.text("solver"), fields.text("smoothing", "off")
    settings, smoothing_settings = fields.data.get("settings", {}), fields.data.get("smoothing_settings", {})
    if not isinstance(settings, dict) or not isinstance(smoothing_settings, dict):
        raise RecipeError(f"{fields.where}: settings must be objects with names and values")
    try:
        make(solver, settings)
        make_smoothing(smoothing, smoothing_settings)
    except KnuckleError as error:
        raise RecipeError(f"{fields.where}: {error}") from error
    return OtherMethods(solver, settings, smoothing, smoothing_settings)


CHANGES: Mapping[str, tuple[Callable[["_Fields"], Change], tuple[str, ...]]] = {
    "difference": (_difference, ("turns",)),
    "pose": (_pose, ("pose", "digits")),
    "motion": (_motion, ("times", "rotations", "source")),
    "contact": (_contact, ("bones", "shares", "direction")),
    "object": (_on_object, ("object", "points", "palm")),
    "hide": (_hide, ("labels",)),
    "swap": (_swap, ("labels",)),
    "solve": (_solve, ("solver", "settings", "smoothing", "smoothing_settings")),
}
"""Kind -> the function that reads it, and the fields of this kind alone."""


class _Fields:
    """Reads and validates the values of a correction. All methods raise RecipeError."""

    def __init__(self, data: dict[str, Any], where: str) -> None:
        self.data = data
        self.where = where

    def text(self, name: str, default: str | None = None, max_length: int = MAX_TEXT) -> str:
        value = self.data.get(name, default)
        if not isinstance(value, str) or not 0 < len(value) <= max_length:
            raise RecipeError(f"{self.where}: {name} is {value!r:.60}, expected a text of 1 to {max_length} characters")
        return value

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.data.get(name)
        if not isinstance(value, str) or value not in allowed:
            raise RecipeError(f"{self.where}: {name} is {value!r:.60}, expected one of {', '.join(allowed)}")
        return value

    def number(self, name: str, minimum: float, maximum: float, default: float | None = None) -> float:
        value = self.data.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
            raise RecipeError(f"{self.where}: {name} is {value!r:.60}, expected {minimum:.10g} to {maximum:.10g}")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self.data.get(name, False)
        if not isinstance(value, bool):
            raise RecipeError(f"{self.where}: {name} is {value!r:.60}, expected true or false")
        return value

    def labels(self, minimum: int, maximum: int) -> tuple[str, ...]:
        value = self.data.get("labels")
        if (
            not isinstance(value, list)
            or not minimum <= len(value) <= maximum
            or not all(isinstance(label, str) and 0 < len(label) <= MAX_TEXT for label in value)
        ):
            count = f"{minimum}" if minimum == maximum else f"{minimum} to {maximum}"
            raise RecipeError(f"{self.where}: labels is {value!r:.60}, expected {count} labels of markers")
        return tuple(value)

    def by_joint(self, name: str) -> dict[str, Any]:
        value = self.data.get(name)
        if not isinstance(value, dict) or not value or any(joint not in JOINTS for joint in value):
            raise RecipeError(f"{self.where}: {name} must be an object of joints, as WebXR names them, and rotations")
        return {joint: value[joint] for joint in JOINTS if joint in value}

    def numbers(self, name: str, value: object, shape: tuple[int, ...]) -> Any:
        """Return finite numbers of a shape."""
        try:
            array = np.array(value)
        except ValueError:
            array = np.empty(0)
        if array.shape != shape or array.dtype.kind not in "if" or not (np.abs(array) <= MAX_TIME).all():
            raise RecipeError(f"{self.where}: {name} must be {' x '.join(map(str, shape))} numbers")
        return array.astype(float)

    def rotations(self, name: str, value: object, count: int) -> Any:
        """Return unit quaternions (count, 4)."""
        array = self.numbers(name, value, (count, 4))
        lengths = np.linalg.norm(array, axis=1, keepdims=True)
        if (np.abs(lengths - 1) > 0.01).any():
            raise RecipeError(f"{self.where}: {name} must be unit quaternions w, x, y, z")
        return array / lengths


def _to_dict(correction: Correction) -> dict[str, Any]:
    span = correction.range
    times = {"start": span.start, "end": span.end, "blend_in": span.blend_in, "blend_out": span.blend_out}
    entry: dict[str, Any] = {
        "id": correction.id,
        "name": correction.name,
        "kind": correction.kind,
        "hand": correction.hand,
    }
    entry |= {name: round(time, 6) for name, time in times.items()}
    entry |= {"factor": round(correction.factor, 6), "muted": correction.muted, "locked": correction.locked}
    if correction.factor_keys:
        entry["factor_keys"] = [[round(time, 6), round(factor, 6)] for time, factor in correction.factor_keys]
    return entry | _change_to_dict(correction.change)


def _change_to_dict(change: Change) -> dict[str, Any]:
    if isinstance(change, PoseDifference):
        return {"turns": {joint: np.round(rotation, 7).tolist() for joint, rotation in change.rotations.items()}}
    if isinstance(change, PoseToHold):
        pose = change.pose if isinstance(change.pose, str) else poses.to_dict(change.pose)
        return {"pose": pose, "digits": list(change.digits)}
    if isinstance(change, TakenMotion):
        sampled = {joint: np.round(rotations, 7).tolist() for joint, rotations in change.rotations.items()}
        return {"source": change.source, "times": np.round(change.times, 6).tolist(), "rotations": sampled}
    if isinstance(change, ContactChange):
        return contact_to_dict(change)
    if isinstance(change, OtherMethods):
        return {
            "solver": change.solver,
            "settings": dict(change.settings),
            "smoothing": change.smoothing,
            "smoothing_settings": dict(change.smoothing_settings),
        }
    return {"labels": list(change.labels)}
