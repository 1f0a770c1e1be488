"""Left or right: by how fingers bend and the thumb points at rest; for a flat hand, by weaker evidence."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, Side
from ...hand.rotations import unit_vector

Floats = NDArray[np.float64]
Places = Mapping[str, Floats]

BEND_SEEN = np.deg2rad(20.0)
"""A finger bend at rest of this much shows clearly on which side the palm is."""
THUMB_SEEN = 0.2
"""Equally clear evidence: a thumb whose tip is below its base by this share of its length."""
BASE_SEEN, ARCH_SEEN = 0.15, 0.1
"""Equally clear evidence, in distances from wrist to knuckles: a thumb base this far below the plane of the palm, or
middle knuckles this far above the outer ones. No pose changes these, so they work for a flat hand."""
NAME, BODY = 0.3, 0.15
"""Weights of a name and of the side of the body, relative to a bend of BEND_SEEN: they decide for a flat hand."""
CLEAR = 0.3
"""Evidence from the shape above which it alone decides."""


def shape_says(places: Places) -> float:
    """Return evidence from joint positions (joint -> (3,)) for a right hand: −1 surely left, 1 surely right.

    With the fingers up and the index finger on the left we see the back of a right hand or the palm of a left one.
    Fingers bend towards the palm, the thumb begins and points on the palm's side, and the knuckles arch away from it.
    """
    knuckles = [places[CHAIN_JOINTS[digit][0]] for digit in DIGITS[1:] if CHAIN_JOINTS[digit][0] in places]
    thumb = [places[joint] for joint in CHAIN_JOINTS["thumb"] if joint in places]
    along = np.mean(knuckles, axis=0) - places["wrist"]
    first = knuckles[0] if len(knuckles) > 1 else thumb[0]
    row = knuckles[-1] - first
    across = unit_vector(row - along * float(row @ along / max(along @ along, 1e-24)))
    back_if_right = np.cross(across, unit_vector(along))
    bends = [_bend(places, digit, across) for digit in DIGITS[1:]]
    seen = [bend for bend in bends if bend is not None]
    fingers = float(np.mean(seen)) / BEND_SEEN if seen else 0.0
    size = max(float(np.linalg.norm(along)), 1e-12)
    drop, base = 0.0, 0.0
    if thumb:
        drop = -float((thumb[-1] - thumb[0]) @ back_if_right) / max(_length(thumb), 1e-12)
        base = -float((thumb[0] - places["wrist"]) @ back_if_right) / size
    inner, outer = knuckles[1:-1] or knuckles, knuckles[:: max(len(knuckles) - 1, 1)]
    arch = float((np.mean(inner, axis=0) - np.mean(outer, axis=0)) @ back_if_right) / size
    return float(np.tanh(fingers + drop / THUMB_SEEN + base / BASE_SEEN + arch / ARCH_SEEN))


def _bend(places: Places, digit: str, across: Floats) -> float | None:
    """Return the sum (rad) of a finger's bends towards a right hand's palm, each between −π and π."""
    chain = [places[joint] for joint in CHAIN_JOINTS[digit] if joint in places]
    if len(chain) < 3:
        return None
    steps = [unit_vector(b - a) for a, b in pairwise(chain)]
    # Flexion is about −X, and X points from the index to the little finger on a right hand.
    turns = [np.arctan2(np.cross(b, a) @ across, a @ b) for a, b in pairwise(steps)]
    return float(sum(turns))


def _length(chain: list[Floats]) -> float:
    return float(sum(np.linalg.norm(b - a) for a, b in pairwise(chain)))


def decide(shape: float, named: Side | None, body: Side | None) -> tuple[Side, float, str | None]:
    """Return the side, its confidence (0..1) and any doubt, from the shape, a name and the side of the body."""
    hints = NAME * _sign(named) + BODY * _sign(body)
    total = shape if abs(shape) > CLEAR else shape + hints
    side: Side = "right" if total > 0 or (total == 0 and named == "right") else "left"
    if abs(shape) > CLEAR:
        doubt = f"its bones are named as a {named} hand's, its shape is a {side} one's"
        return side, abs(shape), None if named in (None, side) else doubt
    by = "its names" if named == side else "the side of the body" if body == side else "a slight bend"
    return side, min(abs(total), 1.0), f"it is nearly flat, {by} made it a {side} hand"


def _sign(side: Side | None) -> float:
    return {"right": 1.0, "left": -1.0}.get(side or "", 0.0)
