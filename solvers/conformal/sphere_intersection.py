"""The position of a joint from two markers and a plane: FABRIK-CGA (3.3)-(3.6) with every case of C² and B².

The functions take one frame in plain floats or many in arrays. Coordinates need an origin close by (cga.objects).
"""

from typing import Any

from ..cga import generated as g
from ..cga.generated import Circle, Plane, T, Vector
from ..cga.nearest_points import nearest_on_circle, nearest_on_sphere
from ..cga.objects import TOLERANCE, add, dot, pair_points, scaled, select, sign, subtract
from ..cga.scalars import any_true, choose


def intersect_circle_plane(circle: Circle[T], plane: Plane[T], previous: Vector[T], otherwise: Vector[T]) -> Vector[T]:
    """Intersect a circle with a plane, B = C ∨ Φ, FABRIK-CGA (3.6).

    B² > 0: the intersection nearer to `previous`. B² = 0: the point where the circle touches the plane. B² < 0, or the
    circle lies in the plane (B = 0): the point of the circle nearest to `otherwise`; the centre of a circle that is a
    point or imaginary.
    """
    pair = g.meet_circle_plane(circle, plane)
    ends = pair_points(pair)
    point = nearer(previous, ends.first, ends.second)
    # The flat point's weight is the squared sine between the planes times the squared length of the circle's normal.
    coplanar = g.pair_centre(pair).eoi <= TOLERANCE * g.square_plane(g.circle_plane(circle))
    no_intersection = (ends.case < 0) | coplanar
    if not any_true(no_intersection):
        return point
    return select(choose(no_intersection, 1.0, 0.0), nearest_on_circle(circle, otherwise), point)


def joint_position(
    markers: tuple[Vector[T], Vector[T]], lengths: tuple[float, float], plane: Plane[T], previous: Vector[T]
) -> Vector[T]:
    """Return the point on a plane at these distances, m, from two markers, FABRIK-CGA (3.3)-(3.6).

    C² > 0: the spheres about the markers meet in a circle; the result is its intersection with the plane, of two the
    one nearer to `previous`. C² = 0: the point where the spheres touch. C² < 0: see midpoint_between_spheres. The first
    length must not be the smaller one.
    """
    circle, disjoint = intersect_spheres(markers, lengths)
    point = intersect_circle_plane(circle, plane, previous, previous)
    if not any_true(disjoint):
        return point
    return select(choose(disjoint, 1.0, 0.0), midpoint_between_spheres(markers, lengths), point)


def intersect_spheres(markers: tuple[Vector[T], Vector[T]], lengths: tuple[float, float]) -> tuple[Circle[T], Any]:
    """Return the circle C in which the spheres about two markers intersect, FABRIK-CGA (3.5), and whether C² < 0."""
    (first, second), radii = markers, _as_numbers(lengths)
    circle = g.meet_sphere_sphere(g.sphere(first, radii[0]), g.sphere(second, radii[1]))
    return circle, sign(g.square_circle(circle), g.scale_circle(circle)) < 0


def midpoint_between_spheres(markers: tuple[Vector[T], Vector[T]], lengths: tuple[float, float]) -> Vector[T]:
    """Return the point halfway between two spheres that do not meet, C² < 0, where they are nearest to each other.

    For equal lengths and markers too far apart this is the paper's (p + q) / 2. It is continuous with C² = 0: the point
    of contact of spheres that touch.
    """
    (first, second), radii = markers, _as_numbers(lengths)
    larger = nearest_on_sphere(first, radii[0], second)
    smaller = nearest_on_sphere(second, radii[1], larger)
    half: Any = 0.5
    return scaled(add(larger, smaller, 2.0 * half), half)


def nearer(x: Vector[T], first: Vector[T], second: Vector[T]) -> Vector[T]:
    """Return the point nearer to x, the one with the larger inner product with it: (3.13), (3.19)."""
    to_first, to_second = subtract(x, first), subtract(x, second)
    return select(choose(dot(to_first, to_first) <= dot(to_second, to_second), 1.0, 0.0), first, second)


def _as_numbers(lengths: tuple[float, float]) -> Any:
    """Return the lengths, typed as numbers of one frame or of many."""
    return lengths
