"""The closest pose where a digit's limits keep it from its target: each joint in turn turns as near as it may.

FABRIK ends where its passes no longer help, which within limits is not always the nearest pose. From there every
degree of freedom, outermost first, is set to the angle that brings the end nearest to its goal, or to its limit
(cyclic coordinate descent, Wang & Chen 1991, FABRIK-CGA's reference 15). No step leads away from the goal.
"""

from dataclasses import dataclass

from ...hand.model import Movement
from ...hand.scalar_math import N, NumberFunctions, Point, wrapped


@dataclass(frozen=True, slots=True)
class DigitDof:
    """One degree of freedom of a digit, in the frame that it turns in."""

    dof: int
    movement: Movement
    low: float
    high: float
    """rad"""
    offset: Point[float]
    """m aside, along the bone and out of its back, from this joint's end to the next turn's joint or, of the last turn,
    to what must reach the goal: zero where the next turn is of the same joint."""


EASE = 1e-6
"""How much of the way to the middle of its range each turn goes back. Turns one at a time come to saddles, too, where
none of them helps alone and two together would: this small a step leaves them, and rounding alone would do so at once
for one frame and never for another."""


def approach(
    m: NumberFunctions[N], turns: tuple[DigitDof, ...], angles: tuple[N, ...], goal: Point[N], sweeps: int
) -> tuple[N, ...]:
    """Angles (K,) as near to the goal as stepwise turning gets from angles (K,). All in the digit's base frame.

    In a sweep, the goal is carried outwards into the frame of each turn, then the end inwards: so every turn sees both
    about its own axis.
    """
    now = list(angles)
    for _ in range(sweeps):
        goals = [goal]
        for turn, angle in zip(turns[:-1], now, strict=False):
            x, y, z = _turned(m, turn.movement, -angle, goals[-1])
            goals.append((x - turn.offset[0], y - turn.offset[1], z - turn.offset[2]))
        end: Point[N] = (0.0 * goal[0], 0.0 * goal[0], 0.0 * goal[0])
        for k in reversed(range(len(turns))):
            turn = turns[k]
            end = _carried(end, turn)
            best = m.clip(_bearing(m, turn, end, goals[k], now[k]), turn.low, turn.high)
            now[k] = best + EASE * ((turn.low + turn.high) / 2 - best)
            end = _turned(m, turn.movement, now[k], end)
    return tuple(now)


def reached(m: NumberFunctions[N], turns: tuple[DigitDof, ...], angles: tuple[N, ...], zero: N) -> Point[N]:
    """Where angles (K,) bring what must reach the goal, in the digit's base frame."""
    end: Point[N] = (zero, zero, zero)
    for turn, angle in zip(reversed(turns), reversed(angles), strict=True):
        end = _turned(m, turn.movement, angle, _carried(end, turn))
    return end


def _carried(end: Point[N], turn: DigitDof) -> Point[N]:
    return end[0] + turn.offset[0], end[1] + turn.offset[1], end[2] + turn.offset[2]


def _turned(m: NumberFunctions[N], movement: Movement, angle: N, point: Point[N]) -> Point[N]:
    """A point turned about a movement's axis: Z, Y or -X (see model.AXES)."""
    x, y, z = point
    cos, sin = m.cos(angle), m.sin(angle)
    if movement == "abduction":
        return cos * x - sin * y, sin * x + cos * y, z
    if movement == "twist":
        return cos * x + sin * z, y, cos * z - sin * x
    return x, cos * y + sin * z, cos * z - sin * y


def _bearing(m: NumberFunctions[N], turn: DigitDof, end: Point[N], goal: Point[N], otherwise: N) -> N:
    """The angle by which an end must turn to come nearest to the goal, in the half turn about the middle of its limits.

    Outside its limits that makes the nearer of them the one that leaves the end nearer.
    """
    a, b = {"abduction": (0, 1), "twist": (2, 0), "flexion": (2, 1)}[turn.movement]
    across = end[a] * goal[b] - end[b] * goal[a]
    level = end[a] * goal[a] + end[b] * goal[b]
    middle = (turn.low + turn.high) / 2
    angle = middle + wrapped(m.atan2(across, level) - middle)
    # On the axis itself nothing is gained by turning.
    return m.where(abs(across) + abs(level) > 1e-12, angle, otherwise)
