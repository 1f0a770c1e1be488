"""The nearest places: on a sphere, a circle, a plane or a line, from a place, a sphere or a circle.

Every function serves floats and arrays alike. Every degenerate case has an answer: finite, and on the object.
"""

import numpy as np

from . import generated as g
from .generated import Circle, Line, Plane, Sphere, T, Vector
from .objects import E3, across, add, centre, cross, dot, ends_of, place, round_of, scaled, select, subtract, unit
from .scalars import anywhere, choose, inverse, quotient, root

NEARLY_ON_AXIS = 1e-12
"""A place this near to a circle's axis, beside how far it is from the origin and the circle large, is on it."""

STEPS = 60
"""At most this many of Newton's steps towards a line's nearest place to a circle; about six are the rule."""

SETTLED = 1e-15
"""A step this small beside the circle's radius is the last."""


def nearest_on_sphere(middle: Vector[T], radius: T, x: Vector[T]) -> Vector[T]:
    """The place on a sphere nearest to x; middle + radius e3 if x is the middle, whence all are as near.

    The line through x and the middle meets the sphere in a pair (FABRIK-CGA 3.10-3.12) whose ends are
    middle ± radius (x - middle)/|x - middle|, of which + has the larger inner product with x (3.13).
    """
    return add(middle, unit(subtract(x, middle), E3), radius)


def nearest_on_circle(circle: Circle[T], x: Vector[T]) -> Vector[T]:
    """The place on a circle nearest to x, FABRIK-CGA (3.14)-(3.19); see circle_side in
    tools/cga_definitions.py.

    From the axis, whence all are as near, any: always the same one for one circle. Of a circle that is a point
    or imaginary, its centre.
    """
    flat, side = g.circle_centre(circle), g.circle_side(circle, x)
    one = inverse(flat.eoi)
    square = g.square_circle(circle) * one
    on_axis = dot(side, side) * one <= NEARLY_ON_AXIS * NEARLY_ON_AXIS * (dot(x, x) + abs(square))
    if anywhere(on_axis):
        plane = g.circle_plane(circle)
        side = select(choose(on_axis, 1.0, 0.0), across(Vector(plane.e1, plane.e2, plane.e3)), side)
    arm = g.circle_arm(circle, side)
    middle = scaled(Vector(flat.e1i, flat.e2i, flat.e3i), one)
    return add(middle, arm, root(quotient(square, dot(arm, arm))))


def foot_on_plane(plane: Plane[T], x: Vector[T]) -> Vector[T]:
    """The place on a plane nearest to x."""
    return place(g.foot_plane(plane, x))


def foot_on_line(line: Line[T], x: Vector[T]) -> Vector[T]:
    """The place on a line nearest to x."""
    return place(g.foot_line(line, x))


def nearest_on_line_from_sphere(line: Line[T], sphere: Sphere[T], x: Vector[T]) -> Vector[T]:
    """The place on a line nearest to a sphere (FABRIK-CGA, exercise 3.2a); of two that are on it, the nearer to x.

    A line that misses the sphere (B² < 0) is nearest where its perpendicular through the centre stands, and half way
    between the pair's imaginary ends; one that touches it is nearest where it touches.
    """
    ends = ends_of(g.meet_line_sphere(line, sphere))
    near, far = subtract(x, ends.first), subtract(x, ends.second)
    ends_chosen = select(choose(dot(near, near) <= dot(far, far), 1.0, 0.0), ends.first, ends.second)
    return select(choose(ends.case > 0, 1.0, 0.0), ends_chosen, foot_on_line(line, centre(sphere)))


def nearest_on_line_from_circle(line: Line[T], circle: Circle[T]) -> Vector[T]:
    """The place on a line nearest to a circle (FABRIK-CGA, exercise 3.2b); of two as near, the one further along it.

    With t along the line from its foot below the circle's centre and ρ(t) the distance from the axis,
    ρ² = a t² + 2 b t + c, the squared distance from the circle is t² - 2 r ρ(t) and what does not depend on t. It is
    least where t = r (a t + b) / ρ(t). The right side rises from -r √a to r √a, ever faster up to t = -b/a and ever
    slower from there: the least is the outermost crossing on one side or on the other, and from outside Newton's
    steps come to it without passing it.
    """
    middle, normal, square, _ = round_of(circle)
    direction = unit(g.line_direction(line), E3)
    foot = foot_on_line(line, middle)
    offset, radius = subtract(foot, middle), root(square)
    tilt, out = cross(direction, normal), cross(offset, normal)
    quadratic = (dot(tilt, tilt), -dot(direction, normal) * dot(offset, normal), dot(out, out))
    reach = radius * root(quadratic[0])
    low, high = _crossing(quadratic, radius, -reach), _crossing(quadratic, radius, reach)
    nearer = _beyond(quadratic, radius, low) < _beyond(quadratic, radius, high)
    return add(foot, direction, choose(nearer, low, high))


def _beyond(quadratic: tuple[T, T, T], radius: T, t: T) -> T:
    """The squared distance from the circle at t, but for what does not depend on t."""
    a, b, c = quadratic
    return t * t - 2.0 * radius * root((a * t + 2.0 * b) * t + c)


def _crossing(quadratic: tuple[T, T, T], radius: T, t: T) -> T:
    """Where t = r (a t + b) / ρ(t), by Newton's method; where that ends without a crossing the other side has one."""
    a, b, c = quadratic
    bend = a * c - b * b
    bend = choose(bend > 0, bend, 0.0)
    for _ in range(STEPS):
        rho = root((a * t + 2.0 * b) * t + c)
        slope = 1.0 - radius * quotient(bend, rho * rho * rho)
        step = quotient(t - radius * quotient(a * t + b, rho), choose(slope > 0, slope, 0.0))
        t = t - step
        if not np.any(abs(step) > SETTLED * radius):
            break
    return t
