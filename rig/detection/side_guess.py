"""Decide between left and right, by how fingers bend and the thumb points at rest, or by weaker evidence if flat."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, Side
from ...hand.rotations import unit_vector

Floats = NDArray[np.float64]
Positions = Mapping[str, Floats]

CLEAR_BEND = np.deg2rad(20.0)
"""Fingers that are bent this much at rest show clearly on which side the palm is."""
CLEAR_THUMB_DROP = 0.2
"""Equally clear evidence: a thumb whose tip is below its base by this fraction of its length."""
CLEAR_BASE_DROP, CLEAR_ARCH = 0.15, 0.1
"""Equally clear evidence, in distances from wrist to knuckles: a thumb base this far below the plane of the palm, or
middle knuckles this far above the outer ones. No pose changes these, so they work for a flat hand."""
NAME_WEIGHT, BODY_WEIGHT = 0.3, 0.15
"""Weights of a name and of the side of the body, relative to a bend of CLEAR_BEND: they decide for a flat hand."""
DECISIVE_SHAPE = 0.3
"""Evidence from the shape above which it alone decides."""


def right_hand_evidence(positions: Positions) -> float:
    """Return evidence from joint positions (joint -> (3,)) for a right hand: −1 surely left, 1 surely right.

    With the fingers up and the index finger on the left, we see the back of a right hand or the palm of a left one.
    Fingers bend towards the palm, the thumb starts and points on the side of the palm, and the knuckles arch away.
    """
    knuckles = [positions[CHAIN_JOINTS[digit][0]] for digit in DIGITS[1:] if CHAIN_JOINTS[digit][0] in positions]
    thumb = [positions[joint] for joint in CHAIN_JOINTS["thumb"] if joint in positions]
    along = np.mean(knuckles, axis=0) - positions["wrist"]
    first = knuckles[0] if len(knuckles) > 1 else thumb[0]
    row = knuckles[-1] - first
    across = unit_vector(row - along * float(row @ along / max(along @ along, 1e-24)))
    back_if_right = np.cross(across, unit_vector(along))
    bends = [_bend(positions, digit, across) for digit in DIGITS[1:]]
    known_bends = [bend for bend in bends if bend is not None]
    fingers = float(np.mean(known_bends)) / CLEAR_BEND if known_bends else 0.0
    size = max(float(np.linalg.norm(along)), 1e-12)
    thumb_drop, base_drop = 0.0, 0.0
    if thumb:
        thumb_length = float(sum(np.linalg.norm(b - a) for a, b in pairwise(thumb)))
        thumb_drop = -float((thumb[-1] - thumb[0]) @ back_if_right) / max(thumb_length, 1e-12)
        base_drop = -float((thumb[0] - positions["wrist"]) @ back_if_right) / size
    inner, outer = knuckles[1:-1] or knuckles, knuckles[:: max(len(knuckles) - 1, 1)]
    arch = float((np.mean(inner, axis=0) - np.mean(outer, axis=0)) @ back_if_right) / size
    return float(np.tanh(fingers + thumb_drop / CLEAR_THUMB_DROP + base_drop / CLEAR_BASE_DROP + arch / CLEAR_ARCH))


def _bend(positions: Positions, digit: str, across: Floats) -> float | None:
    """Return the sum (rad) of a finger's bends towards a right hand's palm, each between −π and π."""
    chain = [positions[joint] for joint in CHAIN_JOINTS[digit] if joint in positions]
    if len(chain) < 3:
        return None
    steps = [unit_vector(b - a) for a, b in pairwise(chain)]
    # Flexion is about −X, and X points from the index to the little finger on a right hand.
    angles = [np.arctan2(np.cross(b, a) @ across, a @ b) for a, b in pairwise(steps)]
    return float(sum(angles))


def decide_side(shape: float, named: Side | None, body: Side | None) -> tuple[Side, float, str | None]:
    """Return the side, the confidence in it (0..1) and any doubt, by the shape, a name and the side of the body."""
    hints = NAME_WEIGHT * _sign(named) + BODY_WEIGHT * _sign(body)
    total = shape if abs(shape) > DECISIVE_SHAPE else shape + hints
    side: Side = "right" if total > 0 or (total == 0 and named == "right") else "left"
    if abs(shape) > DECISIVE_SHAPE:
        doubt = f"its bones are named as a {named} hand's, its shape is a {side} one's"
        return side, abs(shape), None if named in (None, side) else doubt
    evidence = "its names" if named == side else "the side of the body" if body == side else "a slight bend"
    return side, min(abs(total), 1.0), f"it is nearly flat, {evidence} made it a {side} hand"


def _sign(side: Side | None) -> float:
    return {"right": 1.0, "left": -1.0}.get(side or "", 0.0)
