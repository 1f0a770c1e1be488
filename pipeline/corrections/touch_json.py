"""Contacts of two parts of a hand, or of fingertips and an object, as JSON, validated; see correction_json."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import RecipeError
from ...hand.joints import DIGITS, JOINTS
from .correction import ContactChange, HeldOnObject, HeldTouch, ObjectPoint, PalmPlace

Floats = NDArray[np.float64]

BONES = tuple(joint for joint in JOINTS if "phalanx" in joint or joint.endswith("metacarpal"))
"""The joints at which bones that may touch begin."""
MAX_NUMBER = 10.0
"""Maximum magnitude of fractions and components of directions."""
MAX_COORDINATE = 1e9
"""Maximum coordinate of a point on an object, in the object's own unit."""


def contact_to_dict(contact: ContactChange) -> dict[str, Any]:
    """Return a contact as JSON."""
    return touch_to_dict(contact) if isinstance(contact, HeldTouch) else on_object_to_dict(contact)


def touch_to_dict(touch: HeldTouch) -> dict[str, Any]:
    """Return a contact of two parts of a hand as JSON."""
    fractions, direction = (np.round(values, 7).tolist() for values in (touch.shares, touch.direction))
    return {"bones": list(touch.bones), "shares": fractions, "direction": direction}


def touch_from_dict(data: object, where: str) -> HeldTouch:
    """Return a contact of two parts of a hand from JSON. Raises RecipeError naming `where`."""
    if not isinstance(data, Mapping):
        raise RecipeError(f"{where}: found {type(data).__name__}, expected an object with bones, shares and direction")
    bones = data.get("bones")
    if not isinstance(bones, list) or len(bones) != 2 or any(bone not in BONES for bone in bones):
        raise RecipeError(f"{where}: bones is {bones!r:.60}, expected two of {', '.join(BONES)}")
    first, second = _numbers(data, "shares", 2, where).clip(0.0, 1.0).tolist()
    touch = HeldTouch((bones[0], bones[1]), (first, second), _unit(data, "direction", 3, where))
    if not bones[0].endswith("distal") or touch.parts[0] == touch.parts[1]:
        raise RecipeError(f"{where}: bones is {bones!r:.90}, expected the last one of a digit, and one of another part")
    return touch


def on_object_to_dict(change: HeldOnObject) -> dict[str, Any]:
    """Return a contact of a palm and fingertips with an object as JSON."""
    points = [{"digit": point.digit} | _rounded(point, "place", "direction") for point in change.points]
    palm = {} if change.palm is None else {"palm": _rounded(change.palm, "place", "turn")}
    return {"object": change.object, "points": points} | palm


def _rounded(point: ObjectPoint | PalmPlace, *names: str) -> dict[str, list[float]]:
    return {name: np.round(getattr(point, name), 7).tolist() for name in names}


def on_object_from_dict(data: Mapping[str, Any], name: str, where: str) -> HeldOnObject:
    """Return the contact of a palm and fingertips with the object of a name. Raises RecipeError naming `where`."""
    entries, maximum, palm = data.get("points"), len(DIGITS), data.get("palm")
    minimum = 1 if palm is None else 0
    if not isinstance(entries, list) or not minimum <= len(entries) <= maximum:
        raise RecipeError(
            f"{where}: points is {entries!r:.60}, expected {minimum} to {maximum} of a digit, a place and a direction"
        )
    points = tuple(_point(entry, f"{where}, point {row}") for row, entry in enumerate(entries, start=1))
    change = HeldOnObject(name, points, None if palm is None else _palm(palm, f"{where}, palm"))
    if len(set(change.digits)) < len(change.digits):
        raise RecipeError(f"{where}: points are of {', '.join(change.digits)}, expected each digit once")
    return change


def _point(data: object, where: str) -> ObjectPoint:
    if not isinstance(data, Mapping) or set(data) != {"digit", "place", "direction"}:
        raise RecipeError(f"{where}: found {data!r:.60}, expected an object with digit, place and direction")
    if data["digit"] not in DIGITS:
        raise RecipeError(f"{where}: digit is {data['digit']!r:.60}, expected one of {', '.join(DIGITS)}")
    position, direction = _numbers(data, "place", 3, where, MAX_COORDINATE), _unit(data, "direction", 3, where)
    return ObjectPoint(data["digit"], position, direction)


def _palm(data: object, where: str) -> PalmPlace:
    if not isinstance(data, Mapping) or set(data) != {"place", "turn"}:
        raise RecipeError(f"{where}: found {data!r:.60}, expected an object with place and turn")
    return PalmPlace(_numbers(data, "place", 3, where, MAX_COORDINATE), _unit(data, "turn", 4, where))


def _unit(data: Mapping[str, Any], name: str, count: int, where: str) -> Floats:
    """Return a unit vector, or quaternion."""
    values = _numbers(data, name, count, where)
    length = float(np.linalg.norm(values))
    if abs(length - 1.0) > 0.01:
        raise RecipeError(f"{where}: {name} is {length:.3g} long, expected a unit vector of {count} numbers")
    return np.asarray(values / length)


def _numbers(data: Mapping[str, Any], name: str, count: int, where: str, maximum: float = MAX_NUMBER) -> Floats:
    values = data.get(name)
    if not isinstance(values, list) or len(values) != count or not all(_is_number(value, maximum) for value in values):
        raise RecipeError(f"{where}: {name} is {values!r:.60}, expected {count} numbers")
    return np.array(values, float)


def _is_number(value: object, maximum: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= maximum
