"""Nearest points: on a sphere, circle, plane or line, to a point, sphere or circle.

Every function takes floats or arrays. Every degenerate case returns a finite point on the object.
"""

import numpy as np

from . import generated as g
from .generated import Circle, Line, Plane, Sphere, T, Vector
from .objects import (
    E3,
    add,
    centre,
    circle_parameters,
    cross,
    dot,
    pair_points,
    perpendicular,
    position_of,
    scaled,
    select,
    subtract,
    unit,
)
from .scalars import any_true, choose, safe_divide, safe_inverse, safe_sqrt

AXIS_TOLERANCE = 1e-12
"""Distance from a circle's axis, relative to the radius and the distance from the origin, that counts as zero."""

MAX_STEPS = 60
"""Maximum number of Newton steps for the point of a line nearest to a circle; usually about six are taken."""

STEP_TOLERANCE = 1e-15
"""Length of a Newton step, relative to the circle's radius, below which the iteration ends."""


def nearest_on_sphere(middle: Vector[T], radius: T, x: Vector[T]) -> Vector[T]:
    """Return the point of a sphere nearest to x; middle + radius e3 if x is the centre, to which all are equally near.

    The line through x and the centre meets the sphere in a pair (FABRIK-CGA 3.10-3.12) whose points are
    middle ± radius (x - middle)/|x - middle|, of which + has the larger inner product with x (3.13).
    """
    return add(middle, unit(subtract(x, middle), E3), radius)


def nearest_on_circle(circle: Circle[T], x: Vector[T]) -> Vector[T]:
    """Return the point of a circle nearest to x, FABRIK-CGA (3.14)-(3.19); see circle_side in tools/cga_definitions.py.

    If x is on the axis, to which all points are equally near, the result is a fixed one that depends on the circle
    alone. If the circle is a point or imaginary, the result is its centre.
    """
    flat, side = g.circle_centre(circle), g.circle_side(circle, x)
    scale = safe_inverse(flat.eoi)
    square = g.square_circle(circle) * scale
    on_axis = dot(side, side) * scale <= AXIS_TOLERANCE * AXIS_TOLERANCE * (dot(x, x) + abs(square))
    if any_true(on_axis):
        plane = g.circle_plane(circle)
        side = select(choose(on_axis, 1.0, 0.0), perpendicular(Vector(plane.e1, plane.e2, plane.e3)), side)
    arm = g.circle_arm(circle, side)
    middle = scaled(Vector(flat.e1i, flat.e2i, flat.e3i), scale)
    return add(middle, arm, safe_sqrt(safe_divide(square, dot(arm, arm))))


def foot_on_plane(plane: Plane[T], x: Vector[T]) -> Vector[T]:
    """Return the point of a plane nearest to x."""
    return position_of(g.foot_plane(plane, x))


def foot_on_line(line: Line[T], x: Vector[T]) -> Vector[T]:
    """Return the point of a line nearest to x."""
    return position_of(g.foot_line(line, x))


def nearest_on_line_from_sphere(line: Line[T], sphere: Sphere[T], x: Vector[T]) -> Vector[T]:
    """Return the point of a line nearest to a sphere (FABRIK-CGA, exercise 3.2a); of two intersections the nearer to x.

    If the line misses the sphere (B² < 0), the nearest point is the foot of the perpendicular from the centre, halfway
    between the imaginary points of the pair; if it touches the sphere, it is the point of contact.
    """
    ends = pair_points(g.meet_line_sphere(line, sphere))
    to_first, to_second = subtract(x, ends.first), subtract(x, ends.second)
    ends_chosen = select(
        choose(dot(to_first, to_first) <= dot(to_second, to_second), 1.0, 0.0), ends.first, ends.second
    )
    return select(choose(ends.case > 0, 1.0, 0.0), ends_chosen, foot_on_line(line, centre(sphere)))


def nearest_on_line_from_circle(line: Line[T], circle: Circle[T]) -> Vector[T]:
    """Return the point of a line nearest to a circle (FABRIK-CGA, exercise 3.2b); of two, the one further along it.

    With t along the line from the foot of the perpendicular from the circle's centre and ρ(t) the distance from the
    circle's axis, ρ² = a t² + 2 b t + c, the squared distance from the circle is t² - 2 r ρ(t) plus a constant. It is
    least where t = r (a t + b) / ρ(t). The right side rises from -r √a to r √a, convex up to t = -b/a and concave
    beyond: the minimum is the outermost solution on one of the two sides, and Newton's method converges to it
    monotonically from outside.
    """
    middle, normal, square, _ = circle_parameters(circle)
    direction = unit(g.line_direction(line), E3)
    foot = foot_on_line(line, middle)
    offset, radius = subtract(foot, middle), safe_sqrt(square)
    tilt, out = cross(direction, normal), cross(offset, normal)
    quadratic = (dot(tilt, tilt), -dot(direction, normal) * dot(offset, normal), dot(out, out))
    reach = radius * safe_sqrt(quadratic[0])
    low, high = _crossing(quadratic, radius, -reach), _crossing(quadratic, radius, reach)
    nearer = _distance_terms(quadratic, radius, low) < _distance_terms(quadratic, radius, high)
    return add(foot, direction, choose(nearer, low, high))


def _distance_terms(quadratic: tuple[T, T, T], radius: T, t: T) -> T:
    """Return the squared distance from the circle at t, less its constant part."""
    a, b, c = quadratic
    return t * t - 2.0 * radius * safe_sqrt((a * t + 2.0 * b) * t + c)


def _crossing(quadratic: tuple[T, T, T], radius: T, t: T) -> T:
    """Solve t = r (a t + b) / ρ(t) by Newton's method; if this side has no solution, the other side has one."""
    a, b, c = quadratic
    bend = a * c - b * b
    bend = choose(bend > 0, bend, 0.0)
    for _ in range(MAX_STEPS):
        rho = safe_sqrt((a * t + 2.0 * b) * t + c)
        slope = 1.0 - radius * safe_divide(bend, rho * rho * rho)
        step = safe_divide(t - radius * safe_divide(a * t + b, rho), choose(slope > 0, slope, 0.0))
        t = t - step
        if not np.any(abs(step) > STEP_TOLERANCE * radius):
            break
    return t
