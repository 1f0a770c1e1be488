"""The start pose of a frame that is solved on its own: from its targets alone, so that no frame depends on another.

Position targets give angles as in the planar solvers: the digit's plane and, in it, the coupled bend in closed form.
Rotation targets give a joint's angles by its rotation relative to its parent. Angles that neither gives start neutral.
"""

import math
from typing import Any

from ...hand.scalar_math import N, NumberFunctions
from .limb_kinematics import SiteTarget, carried, turned
from .limbs import LimbModel


def from_turns(m: NumberFunctions[N], limb: LimbModel, seen: list[SiteTarget[N]], ease: list[float]) -> list[N]:
    """Angles (n,) within limits of the joints that have rotation targets, from the wrist outwards; the others neutral.

    A joint's rotation is Rz Ry Rx, or some of these: the Euler angles of its frame relative to its parent's.
    """
    frames: list[Any] = []
    angles: list[Any] = []
    for number, turn in enumerate(limb.turns):
        frame = turn.begin or carried(frames[turn.before], turn.fixed, turn.offset)
        last = _last_of_joint(limb, number)
        angle: Any = ease[number]
        for each in seen:
            mark = limb.marks[each.mark]
            if each.turn is not None and mark.turn == last and mark.fixed is None:
                found = m.clip(turn.sign * _angle(m, turn.axis, frame, each.turn), limb.low[number], limb.high[number])
                angle = m.where(each.turn_weight > 0, found, angle)
        angles.append(angle)
        frames.append(turned(m, frame, turn.axis, turn.sign, angle)[0])
    return angles


def _last_of_joint(limb: LimbModel, number: int) -> int:
    """The last degree of freedom of the joint to which this one belongs."""
    while number + 1 < len(limb.turns):
        after = limb.turns[number + 1]
        if after.before != number or after.fixed is not None or any(after.offset):
            break
        number += 1
    return number


def _angle(m: NumberFunctions[N], axis: int, frame: Any, turn: Any) -> N:
    """The Euler angle about one axis of a frame that has already been rotated by the angles before it in Rz Ry Rx."""
    fx, fy, fz = frame[:3]
    x, y, z = turn
    if axis == 2:
        return m.atan2(_dot(fy, x), _dot(fx, x))
    if axis == 1:
        return m.atan2(-_dot(fz, x), _dot(fx, x))
    return m.atan2(_dot(fz, y) - _dot(fy, z), _dot(fy, y) + _dot(fz, z))


def _dot(one: Any, other: Any) -> Any:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def begun(planar: float, otherwise: float) -> float:
    """The angle from position targets if there is one, else the other."""
    return planar if math.isfinite(planar) else otherwise
