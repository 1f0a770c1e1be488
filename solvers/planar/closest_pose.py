"""Cyclic coordinate descent for digits whose limits keep them from their targets.

FABRIK stops where its passes no longer help, which within limits is not always the nearest pose. From there each degree
of freedom, outermost first, is set to the angle within its limits that brings the end nearest to its goal (Wang & Chen
1991, FABRIK-CGA's reference 15). No step increases the distance.
"""

from dataclasses import dataclass

from ...hand.model import Movement
from ...hand.scalar_math import N, NumberFunctions, Point, wrap_angle


@dataclass(frozen=True, slots=True)
class DigitDof:
    """One degree of freedom of a digit, in its own frame.

    In a batch of several digits, a number that differs between them is an array (N,) with one entry for each row.
    """

    dof: int
    movement: Movement
    low: float
    high: float
    """rad"""
    offset: Point[float]
    """m in X, Y and Z of the rotated frame, from this joint to the joint of the next degree of freedom, or to the end
    effector after the last one; zero if the next one belongs to the same joint."""


CENTRING = 1e-6
"""Fraction by which each angle moves towards the middle of its range after a step. Coordinate descent stalls at
saddles, where two angles would have to change together. This small step leaves saddles reproducibly; rounding would do
so only in some frames."""


def coordinate_descent(
    m: NumberFunctions[N], dofs: tuple[DigitDof, ...], angles: tuple[N, ...], goal: Point[N], sweeps: int
) -> tuple[N, ...]:
    """Run sweeps of cyclic coordinate descent from angles (K,) towards a goal in the digit's base frame.

    A sweep first transforms the goal outwards into the frame of each degree of freedom, then the end inwards, so that
    each degree of freedom has both in its own frame.
    """
    current = list(angles)
    rotations = [m.cos_sin(angle) for angle in current]
    for _ in range(sweeps):
        goals = [goal]
        for joint, (cos, sin) in zip(dofs[:-1], rotations, strict=False):
            x, y, z = _rotate(joint.movement, (cos, -sin), goals[-1])
            goals.append((x - joint.offset[0], y - joint.offset[1], z - joint.offset[2]))
        end: Point[N] = (0.0 * goal[0], 0.0 * goal[0], 0.0 * goal[0])
        for k in reversed(range(len(dofs))):
            joint = dofs[k]
            end = _add_offset(end, joint)
            optimum = m.clip(_best_angle(m, joint, end, goals[k], current[k]), joint.low, joint.high)
            current[k] = optimum + CENTRING * ((joint.low + joint.high) / 2 - optimum)
            rotations[k] = m.cos_sin(current[k])
            end = _rotate(joint.movement, rotations[k], end)
    return tuple(current)


def end_position(m: NumberFunctions[N], dofs: tuple[DigitDof, ...], angles: tuple[N, ...], zero: N) -> Point[N]:
    """Return the end effector's position at angles (K,), in the digit's base frame."""
    end: Point[N] = (zero, zero, zero)
    for joint, angle in zip(reversed(dofs), reversed(angles), strict=True):
        end = _rotate(joint.movement, m.cos_sin(angle), _add_offset(end, joint))
    return end


def _add_offset(end: Point[N], joint: DigitDof) -> Point[N]:
    return end[0] + joint.offset[0], end[1] + joint.offset[1], end[2] + joint.offset[2]


def _rotate(movement: Movement, cos_sin: tuple[N, N], point: Point[N]) -> Point[N]:
    """Rotate a point about a movement's axis, Z, Y or -X (see model.AXES), by an angle's cosine and sine."""
    (cos, sin), (x, y, z) = cos_sin, point
    if movement == "abduction":
        return cos * x - sin * y, sin * x + cos * y, z
    if movement == "twist":
        return cos * x + sin * z, y, cos * z - sin * x
    return x, cos * y + sin * z, cos * z - sin * y


def _best_angle(m: NumberFunctions[N], joint: DigitDof, end: Point[N], goal: Point[N], otherwise: N) -> N:
    """Return the angle at which the end is nearest to the goal, within π of the middle of the limits.

    For an angle outside the limits, clipping then gives the limit that leaves the end nearer.
    """
    a, b = {"abduction": (0, 1), "twist": (2, 0), "flexion": (2, 1)}[joint.movement]
    cross_product = end[a] * goal[b] - end[b] * goal[a]
    dot_product = end[a] * goal[a] + end[b] * goal[b]
    middle = (joint.low + joint.high) / 2
    angle = middle + wrap_angle(m.atan2(cross_product, dot_product) - middle)
    # On the axis itself all angles are equivalent.
    return m.where(abs(cross_product) + abs(dot_product) > 1e-12, angle, otherwise)
