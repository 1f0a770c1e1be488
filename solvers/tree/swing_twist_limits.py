"""Swing-twist parametrisation of a joint, with limits: a swing within an irregular cone and a twist within a range.

A joint's rotation is R = S · T. T is the rotation by the twist about the joint's twist axis. S is the swing: the
shortest rotation from the twist axis to its final direction, as a rotation vector, which is perpendicular to the twist
axis. So a joint has three angles:

    angles (..., 3) rad = swing about the side axis, twist, swing about the third axis

The cone in FABRIK's section on limits is four quarter ellipses, one in each quadrant. The paper draws them on a plane
in front of the joint, which ends at 90 degrees. In the angles of the swing they are the same four ellipses, reach up to
180 degrees, and enclose a convex set. A hinge is a joint with an empty cone whose twist axis is the hinge's axis, and a
fixed joint has no twist either.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand.rotations import cross, from_axis_angle, multiply
from ...hand.scalar_math import wrap_angle

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FULL_SWING = np.pi - 1e-9
"""rad, width in all four directions from which a cone is unlimited."""
FULL_TWIST = 2 * np.pi - 1e-9
"""rad, width from which a twist range is unlimited."""
MIN_SEMI_AXIS = 1e-10
"""rad, minimum semi-axis of a cone, used where it is closed."""


def rotations(axes: Floats, angles: Floats) -> Floats:
    """Return (..., 4) unit quaternions S · T of angles (..., 3) about axes (..., 3, 3), columns side, twist and third
    axis."""
    vector = swing_vector(axes, angles)
    half = np.linalg.norm(vector, axis=-1, keepdims=True) / 2
    swing = np.concatenate([np.cos(half), np.sinc(half / np.pi) * vector / 2], -1)
    q: Floats = multiply(swing, from_axis_angle(axes[..., 1], angles[..., 1]))
    return q


def matrices(axes: Floats, angles: Floats) -> Floats:
    """Return the rotation matrices S · T (..., 3, 3), see `rotations`."""
    twist = skew(axes[..., 1])
    angle = angles[..., 1, None, None]
    m: Floats = swing_matrices(axes, angles) @ (
        np.eye(3) + np.sin(angle) * twist + (1 - np.cos(angle)) * (twist @ twist)
    )
    return m


def swing_matrices(axes: Floats, angles: Floats) -> Floats:
    """Return (..., 3, 3) S of angles (..., 3): exp [s] = cos θ + sin θ/θ [s] + (1 − cos θ)/θ² s sᵀ, θ = |s|."""
    vector = swing_vector(axes, angles)
    angle = np.sqrt((vector * vector).sum(-1))[..., None, None]
    outer = vector[..., :, None] * vector[..., None, :]
    m: Floats = np.cos(angle) * np.eye(3) + np.sinc(angle / np.pi) * skew(vector)
    m += np.sinc(angle / (2 * np.pi)) ** 2 / 2 * outer
    return m


def swing_vector(axes: Floats, angles: Floats) -> Floats:
    """Return the rotation vector (..., 3) of the swing in the joint's frame, rad."""
    vector: Floats = angles[..., :1] * axes[..., 0] + angles[..., 2:] * axes[..., 2]
    return vector


def swing_to(axes: Floats, heading: Floats, previous: Floats) -> Floats:
    """Return the swing (..., 2) that rotates the twist axis to the unit vector `heading` (..., 3).

    The opposite direction is reached by a swing of π about any axis; the axis of the angles `previous` (..., 3) is
    used.
    """
    rotation_axis = cross(axes[..., 1], heading)
    bend = np.stack([(rotation_axis * axes[..., 0]).sum(-1), (rotation_axis * axes[..., 2]).sum(-1)], -1)
    sine = np.linalg.norm(bend, axis=-1, keepdims=True)
    cosine = (axes[..., 1] * heading).sum(-1, keepdims=True)
    last = previous[..., ::2]
    length = np.linalg.norm(last, axis=-1, keepdims=True)
    fallback = np.where(length > 1e-9, last / np.maximum(length, 1e-9), np.array([1.0, 0.0]))
    direction = np.where(sine > 1e-12, bend / np.maximum(sine, 1e-12), np.where(cosine < 0, fallback, 0.0))
    swing: Floats = np.arctan2(sine, cosine) * direction
    return swing


def clamp(cone: Floats, twist: Floats, angles: Floats) -> Floats:
    """Clamp angles (..., 3) to the nearest within cones (..., 4) and twist ranges (..., 2).

    Unlimited swings and twists are wrapped to the shorter rotation.
    """
    result = np.empty(np.broadcast_shapes(angles.shape, (*cone.shape[:-1], 3)))
    result[..., ::2] = clamp_swing(cone, angles[..., ::2])
    result[..., 1] = clamp_twist(twist, angles[..., 1])
    return result


def clamp_twist(twist: Floats, angle: Floats) -> Floats:
    """Clamp angles (...) to ranges (..., 2), to the limit that is nearer around the circle."""
    low, high = twist[..., 0], twist[..., 1]
    middle = (low + high) / 2
    clamped: Floats = np.clip(middle + wrap_angle(angle - middle), low, high)
    return clamped


def clamp_swing(cone: Floats, swing: Floats) -> Floats:
    """Clamp swings (..., 2) to the nearest within cones (..., 4): largest swing about +side, +third, −side, −third."""
    angle = np.linalg.norm(swing, axis=-1, keepdims=True)
    full = np.all(cone >= FULL_SWING, axis=-1)[..., None]
    swing = np.where(full & (angle > np.pi), swing * (1 - 2 * np.pi / np.maximum(angle, np.pi)), swing)
    semi = semi_axes(cone, swing)
    outside = (((swing / semi) ** 2).sum(-1, keepdims=True) > 1.0) & ~full
    if not outside.any():
        return swing
    inside = np.where(outside, np.copysign(_nearest_on_ellipse(semi, np.abs(swing)), swing), swing)
    return np.where(semi <= MIN_SEMI_AXIS, 0.0, inside)


def semi_axes(cone: Floats, swing: Floats) -> Floats:
    """Return the semi-axes (..., 2) of the ellipse in the quadrant of a swing (..., 2)."""
    semi: Floats = np.maximum(np.where(swing >= 0, cone[..., :2], cone[..., 2:]), MIN_SEMI_AXIS)
    return semi


def edge_projection(cone: Floats, swing: Floats, descent: Floats) -> tuple[Floats, Floats]:
    """Return the projection (..., 2, 2) of changes of swings (..., 2) on the cone, and the curvature term (..., 2, 2)
    of its edge.

    descent: (..., 2). A swing on the edge of its cone that would leave it may only move along the edge; the curvature
    term is the edge's curvature, 1/rad, times the outward component of `descent`. Inside the cone the projection is the
    identity, and the curvature term 0.
    """
    closed = (swing == 0) & (np.where(descent > 0, cone[..., :2], cone[..., 2:]) <= MIN_SEMI_AXIS)
    semi = semi_axes(cone, swing)
    gradient = np.where(closed, 0.0, swing / semi**2)
    length = np.maximum(np.linalg.norm(gradient, axis=-1, keepdims=True), 1e-100)
    normal = gradient / length
    on_edge = (((swing / semi) ** 2).sum(-1) > 1 - 1e-9) & ~np.all(cone >= FULL_SWING, axis=-1)
    push = (normal * descent).sum(-1)
    normal = normal * (on_edge & (push > 0))[..., None]
    along = (np.eye(2) - normal[..., :, None] * normal[..., None, :]) * ~(closed[..., :, None] | closed[..., None, :])
    # Curvature of the level set of F = x²/a² + y²/b²: (F_xx F_y² + F_yy F_x²) / |∇F|³.
    curvature = (gradient[..., ::-1] ** 2 / semi**2).sum(-1) / length[..., 0] / length[..., 0] / length[..., 0]
    return along, (curvature * push * normal.any(-1))[..., None, None] * along


def _nearest_on_ellipse(semi: Floats, point: Floats) -> Floats:
    """Return the point (..., 2) of a quarter ellipse nearest to a point (..., 2) in that quadrant.

    Each iteration replaces the ellipse by its osculating circle, whose centre is on the evolute.
    """
    a, b = semi[..., 0], semi[..., 1]
    x, y = point[..., 0], point[..., 1]
    cosine = np.full(np.broadcast_shapes(a.shape, x.shape), np.sqrt(0.5))
    sine = cosine
    for _ in range(6):
        centre_x, centre_y = (a * a - b * b) * cosine * cosine * cosine / a, (b * b - a * a) * sine * sine * sine / b
        radius = np.hypot(a * cosine - centre_x, b * sine - centre_y)
        distance = np.maximum(np.hypot(x - centre_x, y - centre_y), 1e-300)
        cosine = np.clip(((x - centre_x) * radius / distance + centre_x) / a, 0.0, 1.0)
        sine = np.clip(((y - centre_y) * radius / distance + centre_y) / b, 0.0, 1.0)
        length = np.maximum(np.hypot(cosine, sine), 1e-300)
        cosine, sine = cosine / length, sine / length
    return np.stack([a * cosine, b * sine], -1) * (1 - 1e-12)


_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


def skew(vector: Floats) -> Floats:
    """Return the skew-symmetric matrices [v] (..., 3, 3) of vectors (..., 3), [v] w = v × w."""
    matrix = np.zeros((*vector.shape, 3))
    matrix[..., _LAST, _NEXT] = vector
    matrix[..., _NEXT, _LAST] = -vector
    return matrix
