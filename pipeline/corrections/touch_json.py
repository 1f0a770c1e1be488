"""Where two parts of a hand touch, as JSON. What is read may be hostile."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import RecipeError
from ...hand.joints import JOINTS
from .correction import HeldTouch

Floats = NDArray[np.float64]

BONES = tuple(joint for joint in JOINTS if "phalanx" in joint or joint.endswith("metacarpal"))
"""The joints at which bones that may touch begin."""
MOST_NUMBER = 10.0
"""Shares and directions are at most 1: more than this is not rounding."""


def touch_to_dict(touch: HeldTouch) -> dict[str, Any]:
    """Return where two parts of a hand touch as JSON."""
    shares, direction = (np.round(values, 7).tolist() for values in (touch.shares, touch.direction))
    return {"bones": list(touch.bones), "shares": shares, "direction": direction}


def touch_from_dict(data: object, where: str) -> HeldTouch:
    """Return where two parts of a hand touch. Raises RecipeError naming `where`."""
    if not isinstance(data, Mapping):
        raise RecipeError(f"{where}: found {type(data).__name__}, expected an object with bones, shares and direction")
    bones = data.get("bones")
    if not isinstance(bones, list) or len(bones) != 2 or any(bone not in BONES for bone in bones):
        raise RecipeError(f"{where}: bones is {bones!r:.60}, expected two of {', '.join(BONES)}")
    first, second = _numbers(data, "shares", 2, where).clip(0.0, 1.0).tolist()
    direction = _numbers(data, "direction", 3, where)
    length = float(np.linalg.norm(direction))
    if abs(length - 1.0) > 0.01:
        raise RecipeError(f"{where}: direction is {length:.3g} long, expected a unit vector x, y, z")
    touch = HeldTouch((bones[0], bones[1]), (first, second), direction / length)
    if not bones[0].endswith("distal") or touch.parts[0] == touch.parts[1]:
        raise RecipeError(f"{where}: bones is {bones!r:.90}, expected the last one of a digit, and one of another part")
    return touch


def _numbers(data: Mapping[str, Any], name: str, count: int, where: str) -> Floats:
    values = data.get(name)
    if not isinstance(values, list) or len(values) != count or not all(map(_is_number, values)):
        raise RecipeError(f"{where}: {name} is {values!r:.60}, expected {count} numbers")
    return np.array(values, float)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST_NUMBER
