"""How far a joint turns: a swing inside an irregular cone, then a twist inside a range.

A joint turns by R = S · T. T turns by `twist` about the joint's twist axis. S is the shortest turn that brings that
axis to where it ends, written as the vector axis · angle; it has no part along the twist axis. So three angles say all:

    turns (..., 3) rad = swing about the side axis, twist, swing about the third axis

The cone of FABRIK's section on limits is four quarters of ellipses, one a quadrant. The paper draws them on a plane
before the joint, where they end at 90 degrees. Drawn in the angles of the swing they are the same four ellipses, go on
to 180 degrees, and their inside is convex. A hinge is a joint without a cone that twists about the hinge's axis, a
fixed joint has neither: every joint is one and the same thing with other numbers.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand.rotations import about, multiply

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FULL_SWING = np.pi - 1e-9
"""rad: a cone as wide as this in each of its directions is no limit."""
FULL_TWIST = 2 * np.pi - 1e-9
"""rad: a range as wide as this is no limit."""
THIN = 1e-10
"""rad: what a cone that is closed on a side is taken as while the nearest swing in it is looked for."""


def rotations(axes: Floats, turns: Floats) -> Floats:
    """(..., 4) unit quaternions S · T of turns (..., 3) about axes (..., 3, 3), columns side, twist and third axis."""
    vector = swing_vector(axes, turns)
    half = np.linalg.norm(vector, axis=-1, keepdims=True) / 2
    swing = np.concatenate([np.cos(half), np.sinc(half / np.pi) * vector / 2], -1)
    q: Floats = multiply(swing, about(axes[..., 1], turns[..., 1]))
    return q


def matrices(axes: Floats, turns: Floats) -> Floats:
    """(..., 3, 3) the same as matrices."""
    twist = skew(axes[..., 1])
    angle = turns[..., 1, None, None]
    m: Floats = swing_matrices(axes, turns) @ (
        np.eye(3) + np.sin(angle) * twist + (1 - np.cos(angle)) * (twist @ twist)
    )
    return m


def swing_matrices(axes: Floats, turns: Floats) -> Floats:
    """(..., 3, 3) the S of turns (..., 3): exp [s] = cos θ + sin θ/θ [s] + (1 − cos θ)/θ² s sᵀ, θ = |s|."""
    vector = swing_vector(axes, turns)
    angle = np.sqrt((vector * vector).sum(-1))[..., None, None]
    outer = vector[..., :, None] * vector[..., None, :]
    m: Floats = np.cos(angle) * np.eye(3) + np.sinc(angle / np.pi) * skew(vector)
    m += np.sinc(angle / (2 * np.pi)) ** 2 / 2 * outer
    return m


def swing_vector(axes: Floats, turns: Floats) -> Floats:
    """(..., 3) axis · angle of the swing, in the joint's frame."""
    vector: Floats = turns[..., :1] * axes[..., 0] + turns[..., 2:] * axes[..., 2]
    return vector


def swing_to(axes: Floats, heading: Floats, before: Floats) -> Floats:
    """(..., 2) the swing that brings the twist axis to the unit vector `heading` (..., 3).

    Straight back is reached by a swing of π in any direction: then it is the direction of the turns `before` (..., 3).
    """
    across = cross(axes[..., 1], heading)
    bend = np.stack([(across * axes[..., 0]).sum(-1), (across * axes[..., 2]).sum(-1)], -1)
    sine = np.linalg.norm(bend, axis=-1, keepdims=True)
    cosine = (axes[..., 1] * heading).sum(-1, keepdims=True)
    last = before[..., ::2]
    length = np.linalg.norm(last, axis=-1, keepdims=True)
    back = np.where(length > 1e-9, last / np.maximum(length, 1e-9), np.array([1.0, 0.0]))
    direction = np.where(sine > 1e-12, bend / np.maximum(sine, 1e-12), np.where(cosine < 0, back, 0.0))
    swing: Floats = np.arctan2(sine, cosine) * direction
    return swing


def clamp(cone: Floats, twist: Floats, turns: Floats) -> Floats:
    """The turns (..., 3), or the nearest inside cones (..., 4) and twist ranges (..., 2).

    A turn that nothing limits is wrapped to the shorter way round.
    """
    result = np.empty(np.broadcast_shapes(turns.shape, (*cone.shape[:-1], 3)))
    result[..., ::2] = clamp_swing(cone, turns[..., ::2])
    result[..., 1] = clamp_twist(twist, turns[..., 1])
    return result


def clamp_twist(twist: Floats, angle: Floats) -> Floats:
    """Angles (...), or the nearer end of the ranges (..., 2)."""
    low, high = twist[..., 0], twist[..., 1]
    middle = (low + high) / 2
    clamped: Floats = np.clip(middle + wrapped(angle - middle), low, high)
    return clamped


def clamp_swing(cone: Floats, swing: Floats) -> Floats:
    """Swings (..., 2), or the nearest inside cones (..., 4): largest swing about +side, +third, −side, −third."""
    angle = np.linalg.norm(swing, axis=-1, keepdims=True)
    full = np.all(cone >= FULL_SWING, axis=-1)[..., None]
    swing = np.where(full & (angle > np.pi), swing * (1 - 2 * np.pi / np.maximum(angle, np.pi)), swing)
    semi = semi_axes(cone, swing)
    outside = (((swing / semi) ** 2).sum(-1, keepdims=True) > 1.0) & ~full
    if not outside.any():
        return swing
    inside = np.where(outside, np.copysign(_nearest_on_ellipse(semi, np.abs(swing)), swing), swing)
    return np.where(semi <= THIN, 0.0, inside)


def semi_axes(cone: Floats, swing: Floats) -> Floats:
    """(..., 2) those of the ellipse of the quadrant that a swing (..., 2) is in."""
    semi: Floats = np.maximum(np.where(swing >= 0, cone[..., :2], cone[..., 2:]), THIN)
    return semi


def let(cone: Floats, swing: Floats, wish: Floats) -> tuple[Floats, Floats]:
    """What of a change is left to swings (..., 2) that wish to go there (..., 2), and how the way curves, 1/rad.

    Both are matrices (..., 2, 2). On the edge of its cone a swing that would leave may only go along the edge, which
    turns inwards; the curvature is that, times how hard it is pushed outwards. Inside there is all and none.
    """
    shut = (swing == 0) & (np.where(wish > 0, cone[..., :2], cone[..., 2:]) <= THIN)
    semi = semi_axes(cone, swing)
    slope = np.where(shut, 0.0, swing / semi**2)
    steep = np.maximum(np.linalg.norm(slope, axis=-1, keepdims=True), 1e-100)
    normal = slope / steep
    on_edge = (((swing / semi) ** 2).sum(-1) > 1 - 1e-9) & ~np.all(cone >= FULL_SWING, axis=-1)
    push = (normal * wish).sum(-1)
    normal = normal * (on_edge & (push > 0))[..., None]
    along = (np.eye(2) - normal[..., :, None] * normal[..., None, :]) * ~(shut[..., :, None] | shut[..., None, :])
    # Of F = x²/a² + y²/b²: (F_xx F_y² + F_yy F_x²) / |∇F|³.
    bend = (slope[..., ::-1] ** 2 / semi**2).sum(-1) / steep[..., 0] / steep[..., 0] / steep[..., 0]
    return along, (bend * push * normal.any(-1))[..., None, None] * along


def _nearest_on_ellipse(semi: Floats, point: Floats) -> Floats:
    """(..., 2) the point of a quarter ellipse nearest to a point (..., 2) of that quarter.

    Each step takes the ellipse for the circle that touches it best there, centred on its evolute.
    """
    a, b = semi[..., 0], semi[..., 1]
    x, y = point[..., 0], point[..., 1]
    cosine = np.full(np.broadcast_shapes(a.shape, x.shape), np.sqrt(0.5))
    sine = cosine
    for _ in range(6):
        centre_x, centre_y = (a * a - b * b) * cosine * cosine * cosine / a, (b * b - a * a) * sine * sine * sine / b
        radius = np.hypot(a * cosine - centre_x, b * sine - centre_y)
        away = np.maximum(np.hypot(x - centre_x, y - centre_y), 1e-300)
        cosine = np.clip(((x - centre_x) * radius / away + centre_x) / a, 0.0, 1.0)
        sine = np.clip(((y - centre_y) * radius / away + centre_y) / b, 0.0, 1.0)
        length = np.maximum(np.hypot(cosine, sine), 1e-300)
        cosine, sine = cosine / length, sine / length
    return np.stack([a * cosine, b * sine], -1) * (1 - 1e-12)


def wrapped(angle: Floats) -> Floats:
    """The same angle in −π..π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


def cross(a: Floats, b: Floats) -> Floats:
    """(..., 3) a × b. numpy's own takes ten times as long for a few vectors."""
    product: Floats = a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]
    return product


def skew(vector: Floats) -> Floats:
    """(..., 3, 3) the matrices [v] of vectors (..., 3), [v] w = v × w."""
    matrix = np.zeros((*vector.shape, 3))
    matrix[..., _LAST, _NEXT] = vector
    matrix[..., _NEXT, _LAST] = -vector
    return matrix
