"""Closed-form bends that bring a chain's end to a goal: by the coupling, or with the first joint fixed.

With the last joint coupled to the middle one, the end's distance from the base determines the middle bend.
"""

import math
from functools import lru_cache
from typing import Any, Generic, NamedTuple

import numpy as np

from ...hand.scalar_math import ARRAY, SCALAR, N, NumberFunctions, wrap_angle
from .planar_chain import BendResult, ChainLengths, Flexions, end_error

HALLEY_STEPS = 3
"""Iterations for the bend with a given distance: convergence is cubic, three leave 1e-12 m."""
STRAIGHT_TOLERANCE = 1e-5
"""Relative to the reach. A squared distance below the farthest by less than the square of this counts as straight: the
bend grows with the root of the difference and would amplify rounding."""
LIMIT_TOLERANCE_RAD = 1e-9
"""rad, distance from its lower limit within which a last joint counts as leaving it when the middle joint bends.
Straight digits are common, and rounding must not choose between the two slopes there."""
ERROR_TOLERANCE_M = 1e-10
"""m, difference of errors below which the first of two bends is used, so that rounding does not decide."""


class FarthestReach(NamedTuple, Generic[N]):
    """The middle joint's flexion at which the end is farthest from the base, and the squared distance near it."""

    bend: N
    square: N
    """m², squared distance of the end at that flexion."""
    slope: N
    curve: N
    """At a bend greater by x the squared distance is about square - slope · x - curve · x²."""


def bend_coupled(
    m: NumberFunctions[N], bones: ChainLengths, goal: tuple[N, N], coupling_offset: N, far: FarthestReach[N]
) -> BendResult[N]:
    """Return the bend that brings the end to its goal with the last joint coupled to the middle one, with an offset.

    The first joint stays within its limits, which may keep the end off its goal; the digit points at a goal out of
    reach. Flexions of joints beyond the end that nothing determines are NaN.
    """
    u, v = goal
    distance = m.sqrt(u * u + v * v)
    a, b, c = bones.lengths
    if bones.count == 1:
        aim = m.atan2(v, u)
        first = m.clip(aim, *bones.limits[0])
        return first, u * math.nan, u * math.nan, abs(distance - a) + distance * abs(aim - first)
    middle = bend_at_distance(m, bones, distance * distance, coupling_offset, far)
    last = m.clip(bones.ratio * middle + coupling_offset, *bones.limits[2])
    (cos, sin), (cos_both, sin_both) = m.cos_sin(middle), m.cos_sin(middle + last)
    at_u, at_v = a + b * cos + c * cos_both, b * sin + c * sin_both
    aim = m.atan2(v * at_u - u * at_v, u * at_u + v * at_v)
    first = m.clip(aim, *bones.limits[0])
    reach = m.sqrt(at_u * at_u + at_v * at_v)
    # An arc is longer than its chord, so the error is never underestimated.
    return first, middle, last, abs(distance - reach) + distance * abs(aim - first)


def bend_at_distance(
    m: NumberFunctions[N], bones: ChainLengths, square: N, coupling_offset: N, far: FarthestReach[N]
) -> N:
    """Return the middle bend at which the end's squared distance from the base is `square` m².

    With the last joint coupled to the middle one, the distance falls as the middle one bends. A distance out of range
    gives the bend of the farthest reach or the greatest bend. Euler's (Halley's irrational) method: solve the parabola
    with the same value, slope and curvature, starting at the farthest reach.
    """
    highest = bones.limits[1][1]
    minimum = (STRAIGHT_TOLERANCE * sum(bones.lengths)) ** 2
    short = m.where(far.square > square, far.square - square, 0.0)
    attenuation = short / (short + minimum)
    short = short * attenuation
    target = far.square - short
    bend = m.clip(far.bend + _quadratic_step(m, short, far.slope, far.curve), bones.straightest, highest)
    for _ in range(HALLEY_STEPS):
        reached, slope, curve = squared_distance(m, bones, bend, coupling_offset)
        bend = m.clip(
            bend + _quadratic_step(m, attenuation * (reached - target), slope, curve), bones.straightest, highest
        )
    return bend


def _quadratic_step(m: NumberFunctions[N], drop: N, slope: N, curve: N) -> N:
    """Solve slope · x + curve · x² = drop."""
    inside = slope * slope + 4 * curve * drop
    denominator = slope + m.sqrt(m.where(inside > 0, inside, 0.0))
    return 2 * drop / m.where(denominator > 1e-12, denominator, 1e-12)


def squared_distance(m: NumberFunctions[N], bones: ChainLengths, bend: N, coupling_offset: N) -> tuple[N, N, N]:
    """Return the end's squared distance at a middle bend, m², its slope and its curve as in FarthestReach."""
    a, b, c = bones.lengths
    low, high = bones.limits[2]
    free = bones.ratio * bend + coupling_offset
    last = m.clip(free, low, high)
    last_slope = m.where((free > low - LIMIT_TOLERANCE_RAD) & (free < high), bones.ratio, 0.0)
    (cos, sin), (cos_last, sin_last) = m.cos_sin(bend), m.cos_sin(last)
    cos_both, sin_both = cos * cos_last - sin * sin_last, sin * cos_last + cos * sin_last
    square = a * a + b * b + c * c + 2 * (a * b * cos + b * c * cos_last + a * c * cos_both)
    slope = 2 * (a * b * sin + b * c * last_slope * sin_last + a * c * (1 + last_slope) * sin_both)
    curve = (
        a * b * cos
        + b * c * last_slope * last_slope * cos_last
        + a * c * (1 + last_slope) * (1 + last_slope) * cos_both
    )
    return square, slope, curve


def farthest_reach(m: NumberFunctions[N], bones: ChainLengths, coupling_offset: N) -> FarthestReach[N]:
    """Find the farthest reach: straight, unless the last bone is raised or its joint has a coupling offset.

    For small bends it minimises a b x² + b c y² + a c (x + y)², where the last bend y follows the middle bend x or is
    at a limit. Newton's method refines it.
    """
    a, b, c = bones.lengths
    low, high = bones.limits[2]
    ratio = bones.ratio
    weight = a * b + b * c * ratio * ratio + a * c * (1 + ratio) * (1 + ratio)
    bend = -coupling_offset * (b * c * ratio + a * c * (1 + ratio)) / max(weight, 1e-12)
    free = ratio * bend + coupling_offset
    clipped = m.clip(free, low, high)
    # At a limit the last bone is rigidly joined to the middle one, up to the bend at which it leaves the limit.
    rigid = -clipped * a * c / max(a * b + a * c, 1e-12)
    leaves = (clipped - coupling_offset) / ratio if ratio else rigid
    bend = m.where(
        free < low,
        m.where(rigid < leaves, rigid, leaves),
        m.where(free > high, m.where(rigid > leaves, rigid, leaves), bend),
    )
    bend = m.clip(bend, bones.straightest, bones.limits[1][1])
    for _ in range(2):
        _, slope, curve = squared_distance(m, bones, bend, coupling_offset)
        step = m.clip(slope / (2 * m.where(curve > 1e-9, curve, 1e-9)), -0.5, 0.5)
        bend = m.clip(bend - step, bones.straightest, bones.limits[1][1])
    return FarthestReach(bend, *squared_distance(m, bones, bend, coupling_offset))


def bend_with_fixed_first(m: NumberFunctions[N], bones: ChainLengths, goal: tuple[N, N], first: N) -> BendResult[N]:
    """Return the bend with the first joint at `first` and the other two joints bringing the end to its goal, in limits.

    Two bones have at most two solutions by the law of cosines: the joint between them is on two circles (FABRIK-CGA
    3.3, a joint known on both sides). The one bent forwards is chosen unless it is farther off.
    """
    a, b, c = bones.lengths
    twice: Any = 2 * b * c
    u, v = goal
    cos, sin = m.cos_sin(first)
    x, y = u * cos + v * sin - a, v * cos - u * sin
    square = x * x + y * y
    corner = m.acos(m.clip((square - b * b - c * c) / m.where(twice > 1e-12, twice, 1e-12), -1.0, 1.0))
    bearing = m.atan2(y, x)
    cos_corner, sin_corner = m.cos_sin(corner)
    opening = m.atan2(c * sin_corner, b + c * cos_corner)
    return nearer_bend(
        m,
        _clip(m, bones, goal, (first, wrap_angle(bearing - opening), corner)),
        _clip(m, bones, goal, (first, wrap_angle(bearing + opening), -corner)),
    )


def _clip(m: NumberFunctions[N], bones: ChainLengths, goal: tuple[N, N], flexions: Flexions[N]) -> BendResult[N]:
    """Clip the middle and last flexion to their limits and measure the error."""
    first, middle, last = flexions
    middle, last = m.clip(middle, *bones.limits[1]), m.clip(last, *bones.limits[2])
    return first, middle, last, end_error(m, bones, (first, middle, last), goal)


def nearer_bend(m: NumberFunctions[N], bend: BendResult[N], alternative: BendResult[N]) -> BendResult[N]:
    """Return the bend whose end is nearer to its goal."""
    nearer: Any = alternative[3] < bend[3] - ERROR_TOLERANCE_M
    first, middle, last, error = (m.where(nearer, new, old) for new, old in zip(alternative, bend, strict=True))
    return first, middle, last, error


@lru_cache(maxsize=128)
def exact_farthest_reach(bones: ChainLengths) -> FarthestReach[float]:
    """Find the farthest reach with the chain's own coupling offset exactly, by bisection.

    The result is cached for all pieces of a take.
    """
    straight, highest = bones.straightest, bones.limits[1][1]
    tried = np.linspace(straight, highest, 256)
    farthest = float(tried[squared_distance(ARRAY, bones, tried, np.full(256, bones.coupling_offset))[0].argmax()])
    low, high = max(farthest - 0.01, straight), min(farthest + 0.01, highest)
    for _ in range(60):
        mid = (low + high) / 2
        if squared_distance(SCALAR, bones, mid, bones.coupling_offset)[1] > 0:
            high = mid
        else:
            low = mid
    return FarthestReach(high, *squared_distance(SCALAR, bones, high, bones.coupling_offset))
