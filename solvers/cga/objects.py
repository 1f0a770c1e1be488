"""Parameters of CGA's objects: positions, centres, radii, points of a pair, and whether they are real.

Every function takes floats or arrays (scalars.py). Lengths are in the unit of the coordinates.
"""

from typing import Generic, NamedTuple

import numpy as np

from . import generated as g
from .generated import (
    Circle,
    DirectFlatPoint,
    DirectLine,
    DirectSphere,
    Floats,
    Line,
    Pair,
    Plane,
    Sphere,
    T,
    Vector,
    WeightedSphere,
)
from .scalars import any_true, choose, safe_divide, safe_inverse, safe_sqrt

TOLERANCE = 1e-12
"""A square counts as 0 if it is this small relative to the terms of which it is the difference. For a circle or pair of
radius r at a distance D from the origin this means r < 1e-6 D about: choose an origin close by."""

E1 = Vector(1.0, 0.0, 0.0)
E3 = Vector(0.0, 0.0, 1.0)


def vector(positions: Floats) -> Vector[Floats]:
    """Convert an array (..., 3) to a vector of contiguous columns (...)."""
    x, y, z = np.ascontiguousarray(np.moveaxis(positions, -1, 0))
    return Vector(x, y, z)


def positions(v: Vector[Floats]) -> Floats:
    """Convert a vector of columns (...) to an array (..., 3)."""
    return np.stack(np.broadcast_arrays(*v), -1)


def add(a: Vector[T], b: Vector[T], times: T) -> Vector[T]:
    """a + times · b."""
    return Vector(a.e1 + times * b.e1, a.e2 + times * b.e2, a.e3 + times * b.e3)


def scaled(v: Vector[T], times: T) -> Vector[T]:
    """times · v."""
    return Vector(times * v.e1, times * v.e2, times * v.e3)


def subtract(a: Vector[T], b: Vector[T]) -> Vector[T]:
    """a - b."""
    return Vector(a.e1 - b.e1, a.e2 - b.e2, a.e3 - b.e3)


def dot(a: Vector[T], b: Vector[T]) -> T:
    """a · b."""
    return a.e1 * b.e1 + a.e2 * b.e2 + a.e3 * b.e3


def cross(a: Vector[T], b: Vector[T]) -> Vector[T]:
    """a × b."""
    return Vector(a.e2 * b.e3 - a.e3 * b.e2, a.e3 * b.e1 - a.e1 * b.e3, a.e1 * b.e2 - a.e2 * b.e1)


def select(flag: T, yes: Vector[T], no: Vector[T]) -> Vector[T]:
    """Return `yes` where the flag is not 0, else `no`."""
    is_set = flag != 0
    return Vector(choose(is_set, yes.e1, no.e1), choose(is_set, yes.e2, no.e2), choose(is_set, yes.e3, no.e3))


def unit(v: Vector[T], otherwise: Vector[float]) -> Vector[T]:
    """Return v / |v|, or `otherwise` where v is 0."""
    length = safe_sqrt(dot(v, v))
    unit_vector = scaled(v, safe_inverse(length))
    is_zero = length == 0
    if not any_true(is_zero):
        return unit_vector
    return Vector(
        choose(is_zero, otherwise.e1, unit_vector.e1),
        choose(is_zero, otherwise.e2, unit_vector.e2),
        choose(is_zero, otherwise.e3, unit_vector.e3),
    )


def perpendicular(v: Vector[T]) -> Vector[T]:
    """Return a unit vector perpendicular to v and to the axis of v's smallest component; e1 for v = 0."""
    x, y, z = abs(v.e1), abs(v.e2), abs(v.e3)
    along_x = choose((x <= y) & (x <= z), 1.0, 0.0)
    along_y = choose((along_x == 0) & (y <= z), 1.0, 0.0)
    along_z = 1.0 - along_x - along_y
    side = Vector(v.e2 * along_z - v.e3 * along_y, v.e3 * along_x - v.e1 * along_z, v.e1 * along_y - v.e2 * along_x)
    return unit(side, E1)


def position_of(point: DirectFlatPoint[T]) -> Vector[T]:
    """Return the position of a flat point; 0 for one at infinity."""
    return scaled(Vector(point.e1i, point.e2i, point.e3i), safe_inverse(point.eoi))


def centre(sphere: Sphere[T]) -> Vector[T]:
    """Return the centre of a sphere, or the position of a point: the inverse of Hestenes' H."""
    return Vector(sphere.e1, sphere.e2, sphere.e3)


def normalised(sphere: WeightedSphere[T]) -> Sphere[T]:
    """Return the sphere scaled to weight 1; 0 where the weight is 0 and the object is a plane."""
    scale = safe_inverse(sphere.eo)
    return Sphere(sphere.e1 * scale, sphere.e2 * scale, sphere.e3 * scale, sphere.ei * scale)


def line_of(direct: DirectLine[T]) -> Line[T]:
    """Return the standard form of a direct line with a unit direction; 0 if its two points coincide."""
    return unit_line(g.standard_line(direct))


def unit_line(line: Line[T]) -> Line[T]:
    """Return the line scaled to a unit direction; 0 if it has none."""
    scale = safe_inverse(safe_sqrt(g.square_line(line)))
    e23, e31, e12, e1i, e2i, e3i = line
    return Line(e23 * scale, e31 * scale, e12 * scale, e1i * scale, e2i * scale, e3i * scale)


def sphere_of(direct: DirectSphere[T]) -> Sphere[T]:
    """Return the standard form of a direct sphere with weight 1; 0 if its four points are coplanar."""
    return normalised(g.standard_weighted_sphere(direct))


def unit_plane(plane: Plane[T]) -> Plane[T]:
    """Return the plane scaled to a unit normal; 0 if it has none."""
    scale = safe_inverse(safe_sqrt(g.square_plane(plane)))
    return Plane(plane.e1 * scale, plane.e2 * scale, plane.e3 * scale, plane.ei * scale)


def plane_through(p: Vector[T], q: Vector[T], r: Vector[T]) -> Plane[T]:
    """Return the unit plane through three points, with its normal along (q - p) × (r - p); 0 if they are collinear."""
    direct = g.join_plane(g.up(p), g.up(q), g.up(r))
    e1, e2, e3, ei = g.standard_plane(direct)
    return unit_plane(Plane(-e1, -e2, -e3, -ei))  # FABRIK-CGA (3.2)


def sign(square: T, scale: T) -> T:
    """Return the sign of a square, 0 within TOLERANCE of its scale: 1 real, 0 touching, -1 imaginary or NaN."""
    limit = TOLERANCE * scale
    return 1.0 * (square > limit) + 1.0 * (square >= -limit) - 1.0


class CircleParameters(NamedTuple, Generic[T]):
    """Centre, normal and squared radius of a circle."""

    centre: Vector[T]
    normal: Vector[T]
    """Unit; from the first sphere's centre to the second's if the circle is the intersection of two spheres."""
    squared_radius: T
    """Below 0 for an imaginary circle."""
    case: T
    """The sign of C²: 1 for a circle, 0 for a point, -1 for an imaginary circle. FABRIK-CGA after (3.5)."""


def circle_parameters(circle: Circle[T]) -> CircleParameters[T]:
    """Return a circle's parameters. The circle of concentric spheres has no plane: its case is -1, the rest finite."""
    plane, centre_point = g.circle_plane(circle), g.circle_centre(circle)
    square = g.square_circle(circle)
    case = sign(square, g.scale_circle(circle))
    # The flat point's weight is the squared length of the plane's normal.
    return CircleParameters(
        position_of(centre_point),
        unit(Vector(plane.e1, plane.e2, plane.e3), E1),
        safe_divide(square, centre_point.eoi),
        case,
    )


class PairPoints(NamedTuple, Generic[T]):
    """The two points of a pair."""

    first: Vector[T]
    second: Vector[T]
    case: T
    """The sign of B²: 1 for two points, 0 for one, -1 for none; then both are the midpoint."""


def pair_points(pair: Pair[T]) -> PairPoints[T]:
    """Return a pair's points by its projectors, X = (B ∓ √B²) (n∞ ⌋ B)⁻¹. FABRIK-CGA (3.12), (3.19).

    A pair at infinity (a line parallel to a plane, concentric spheres) gives case -1 and the origin.
    """
    square, arm, centre_point = g.square_pair(pair), g.pair_arm(pair), g.pair_centre(pair)
    case = sign(square, g.scale_pair(pair))
    # The flat point's weight is the squared length of the arm.
    scale = safe_inverse(centre_point.eoi)
    half = safe_sqrt(1.0 * (case > 0) * square) * scale
    midpoint = scaled(Vector(centre_point.e1i, centre_point.e2i, centre_point.e3i), scale)
    return PairPoints(add(midpoint, arm, half), add(midpoint, arm, -half), case)
