"""Where a joint is that two markers and a plane tell of: FABRIK-CGA (3.3)-(3.6) with every case of C² and B².

The functions serve one frame in plain floats and many in arrays alike. Places count from something near (cga.objects).
"""

from typing import Any

from ..cga import generated as g
from ..cga.generated import Circle, Plane, T, Vector
from ..cga.nearest_points import nearest_on_circle, nearest_on_sphere
from ..cga.objects import TOLERANCE, add, dot, ends_of, scaled, select, sign, subtract
from ..cga.scalars import anywhere, choose


def on_circle_and_plane(circle: Circle[T], plane: Plane[T], before: Vector[T], otherwise: Vector[T]) -> Vector[T]:
    """The place B = C ∨ Φ of a circle on a plane, FABRIK-CGA (3.6).

    B² > 0: of the two places the one nearer to `before`. B² = 0: the one where the circle touches the plane.
    B² < 0: they do not meet, and it is the circle's place nearest to `otherwise`; of a circle that is a point or
    imaginary, its centre. So it is too where the circle lies in the plane and B = 0.
    """
    pair = g.meet_circle_plane(circle, plane)
    ends = ends_of(pair)
    found = nearer(before, ends.first, ends.second)
    # The flat point's weight is the squared sine between the planes, but for the length of the circle's normal.
    along = g.pair_centre(pair).eoi <= TOLERANCE * g.square_plane(g.circle_plane(circle))
    missing = (ends.case < 0) | along
    if not anywhere(missing):
        return found
    return select(choose(missing, 1.0, 0.0), nearest_on_circle(circle, otherwise), found)


def from_two(
    markers: tuple[Vector[T], Vector[T]], lengths: tuple[float, float], plane: Plane[T], before: Vector[T]
) -> Vector[T]:
    """The place on a plane at these lengths, m, from two markers, FABRIK-CGA (3.3)-(3.6). The first length is no less.

    C² > 0: the spheres about the markers meet in a circle, and it is the circle's place on the plane, of two the one
    nearer to `before`. C² = 0: they touch, and it is there. C² < 0: see between.
    """
    circle, apart = circle_about(markers, lengths)
    found = on_circle_and_plane(circle, plane, before, before)
    if not anywhere(apart):
        return found
    return select(choose(apart, 1.0, 0.0), between(markers, lengths), found)


def circle_about(markers: tuple[Vector[T], Vector[T]], lengths: tuple[float, float]) -> tuple[Circle[T], Any]:
    """Where the spheres about two markers meet, C of FABRIK-CGA (3.5), and whether they do not: C² < 0."""
    (one, other), radii = markers, _numbers(lengths)
    circle = g.meet_sphere_sphere(g.sphere(one, radii[0]), g.sphere(other, radii[1]))
    return circle, sign(g.square_circle(circle), g.scale_circle(circle)) < 0


def between(markers: tuple[Vector[T], Vector[T]], lengths: tuple[float, float]) -> Vector[T]:
    """Half way between two spheres that do not meet, C² < 0, where they are nearest to each other.

    For equal lengths and markers too far apart it is the paper's (p + q) / 2; for all it is where the spheres would
    touch if they just did, so that nothing jumps as they part.
    """
    (one, other), radii = markers, _numbers(lengths)
    larger = nearest_on_sphere(one, radii[0], other)
    smaller = nearest_on_sphere(other, radii[1], larger)
    half: Any = 0.5
    return scaled(add(larger, smaller, 2.0 * half), half)


def nearer(x: Vector[T], one: Vector[T], other: Vector[T]) -> Vector[T]:
    """Of two places the one nearer to x, which is that of the larger inner product with its point: (3.13), (3.19)."""
    near, far = subtract(x, one), subtract(x, other)
    return select(choose(dot(near, near) <= dot(far, far), 1.0, 0.0), one, other)


def _numbers(lengths: tuple[float, float]) -> Any:
    """Lengths of the hand serve one frame and many."""
    return lengths
