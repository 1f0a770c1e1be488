"""Products of G(4,1) for the types that are used. Written by tools/generate_cga.py: do not edit.

Coefficients are floats, or arrays that broadcast against each other: every function serves both. In each docstring
stands the formula that the function was made from, in the notation of tools/cga_definitions.py.
"""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T", float, Floats)


class Vector(NamedTuple, Generic[T]):
    """A vector of space: a position or a direction."""

    e1: T
    e2: T
    e3: T


class Sphere(NamedTuple, Generic[T]):
    """Standard sphere of weight 1, c + (c² - ρ²)/2 n∞ + n_o; a point is one of radius 0."""

    e1: T
    e2: T
    e3: T
    ei: T


class WeightedSphere(NamedTuple, Generic[T]):
    """Standard sphere or point of any weight eo; a plane where eo = 0."""

    e1: T
    e2: T
    e3: T
    eo: T
    ei: T


class Plane(NamedTuple, Generic[T]):
    """Standard plane n + d n∞, of the points x with n · x = d."""

    e1: T
    e2: T
    e3: T
    ei: T


class Circle(NamedTuple, Generic[T]):
    """Standard circle, where two spheres meet."""

    e23: T
    e31: T
    e12: T
    e1o: T
    e2o: T
    e3o: T
    e1i: T
    e2i: T
    e3i: T
    eoi: T


class Line(NamedTuple, Generic[T]):
    """Standard line, where two planes meet."""

    e23: T
    e31: T
    e12: T
    e1i: T
    e2i: T
    e3i: T


class Pair(NamedTuple, Generic[T]):
    """Standard point pair, where three spheres meet."""

    e123: T
    e23o: T
    e31o: T
    e12o: T
    e23i: T
    e31i: T
    e12i: T
    e1oi: T
    e2oi: T
    e3oi: T


class FlatPoint(NamedTuple, Generic[T]):
    """Standard flat point, where a line and a plane meet."""

    e123: T
    e23i: T
    e31i: T
    e12i: T


class DirectSphere(NamedTuple, Generic[T]):
    """The sphere through four points."""

    e123o: T
    e123i: T
    e23oi: T
    e31oi: T
    e12oi: T


class DirectPlane(NamedTuple, Generic[T]):
    """The plane through three points."""

    e123i: T
    e23oi: T
    e31oi: T
    e12oi: T


class DirectCircle(NamedTuple, Generic[T]):
    """The circle through three points."""

    e123: T
    e23o: T
    e31o: T
    e12o: T
    e23i: T
    e31i: T
    e12i: T
    e1oi: T
    e2oi: T
    e3oi: T


class DirectLine(NamedTuple, Generic[T]):
    """The line through two points."""

    e23i: T
    e31i: T
    e12i: T
    e1oi: T
    e2oi: T
    e3oi: T


class DirectPair(NamedTuple, Generic[T]):
    """Two points."""

    e23: T
    e31: T
    e12: T
    e1o: T
    e2o: T
    e3o: T
    e1i: T
    e2i: T
    e3i: T
    eoi: T


class DirectFlatPoint(NamedTuple, Generic[T]):
    """One point and infinity."""

    e1i: T
    e2i: T
    e3i: T
    eoi: T


class Rotor(NamedTuple, Generic[T]):
    """Turns about a line through the origin."""

    s: T
    e23: T
    e31: T
    e12: T


class Translator(NamedTuple, Generic[T]):
    """Moves by t: 1 - t n∞ / 2."""

    e1i: T
    e2i: T
    e3i: T


class Dilator(NamedTuple, Generic[T]):
    """Scales about the origin."""

    s: T
    eoi: T


class Motor(NamedTuple, Generic[T]):
    """Turns and moves."""

    s: T
    e23: T
    e31: T
    e12: T
    e1i: T
    e2i: T
    e3i: T
    e123i: T


def up(a: Vector[T]) -> Sphere[T]:
    """The point at a position, Hestenes' H. FABRIK-CGA (3.1). Made from up(a)."""
    a1, a2, a3 = a
    return Sphere(a1, a2, a3, a1 * a1 / 2 + a2 * a2 / 2 + a3 * a3 / 2)


def sphere(a: Vector[T], b: T) -> Sphere[T]:
    """Centre and radius. FABRIK-CGA (3.10). Made from up(a) - over(b * b * inf, 2)."""
    a1, a2, a3 = a
    return Sphere(a1, a2, a3, a1 * a1 / 2 + a2 * a2 / 2 + a3 * a3 / 2 - b * b / 2)


def plane_at(a: Vector[T], b: Vector[T]) -> Plane[T]:
    """Of normal a through the point b. Made from a + scalar(a * b) * inf."""
    a1, a2, a3 = a
    b1, b2, b3 = b
    return Plane(a1, a2, a3, a1 * b1 + a2 * b2 + a3 * b3)


def join_pair(a: Sphere[T], b: Sphere[T]) -> DirectPair[T]:
    """Both points. CGA-arm Table 1.1. Made from a ^ b."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    return DirectPair(
        a2 * b3 - a3 * b2,
        -a1 * b3 + a3 * b1,
        a1 * b2 - a2 * b1,
        a1 - b1,
        a2 - b2,
        a3 - b3,
        a1 * bi - ai * b1,
        a2 * bi - ai * b2,
        a3 * bi - ai * b3,
        -ai + bi,
    )


def join_flat_point(a: Sphere[T]) -> DirectFlatPoint[T]:
    """The point and infinity. Made from a ^ inf."""
    a1, a2, a3, _ = a
    return DirectFlatPoint(a1, a2, a3, 1.0 + 0.0 * a1)


def join_line(a: Sphere[T], b: Sphere[T]) -> DirectLine[T]:
    """From a to b. FABRIK-CGA (3.11). Made from a ^ b ^ inf."""
    a1, a2, a3, _ = a
    b1, b2, b3, _ = b
    return DirectLine(a2 * b3 - a3 * b2, -a1 * b3 + a3 * b1, a1 * b2 - a2 * b1, a1 - b1, a2 - b2, a3 - b3)


def join_circle(a: Sphere[T], b: Sphere[T], c: Sphere[T]) -> DirectCircle[T]:
    """CGA-arm Table 1.1. Made from a ^ b ^ c."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    c1, c2, c3, ci = c
    x0 = a2 * b3 - a3 * b2
    x1 = a1 * b3
    x2 = a3 * b1 - x1
    x3 = a1 * b2 - a2 * b1
    x4 = a3 - b3
    x5 = a2 - b2
    x6 = a1 - b1
    x7 = a3 * bi
    x8 = ai * b3
    x9 = x7 - x8
    x10 = a2 * bi
    x11 = -ai * b2 + x10
    x12 = a1 * bi
    x13 = ai * b1
    x14 = x12 - x13
    x15 = -ai + bi
    return DirectCircle(
        c1 * x0 + c2 * x2 + c3 * x3,
        c2 * x4 - c3 * x5 + x0,
        a3 * b1 - c1 * x4 + c3 * x6 - x1,
        c1 * x5 - c2 * x6 + x3,
        c2 * x9 - c3 * x11 + ci * x0,
        -c1 * x9 + c3 * x14 + ci * x2,
        c1 * x11 - c2 * x14 + ci * x3,
        c1 * x15 + ci * x6 - x12 + x13,
        ai * b2 + c2 * x15 + ci * x5 - x10,
        c3 * x15 + ci * x4 - x7 + x8,
    )


def join_plane(a: Sphere[T], b: Sphere[T], c: Sphere[T]) -> DirectPlane[T]:
    """FABRIK-CGA (3.2). Made from a ^ b ^ c ^ inf."""
    a1, a2, a3, _ = a
    b1, b2, b3, _ = b
    c1, c2, c3, _ = c
    x0 = a2 * b3 - a3 * b2
    x1 = a1 * b3
    x2 = a1 * b2 - a2 * b1
    x3 = a3 - b3
    x4 = a2 - b2
    x5 = a1 - b1
    return DirectPlane(
        c1 * x0 + c2 * (a3 * b1 - x1) + c3 * x2,
        c2 * x3 - c3 * x4 + x0,
        a3 * b1 - c1 * x3 + c3 * x5 - x1,
        c1 * x4 - c2 * x5 + x2,
    )


def join_plane_along(a: Sphere[T], b: Sphere[T], c: Vector[T]) -> DirectPlane[T]:
    """Points, direction. (3.8). Made from a ^ b ^ c ^ inf."""
    a1, a2, a3, _ = a
    b1, b2, b3, _ = b
    c1, c2, c3 = c
    x0 = a3 - b3
    x1 = a2 - b2
    x2 = a1 - b1
    return DirectPlane(
        c1 * (a2 * b3 - a3 * b2) + c2 * (-a1 * b3 + a3 * b1) + c3 * (a1 * b2 - a2 * b1),
        c2 * x0 - c3 * x1,
        -c1 * x0 + c3 * x2,
        c1 * x1 - c2 * x2,
    )


def join_sphere(a: Sphere[T], b: Sphere[T], c: Sphere[T], d: Sphere[T]) -> DirectSphere[T]:
    """CGA-arm Table 1.1. Made from a ^ b ^ c ^ d."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    c1, c2, c3, ci = c
    d1, d2, d3, di = d
    x0 = a3 * b2
    x1 = a2 * b3
    x2 = a3 - b3
    x3 = -x2
    x4 = a2 - b2
    x5 = a1 - b1
    x6 = -x5
    x7 = a1 * b3
    x8 = a3 * b1
    x9 = x7 - x8
    x10 = a2 * b1
    x11 = a1 * b2
    x12 = -x4
    x13 = -x0 + x1
    x14 = -x10 + x11
    x15 = c1 * x13 - c2 * x9 + c3 * x14
    x16 = a3 * bi
    x17 = ai * b3
    x18 = x16 - x17
    x19 = a2 * bi
    x20 = ai * b2
    x21 = x19 - x20
    x22 = -c2 * x18 + c3 * x21 - ci * x13
    x23 = a1 * bi
    x24 = ai * b1
    x25 = x23 - x24
    x26 = c1 * x18 - c3 * x25 + ci * x9
    x27 = -c1 * x21 + c2 * x25 - ci * x14
    x28 = ai - bi
    x29 = -x28
    return DirectSphere(
        d1 * (c2 * x3 + c3 * x4 + x0 - x1)
        + d2 * (c1 * x2 + c3 * x6 + x9)
        + d3 * (c1 * x12 + c2 * x5 + x10 - x11)
        + x15,
        d1 * x22 + d2 * x26 + d3 * x27 + di * x15,
        d2 * (c3 * x28 + ci * x3 + x18) + d3 * (c2 * x29 + ci * x4 - x19 + x20) + di * (c2 * x2 + c3 * x12 + x13) + x22,
        d1 * (c3 * x29 + ci * x2 - x16 + x17)
        + d3 * (c1 * x28 + ci * x6 + x25)
        + di * (c1 * x3 + c3 * x5 - x7 + x8)
        + x26,
        d1 * (c2 * x28 + ci * x12 + x21) + d2 * (c1 * x29 + ci * x5 - x23 + x24) + di * (c1 * x4 + c2 * x6 + x14) + x27,
    )


def direct_weighted_sphere(a: WeightedSphere[T]) -> DirectSphere[T]:
    """DirectSphere of a WeightedSphere. Made from dual(a)."""
    a1, a2, a3, ao, ai = a
    return DirectSphere(ao, -ai, -a1, -a2, -a3)


def direct_plane(a: Plane[T]) -> DirectPlane[T]:
    """DirectPlane of a Plane. Made from dual(a)."""
    a1, a2, a3, ai = a
    return DirectPlane(-ai, -a1, -a2, -a3)


def direct_circle(a: Circle[T]) -> DirectCircle[T]:
    """DirectCircle of a Circle. Made from dual(a)."""
    a23, a31, a12, a1o, a2o, a3o, a1i, a2i, a3i, aoi = a
    return DirectCircle(-aoi, a1o, a2o, a3o, -a1i, -a2i, -a3i, a23, a31, a12)


def direct_line(a: Line[T]) -> DirectLine[T]:
    """DirectLine of a Line. Made from dual(a)."""
    a23, a31, a12, a1i, a2i, a3i = a
    return DirectLine(-a1i, -a2i, -a3i, a23, a31, a12)


def direct_pair(a: Pair[T]) -> DirectPair[T]:
    """DirectPair of a Pair. Made from dual(a)."""
    a123, a23o, a31o, a12o, a23i, a31i, a12i, a1oi, a2oi, a3oi = a
    return DirectPair(-a1oi, -a2oi, -a3oi, -a23o, -a31o, -a12o, a23i, a31i, a12i, a123)


def direct_flat_point(a: FlatPoint[T]) -> DirectFlatPoint[T]:
    """DirectFlatPoint of a FlatPoint. Made from dual(a)."""
    a123, a23i, a31i, a12i = a
    return DirectFlatPoint(a23i, a31i, a12i, a123)


def standard_weighted_sphere(a: DirectSphere[T]) -> WeightedSphere[T]:
    """WeightedSphere of a DirectSphere. Made from undual(a)."""
    a123o, a123i, a23oi, a31oi, a12oi = a
    return WeightedSphere(-a23oi, -a31oi, -a12oi, a123o, -a123i)


def standard_plane(a: DirectPlane[T]) -> Plane[T]:
    """Plane of a DirectPlane. Made from undual(a)."""
    a123i, a23oi, a31oi, a12oi = a
    return Plane(-a23oi, -a31oi, -a12oi, -a123i)


def standard_circle(a: DirectCircle[T]) -> Circle[T]:
    """Circle of a DirectCircle. Made from undual(a)."""
    a123, a23o, a31o, a12o, a23i, a31i, a12i, a1oi, a2oi, a3oi = a
    return Circle(a1oi, a2oi, a3oi, a23o, a31o, a12o, -a23i, -a31i, -a12i, -a123)


def standard_line(a: DirectLine[T]) -> Line[T]:
    """Line of a DirectLine. Made from undual(a)."""
    a23i, a31i, a12i, a1oi, a2oi, a3oi = a
    return Line(a1oi, a2oi, a3oi, -a23i, -a31i, -a12i)


def standard_pair(a: DirectPair[T]) -> Pair[T]:
    """Pair of a DirectPair. Made from undual(a)."""
    a23, a31, a12, a1o, a2o, a3o, a1i, a2i, a3i, aoi = a
    return Pair(aoi, -a1o, -a2o, -a3o, a1i, a2i, a3i, -a23, -a31, -a12)


def standard_flat_point(a: DirectFlatPoint[T]) -> FlatPoint[T]:
    """FlatPoint of a DirectFlatPoint. Made from undual(a)."""
    a1i, a2i, a3i, aoi = a
    return FlatPoint(aoi, a1i, a2i, a3i)


def meet_sphere_sphere(a: Sphere[T], b: Sphere[T]) -> Circle[T]:
    """Where both are. CGA-arm Table 1.1. Made from a ^ b."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    return Circle(
        a2 * b3 - a3 * b2,
        -a1 * b3 + a3 * b1,
        a1 * b2 - a2 * b1,
        a1 - b1,
        a2 - b2,
        a3 - b3,
        a1 * bi - ai * b1,
        a2 * bi - ai * b2,
        a3 * bi - ai * b3,
        -ai + bi,
    )


def meet_sphere_plane(a: Sphere[T], b: Plane[T]) -> Circle[T]:
    """Where both are. CGA-arm Table 1.1. Made from a ^ b."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    return Circle(
        a2 * b3 - a3 * b2,
        -a1 * b3 + a3 * b1,
        a1 * b2 - a2 * b1,
        -b1,
        -b2,
        -b3,
        a1 * bi - ai * b1,
        a2 * bi - ai * b2,
        a3 * bi - ai * b3,
        bi,
    )


def meet_plane_plane(a: Plane[T], b: Plane[T]) -> Line[T]:
    """Where both are. CGA-arm Table 1.1. Made from a ^ b."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    return Line(
        a2 * b3 - a3 * b2,
        -a1 * b3 + a3 * b1,
        a1 * b2 - a2 * b1,
        a1 * bi - ai * b1,
        a2 * bi - ai * b2,
        a3 * bi - ai * b3,
    )


def meet_circle_sphere(a: Circle[T], b: Sphere[T]) -> Pair[T]:
    """Where both are. CGA-arm Table 1.1. Made from a ^ b."""
    a23, a31, a12, a1o, a2o, a3o, a1i, a2i, a3i, aoi = a
    b1, b2, b3, bi = b
    return Pair(
        a12 * b3 + a23 * b1 + a31 * b2,
        a23 - a2o * b3 + a3o * b2,
        a1o * b3 + a31 - a3o * b1,
        a12 - a1o * b2 + a2o * b1,
        a23 * bi - a2i * b3 + a3i * b2,
        a1i * b3 + a31 * bi - a3i * b1,
        a12 * bi - a1i * b2 + a2i * b1,
        -a1i + a1o * bi + aoi * b1,
        -a2i + a2o * bi + aoi * b2,
        -a3i + a3o * bi + aoi * b3,
    )


def meet_circle_plane(a: Circle[T], b: Plane[T]) -> Pair[T]:
    """Where both are. CGA-arm Table 1.1. Made from a ^ b."""
    a23, a31, a12, a1o, a2o, a3o, a1i, a2i, a3i, aoi = a
    b1, b2, b3, bi = b
    return Pair(
        a12 * b3 + a23 * b1 + a31 * b2,
        -a2o * b3 + a3o * b2,
        a1o * b3 - a3o * b1,
        -a1o * b2 + a2o * b1,
        a23 * bi - a2i * b3 + a3i * b2,
        a1i * b3 + a31 * bi - a3i * b1,
        a12 * bi - a1i * b2 + a2i * b1,
        a1o * bi + aoi * b1,
        a2o * bi + aoi * b2,
        a3o * bi + aoi * b3,
    )


def meet_line_sphere(a: Line[T], b: Sphere[T]) -> Pair[T]:
    """Where both are. CGA-arm Table 1.1. Made from a ^ b."""
    a23, a31, a12, a1i, a2i, a3i = a
    b1, b2, b3, bi = b
    return Pair(
        a12 * b3 + a23 * b1 + a31 * b2,
        a23,
        a31,
        a12,
        a23 * bi - a2i * b3 + a3i * b2,
        a1i * b3 + a31 * bi - a3i * b1,
        a12 * bi - a1i * b2 + a2i * b1,
        -a1i,
        -a2i,
        -a3i,
    )


def meet_line_plane(a: Line[T], b: Plane[T]) -> FlatPoint[T]:
    """Where both are. CGA-arm Table 1.1. Made from a ^ b."""
    a23, a31, a12, a1i, a2i, a3i = a
    b1, b2, b3, bi = b
    return FlatPoint(
        a12 * b3 + a23 * b1 + a31 * b2,
        a23 * bi - a2i * b3 + a3i * b2,
        a1i * b3 + a31 * bi - a3i * b1,
        a12 * bi - a1i * b2 + a2i * b1,
    )


def dot_sphere_sphere(a: Sphere[T], b: Sphere[T]) -> T:
    """Of points, -distance² / 2. (3.13). Made from scalar(a * b)."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    return a1 * b1 + a2 * b2 + a3 * b3 - ai - bi


def dot_sphere_plane(a: Sphere[T], b: Plane[T]) -> T:
    """How far the centre is above a unit plane. Made from scalar(a * b)."""
    a1, a2, a3, _ = a
    b1, b2, b3, bi = b
    return a1 * b1 + a2 * b2 + a3 * b3 - bi


def dot_plane_plane(a: Plane[T], b: Plane[T]) -> T:
    """Of unit planes, the cosine between them. Made from scalar(a * b)."""
    a1, a2, a3, _ = a
    b1, b2, b3, _ = b
    return a1 * b1 + a2 * b2 + a3 * b3


def dot_line_line(a: Line[T], b: Line[T]) -> T:
    """Of unit lines, the cosine between them. Made from -scalar(a * b)."""
    a23, a31, a12, _, _, _ = a
    b23, b31, b12, _, _, _ = b
    return a12 * b12 + a23 * b23 + a31 * b31


def square_sphere(a: Sphere[T]) -> T:
    """The squared radius; below 0 the sphere is imaginary. Made from scalar(a * a)."""
    a1, a2, a3, ai = a
    return a1 * a1 + a2 * a2 + a3 * a3 - 2 * ai


def square_plane(a: Plane[T]) -> T:
    """The squared length of the normal. Made from scalar(a * a)."""
    a1, a2, a3, _ = a
    return a1 * a1 + a2 * a2 + a3 * a3


def square_line(a: Line[T]) -> T:
    """The squared length of the direction. Made from -scalar(a * a)."""
    a23, a31, a12, _, _, _ = a
    return a12 * a12 + a23 * a23 + a31 * a31


def square_circle(a: Circle[T]) -> T:
    """C² of the direct circle. FABRIK-CGA after (3.5). Made from -scalar(a * a)."""
    a23, a31, a12, a1o, a2o, a3o, a1i, a2i, a3i, aoi = a
    return a12 * a12 - 2 * a1i * a1o + a23 * a23 - 2 * a2i * a2o + a31 * a31 - 2 * a3i * a3o - aoi * aoi


def square_pair(a: Pair[T]) -> T:
    """B² of the direct pair. FABRIK-CGA after (3.6). Made from -scalar(a * a)."""
    a123, a23o, a31o, a12o, a23i, a31i, a12i, a1oi, a2oi, a3oi = a
    return a123 * a123 - 2 * a12i * a12o - a1oi * a1oi - 2 * a23i * a23o - a2oi * a2oi - 2 * a31i * a31o - a3oi * a3oi


def scale_circle(a: Circle[T]) -> T:
    """What C² is a difference of. Made from size(scalar(a * a))."""
    a23, a31, a12, a1o, a2o, a3o, a1i, a2i, a3i, aoi = a
    return a12 * a12 + a23 * a23 + a31 * a31 + aoi * aoi + 2 * abs(a1i * a1o) + 2 * abs(a2i * a2o) + 2 * abs(a3i * a3o)


def scale_pair(a: Pair[T]) -> T:
    """What B² is a difference of. Made from size(scalar(a * a))."""
    a123, a23o, a31o, a12o, a23i, a31i, a12i, a1oi, a2oi, a3oi = a
    return (
        a123 * a123
        + a1oi * a1oi
        + a2oi * a2oi
        + a3oi * a3oi
        + 2 * abs(a12i * a12o)
        + 2 * abs(a23i * a23o)
        + 2 * abs(a31i * a31o)
    )


def circle_plane(a: Circle[T]) -> Plane[T]:
    """The plane it lies in. FABRIK-CGA (3.15). Made from -lc(inf, a)."""
    _, _, _, a1o, a2o, a3o, _, _, _, aoi = a
    return Plane(-a1o, -a2o, -a3o, aoi)


def circle_axis(a: Circle[T]) -> Line[T]:
    """The line through its centre across its plane. Made from undual(a ^ inf)."""
    a23, a31, a12, a1o, a2o, a3o, _, _, _, _ = a
    return Line(a1o, a2o, a3o, -a23, -a31, -a12)


def circle_centre(a: Circle[T]) -> DirectFlatPoint[T]:
    """Its centre. FABRIK-CGA (3.14). Made from over(a * inf * a ^ inf, -2)."""
    a23, a31, a12, a1o, a2o, a3o, _, _, _, aoi = a
    return DirectFlatPoint(
        -a12 * a2o - a1o * aoi + a31 * a3o,
        a12 * a1o - a23 * a3o - a2o * aoi,
        -a1o * a31 + a23 * a2o - a3o * aoi,
        a1o * a1o + a2o * a2o + a3o * a3o,
    )


def circle_side(a: Circle[T], b: Vector[T]) -> Vector[T]:
    """Normal to axis and point. Made from space(undual(a ^ up(b) ^ inf))."""
    a23, a31, a12, a1o, a2o, a3o, _, _, _, _ = a
    b1, b2, b3 = b
    return Vector(-a23 + a2o * b3 - a3o * b2, -a1o * b3 - a31 + a3o * b1, -a12 + a1o * b2 - a2o * b1)


def circle_arm(a: Circle[T], b: Vector[T]) -> Vector[T]:
    """From its centre, across b. Made from -space(lc(inf, lc(a, dual(b))))."""
    _, _, _, a1o, a2o, a3o, _, _, _, _ = a
    b1, b2, b3 = b
    return Vector(-a2o * b3 + a3o * b2, a1o * b3 - a3o * b1, -a1o * b2 + a2o * b1)


def foot_plane(a: Plane[T], b: Vector[T]) -> DirectFlatPoint[T]:
    """Its point nearest to b. Made from lc(a, a ^ up(b) ^ inf)."""
    a1, a2, a3, ai = a
    b1, b2, b3 = b
    x0 = a1 * a2
    x1 = a3 * b3
    x2 = a2 * a2
    x3 = a3 * a3
    x4 = x2 + x3
    x5 = a1 * a1
    return DirectFlatPoint(
        a1 * ai - a1 * x1 + b1 * x4 - b2 * x0,
        a2 * ai - a2 * x1 - b1 * x0 + b2 * (x3 + x5),
        -a1 * a3 * b1 - a2 * a3 * b2 + a3 * ai + b3 * (x2 + x5),
        x4 + x5,
    )


def foot_line(a: Line[T], b: Vector[T]) -> DirectFlatPoint[T]:
    """Its point nearest to b. Made from lc(a, a ^ up(b) ^ inf)."""
    a23, a31, a12, a1i, a2i, a3i = a
    b1, b2, b3 = b
    x0 = a12 * b3
    x1 = a23 * a31
    x2 = a23 * a23
    x3 = a31 * a31
    x4 = a12 * a12
    return DirectFlatPoint(
        a12 * a2i - a23 * x0 - a31 * a3i - b1 * x2 - b2 * x1,
        -a12 * a1i + a23 * a3i - a31 * x0 - b1 * x1 - b2 * x3,
        -a12 * a23 * b1 - a12 * a31 * b2 + a1i * a31 - a23 * a2i - b3 * x4,
        -x2 - x3 - x4,
    )


def pair_line(a: Pair[T]) -> Line[T]:
    """From the first point to the second. Made from lc(inf, a)."""
    _, a23o, a31o, a12o, _, _, _, a1oi, a2oi, a3oi = a
    return Line(-a23o, -a31o, -a12o, a1oi, a2oi, a3oi)


def pair_centre(a: Pair[T]) -> DirectFlatPoint[T]:
    """The point halfway. Made from over(a * inf * a ^ inf, 2)."""
    a123, a23o, a31o, a12o, _, _, _, a1oi, a2oi, a3oi = a
    return DirectFlatPoint(
        a123 * a23o + a12o * a2oi - a31o * a3oi,
        a123 * a31o - a12o * a1oi + a23o * a3oi,
        a123 * a12o + a1oi * a31o - a23o * a2oi,
        a12o * a12o + a23o * a23o + a31o * a31o,
    )


def pair_arm(a: Pair[T]) -> Vector[T]:
    """From the second point to the first. Made from space(lc(inf, dual(a)))."""
    _, a23o, a31o, a12o, _, _, _, _, _, _ = a
    return Vector(-a23o, -a31o, -a12o)


def line_direction(a: Line[T]) -> Vector[T]:
    """Its direction. Made from -space(lc(o, lc(inf, dual(a))))."""
    a23, a31, a12, _, _, _ = a
    return Vector(-a23, -a31, -a12)


def rotor_rotor(a: Rotor[T], b: Rotor[T]) -> Rotor[T]:
    """b followed by a. Made from a * b."""
    a0, a23, a31, a12 = a
    b0, b23, b31, b12 = b
    return Rotor(
        a0 * b0 - a12 * b12 - a23 * b23 - a31 * b31,
        a0 * b23 + a12 * b31 + a23 * b0 - a31 * b12,
        a0 * b31 - a12 * b23 + a23 * b12 + a31 * b0,
        a0 * b12 + a12 * b0 - a23 * b31 + a31 * b23,
    )


def motor_motor(a: Motor[T], b: Motor[T]) -> Motor[T]:
    """b followed by a. Made from a * b."""
    a0, a23, a31, a12, a1i, a2i, a3i, a123i = a
    b0, b23, b31, b12, b1i, b2i, b3i, b123i = b
    return Motor(
        a0 * b0 - a12 * b12 - a23 * b23 - a31 * b31,
        a0 * b23 + a12 * b31 + a23 * b0 - a31 * b12,
        a0 * b31 - a12 * b23 + a23 * b12 + a31 * b0,
        a0 * b12 + a12 * b0 - a23 * b31 + a31 * b23,
        a0 * b1i + a12 * b2i - a123i * b23 + a1i * b0 - a23 * b123i - a2i * b12 - a31 * b3i + a3i * b31,
        a0 * b2i - a12 * b1i - a123i * b31 + a1i * b12 + a23 * b3i + a2i * b0 - a31 * b123i - a3i * b23,
        a0 * b3i - a12 * b123i - a123i * b12 - a1i * b31 - a23 * b2i + a2i * b23 + a31 * b1i + a3i * b0,
        a0 * b123i + a12 * b3i + a123i * b0 + a1i * b23 + a23 * b1i + a2i * b31 + a31 * b2i + a3i * b12,
    )


def translator_rotor(a: Translator[T], b: Rotor[T]) -> Motor[T]:
    """b followed by a. Made from a * b."""
    a1i, a2i, a3i = a
    b0, b23, b31, b12 = b
    return Motor(
        b0,
        b23,
        b31,
        b12,
        a1i * b0 - a2i * b12 + a3i * b31,
        a1i * b12 + a2i * b0 - a3i * b23,
        -a1i * b31 + a2i * b23 + a3i * b0,
        a1i * b23 + a2i * b31 + a3i * b12,
    )


def plane_plane(a: Plane[T], b: Plane[T]) -> Motor[T]:
    """Twice the motion from b to a, both unit planes. Made from a * b."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    return Motor(
        a1 * b1 + a2 * b2 + a3 * b3,
        a2 * b3 - a3 * b2,
        -a1 * b3 + a3 * b1,
        a1 * b2 - a2 * b1,
        a1 * bi - ai * b1,
        a2 * bi - ai * b2,
        a3 * bi - ai * b3,
        0.0 * a1,
    )


def rotor_vector(a: Rotor[T], b: Vector[T]) -> Vector[T]:
    """b as the unit rotor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12 = a
    b1, b2, b3 = b
    x0 = 2 * a0
    x1 = a12 * x0
    x2 = 2 * a23
    x3 = a31 * x0
    x4 = a23 * a23
    x5 = a31 * a31
    x6 = -x5
    x7 = a0 * a0
    x8 = a12 * a12
    x9 = x7 - x8
    x10 = a23 * x0
    x11 = -x4
    return Vector(
        b1 * (x4 + x6 + x9) + b2 * (a31 * x2 + x1) + b3 * (2 * a12 * a23 - x3),
        b1 * (2 * a23 * a31 - x1) + b2 * (x11 + x5 + x9) + b3 * (2 * a12 * a31 + x10),
        b1 * (a12 * x2 + x3) + b2 * (2 * a12 * a31 - x10) + b3 * (x11 + x6 + x7 + x8),
    )


def rotor_sphere(a: Rotor[T], b: Sphere[T]) -> Sphere[T]:
    """b as the unit rotor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12 = a
    b1, b2, b3, bi = b
    x0 = 2 * a0
    x1 = a12 * x0
    x2 = 2 * a23
    x3 = a31 * x0
    x4 = a23 * a23
    x5 = a31 * a31
    x6 = -x5
    x7 = a0 * a0
    x8 = a12 * a12
    x9 = x7 - x8
    x10 = a23 * x0
    x11 = -x4
    x12 = x7 + x8
    return Sphere(
        b1 * (x4 + x6 + x9) + b2 * (a31 * x2 + x1) + b3 * (2 * a12 * a23 - x3),
        b1 * (2 * a23 * a31 - x1) + b2 * (x11 + x5 + x9) + b3 * (2 * a12 * a31 + x10),
        b1 * (a12 * x2 + x3) + b2 * (2 * a12 * a31 - x10) + b3 * (x11 + x12 + x6),
        bi * (x12 + x4 + x5),
    )


def rotor_plane(a: Rotor[T], b: Plane[T]) -> Plane[T]:
    """b as the unit rotor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12 = a
    b1, b2, b3, bi = b
    x0 = 2 * a0
    x1 = a12 * x0
    x2 = 2 * a23
    x3 = a31 * x0
    x4 = a23 * a23
    x5 = a31 * a31
    x6 = -x5
    x7 = a0 * a0
    x8 = a12 * a12
    x9 = x7 - x8
    x10 = a23 * x0
    x11 = -x4
    x12 = x7 + x8
    return Plane(
        b1 * (x4 + x6 + x9) + b2 * (a31 * x2 + x1) + b3 * (2 * a12 * a23 - x3),
        b1 * (2 * a23 * a31 - x1) + b2 * (x11 + x5 + x9) + b3 * (2 * a12 * a31 + x10),
        b1 * (a12 * x2 + x3) + b2 * (2 * a12 * a31 - x10) + b3 * (x11 + x12 + x6),
        bi * (x12 + x4 + x5),
    )


def rotor_circle(a: Rotor[T], b: Circle[T]) -> Circle[T]:
    """b as the unit rotor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12 = a
    b23, b31, b12, b1o, b2o, b3o, b1i, b2i, b3i, boi = b
    x0 = 2 * a0
    x1 = a31 * x0
    x2 = 2 * a12 * a23 - x1
    x3 = a12 * x0
    x4 = 2 * a23
    x5 = a31 * x4 + x3
    x6 = a23 * a23
    x7 = a31 * a31
    x8 = -x7
    x9 = a0 * a0
    x10 = a12 * a12
    x11 = -x10 + x9
    x12 = x11 + x6 + x8
    x13 = a23 * x0
    x14 = 2 * a12 * a31 + x13
    x15 = 2 * a23 * a31 - x3
    x16 = -x6
    x17 = x11 + x16 + x7
    x18 = a12 * x4 + x1
    x19 = 2 * a12 * a31 - x13
    x20 = x10 + x9
    x21 = x16 + x20 + x8
    return Circle(
        b12 * x2 + b23 * x12 + b31 * x5,
        b12 * x14 + b23 * x15 + b31 * x17,
        b12 * x21 + b23 * x18 + b31 * x19,
        b1o * x12 + b2o * x5 + b3o * x2,
        b1o * x15 + b2o * x17 + b3o * x14,
        b1o * x18 + b2o * x19 + b3o * x21,
        b1i * x12 + b2i * x5 + b3i * x2,
        b1i * x15 + b2i * x17 + b3i * x14,
        b1i * x18 + b2i * x19 + b3i * x21,
        boi * (x20 + x6 + x7),
    )


def rotor_line(a: Rotor[T], b: Line[T]) -> Line[T]:
    """b as the unit rotor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12 = a
    b23, b31, b12, b1i, b2i, b3i = b
    x0 = 2 * a0
    x1 = a31 * x0
    x2 = 2 * a12 * a23 - x1
    x3 = a12 * x0
    x4 = 2 * a23
    x5 = a31 * x4 + x3
    x6 = a23 * a23
    x7 = a31 * a31
    x8 = -x7
    x9 = a0 * a0
    x10 = a12 * a12
    x11 = -x10 + x9
    x12 = x11 + x6 + x8
    x13 = a23 * x0
    x14 = 2 * a12 * a31 + x13
    x15 = 2 * a23 * a31 - x3
    x16 = -x6
    x17 = x11 + x16 + x7
    x18 = a12 * x4 + x1
    x19 = 2 * a12 * a31 - x13
    x20 = x10 + x16 + x8 + x9
    return Line(
        b12 * x2 + b23 * x12 + b31 * x5,
        b12 * x14 + b23 * x15 + b31 * x17,
        b12 * x20 + b23 * x18 + b31 * x19,
        b1i * x12 + b2i * x5 + b3i * x2,
        b1i * x15 + b2i * x17 + b3i * x14,
        b1i * x18 + b2i * x19 + b3i * x20,
    )


def rotor_pair(a: Rotor[T], b: Pair[T]) -> Pair[T]:
    """b as the unit rotor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12 = a
    b123, b23o, b31o, b12o, b23i, b31i, b12i, b1oi, b2oi, b3oi = b
    x0 = a12 * a12
    x1 = a31 * a31
    x2 = a0 * a0
    x3 = a23 * a23
    x4 = x2 + x3
    x5 = 2 * a0
    x6 = a31 * x5
    x7 = 2 * a12 * a23 - x6
    x8 = a12 * x5
    x9 = 2 * a23
    x10 = a31 * x9 + x8
    x11 = -x0
    x12 = -x1
    x13 = x11 + x12 + x4
    x14 = a23 * x5
    x15 = 2 * a12 * a31 + x14
    x16 = 2 * a23 * a31 - x8
    x17 = x2 - x3
    x18 = x1 + x11 + x17
    x19 = a12 * x9 + x6
    x20 = 2 * a12 * a31 - x14
    x21 = x0 + x12 + x17
    return Pair(
        b123 * (x0 + x1 + x4),
        b12o * x7 + b23o * x13 + b31o * x10,
        b12o * x15 + b23o * x16 + b31o * x18,
        b12o * x21 + b23o * x19 + b31o * x20,
        b12i * x7 + b23i * x13 + b31i * x10,
        b12i * x15 + b23i * x16 + b31i * x18,
        b12i * x21 + b23i * x19 + b31i * x20,
        b1oi * x13 + b2oi * x10 + b3oi * x7,
        b1oi * x16 + b2oi * x18 + b3oi * x15,
        b1oi * x19 + b2oi * x20 + b3oi * x21,
    )


def translator_sphere(a: Translator[T], b: Sphere[T]) -> Sphere[T]:
    """b as the unit translator a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a1i, a2i, a3i = a
    b1, b2, b3, bi = b
    x0 = 2 * a1i
    x1 = 2 * a2i
    x2 = 2 * a3i
    return Sphere(
        b1 - x0,
        b2 - x1,
        b3 - x2,
        2 * a1i * a1i + 2 * a2i * a2i + 2 * a3i * a3i - b1 * x0 - b2 * x1 - b3 * x2 + bi,
    )


def translator_plane(a: Translator[T], b: Plane[T]) -> Plane[T]:
    """b as the unit translator a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a1i, a2i, a3i = a
    b1, b2, b3, bi = b
    return Plane(b1, b2, b3, -2 * a1i * b1 - 2 * a2i * b2 - 2 * a3i * b3 + bi)


def translator_circle(a: Translator[T], b: Circle[T]) -> Circle[T]:
    """b as the unit translator a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a1i, a2i, a3i = a
    b23, b31, b12, b1o, b2o, b3o, b1i, b2i, b3i, boi = b
    x0 = 2 * b3o
    x1 = 2 * a3i
    x2 = 2 * a1i
    x3 = 2 * a2i
    x4 = 4 * a1i
    x5 = a2i * x4
    x6 = a3i * b3o
    x7 = 2 * a1i * a1i
    x8 = 2 * a2i * a2i
    x9 = 2 * a3i * a3i
    x10 = 4 * a2i
    return Circle(
        a2i * x0 + b23 - b2o * x1,
        -a1i * x0 + b1o * x1 + b31,
        b12 - b1o * x3 + b2o * x2,
        b1o,
        b2o,
        b3o,
        2 * a3i * b31 - b12 * x3 + b1i + b1o * (-x7 + x8 + x9) - b2o * x5 - boi * x2 - x4 * x6,
        2 * a1i * b12 - b1o * x5 - b23 * x1 + b2i + b2o * (x7 - x8 + x9) - boi * x3 - x10 * x6,
        2 * a2i * b23 - a3i * b1o * x4 - a3i * b2o * x10 - b31 * x2 + b3i + b3o * (x7 + x8 - x9) - boi * x1,
        b1o * x2 + b2o * x3 + b3o * x1 + boi,
    )


def translator_line(a: Translator[T], b: Line[T]) -> Line[T]:
    """b as the unit translator a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a1i, a2i, a3i = a
    b23, b31, b12, b1i, b2i, b3i = b
    x0 = 2 * b12
    x1 = 2 * a3i
    return Line(
        b23,
        b31,
        b12,
        -a2i * x0 + b1i + b31 * x1,
        a1i * x0 - b23 * x1 + b2i,
        -2 * a1i * b31 + 2 * a2i * b23 + b3i,
    )


def translator_pair(a: Translator[T], b: Pair[T]) -> Pair[T]:
    """b as the unit translator a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a1i, a2i, a3i = a
    b123, b23o, b31o, b12o, b23i, b31i, b12i, b1oi, b2oi, b3oi = b
    x0 = 2 * a1i
    x1 = 2 * a2i
    x2 = 2 * a3i
    x3 = 4 * a1i
    x4 = a2i * x3
    x5 = a3i * b12o
    x6 = 2 * a1i * a1i
    x7 = 2 * a2i * a2i
    x8 = 2 * a3i * a3i
    x9 = 4 * a2i
    return Pair(
        b123 - b12o * x2 - b23o * x0 - b31o * x1,
        b23o,
        b31o,
        b12o,
        -b123 * x0 + b23i + b23o * (x6 - x7 - x8) - b2oi * x2 + b31o * x4 + b3oi * x1 + x3 * x5,
        -b123 * x1 + b1oi * x2 + b23o * x4 + b31i + b31o * (-x6 + x7 - x8) - b3oi * x0 + x5 * x9,
        a3i * b23o * x3 + a3i * b31o * x9 - b123 * x2 + b12i + b12o * (-x6 - x7 + x8) - b1oi * x1 + b2oi * x0,
        b12o * x1 + b1oi - b31o * x2,
        -b12o * x0 + b23o * x2 + b2oi,
        -b23o * x1 + b31o * x0 + b3oi,
    )


def motor_sphere(a: Motor[T], b: Sphere[T]) -> Sphere[T]:
    """b as the unit motor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12, a1i, a2i, a3i, a123i = a
    b1, b2, b3, bi = b
    x0 = a23 * a23
    x1 = a31 * a31
    x2 = -x1
    x3 = a0 * a0
    x4 = a12 * a12
    x5 = x3 - x4
    x6 = 2 * a0
    x7 = a12 * x6
    x8 = 2 * a23
    x9 = a31 * x6
    x10 = a1i * x6
    x11 = a123i * x8
    x12 = 2 * a12
    x13 = 2 * a31
    x14 = -a2i * x12 + a3i * x13
    x15 = -x0
    x16 = a23 * x6
    x17 = a2i * x6
    x18 = a123i * x13
    x19 = a1i * x12 - a3i * x8
    x20 = x3 + x4
    x21 = a3i * x6
    x22 = a123i * x12
    x23 = -a1i * x13 + a2i * x8
    return Sphere(
        b1 * (x0 + x2 + x5) + b2 * (a31 * x8 + x7) + b3 * (2 * a12 * a23 - x9) - x10 - x11 + x14,
        b1 * (2 * a23 * a31 - x7) + b2 * (x1 + x15 + x5) + b3 * (a31 * x12 + x16) - x17 - x18 + x19,
        b1 * (a12 * x8 + x9) + b2 * (2 * a12 * a31 - x16) + b3 * (x15 + x2 + x20) - x21 - x22 + x23,
        2 * a123i * a123i
        + 2 * a1i * a1i
        + 2 * a2i * a2i
        + 2 * a3i * a3i
        + b1 * (-x10 - x11 - x14)
        + b2 * (-x17 - x18 - x19)
        + b3 * (-x21 - x22 - x23)
        + bi * (x0 + x1 + x20),
    )


def motor_plane(a: Motor[T], b: Plane[T]) -> Plane[T]:
    """b as the unit motor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12, a1i, a2i, a3i, a123i = a
    b1, b2, b3, bi = b
    x0 = 2 * a0
    x1 = a12 * x0
    x2 = 2 * a23
    x3 = a31 * x0
    x4 = a23 * a23
    x5 = a31 * a31
    x6 = -x5
    x7 = a0 * a0
    x8 = a12 * a12
    x9 = x7 - x8
    x10 = a23 * x0
    x11 = 2 * a31
    x12 = -x4
    x13 = x7 + x8
    x14 = 2 * a12
    return Plane(
        b1 * (x4 + x6 + x9) + b2 * (a31 * x2 + x1) + b3 * (2 * a12 * a23 - x3),
        b1 * (2 * a23 * a31 - x1) + b2 * (x12 + x5 + x9) + b3 * (a12 * x11 + x10),
        b1 * (a12 * x2 + x3) + b2 * (2 * a12 * a31 - x10) + b3 * (x12 + x13 + x6),
        b1 * (2 * a12 * a2i - a123i * x2 - a1i * x0 - a3i * x11)
        + b2 * (-a123i * x11 - a1i * x14 + 2 * a23 * a3i - a2i * x0)
        + b3 * (-a123i * x14 + 2 * a1i * a31 - a2i * x2 - a3i * x0)
        + bi * (x13 + x4 + x5),
    )


def motor_circle(a: Motor[T], b: Circle[T]) -> Circle[T]:
    """b as the unit motor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12, a1i, a2i, a3i, a123i = a
    b23, b31, b12, b1o, b2o, b3o, b1i, b2i, b3i, boi = b
    x0 = 2 * a0
    x1 = a31 * x0
    x2 = 2 * a12 * a23 - x1
    x3 = a12 * x0
    x4 = 2 * a23
    x5 = a31 * x4 + x3
    x6 = a1i * x4
    x7 = 2 * a31
    x8 = a2i * x7
    x9 = a123i * x0
    x10 = 2 * a12
    x11 = a3i * x10
    x12 = x11 + x9
    x13 = x12 - x6 + x8
    x14 = a23 * a23
    x15 = a31 * a31
    x16 = -x15
    x17 = a0 * a0
    x18 = a12 * a12
    x19 = x17 - x18
    x20 = x14 + x16 + x19
    x21 = a123i * x10
    x22 = a3i * x0
    x23 = a1i * x7
    x24 = a2i * x4
    x25 = x23 + x24
    x26 = -x21 + x22 + x25
    x27 = a2i * x0
    x28 = a123i * x7
    x29 = a1i * x10
    x30 = a3i * x4
    x31 = x29 + x30
    x32 = -x27 + x28 + x31
    x33 = a23 * x0
    x34 = a31 * x10 + x33
    x35 = 2 * a23 * a31 - x3
    x36 = x21 - x22 + x25
    x37 = x12 + x6 - x8
    x38 = -x14
    x39 = x15 + x19 + x38
    x40 = a123i * x4
    x41 = a1i * x0
    x42 = a2i * x10
    x43 = a3i * x7
    x44 = x42 + x43
    x45 = -x40 + x41 + x44
    x46 = a12 * x4 + x1
    x47 = 2 * a12 * a31 - x33
    x48 = x17 + x18
    x49 = x16 + x38 + x48
    x50 = x27 - x28 + x31
    x51 = x40 - x41 + x44
    x52 = -x11 + x6 + x8 + x9
    x53 = 4 * a3i
    x54 = a123i * x53
    x55 = 4 * a2i
    x56 = a1i * x55
    x57 = a123i * x55
    x58 = a1i * x53
    x59 = x40 + x41
    x60 = 2 * a2i * a2i
    x61 = -x60
    x62 = 2 * a1i * a1i
    x63 = 2 * a3i * a3i
    x64 = 2 * a123i * a123i
    x65 = -x63 + x64
    x66 = 4 * a123i * a1i
    x67 = a3i * x55
    x68 = x27 + x28
    x69 = -x62
    x70 = x21 + x22
    return Circle(
        b12 * x2 + b1o * x13 + b23 * x20 - b2o * x26 + b31 * x5 - b3o * x32,
        b12 * x34 - b1o * x36 + b23 * x35 + b2o * x37 + b31 * x39 - b3o * x45,
        b12 * x49 - b1o * x50 + b23 * x46 - b2o * x51 + b31 * x47 + b3o * x52,
        b1o * x20 + b2o * x5 + b3o * x2,
        b1o * x35 + b2o * x39 + b3o * x34,
        b1o * x46 + b2o * x47 + b3o * x49,
        b12 * x32
        + b1i * x20
        + b1o * (-x61 - x62 - x65)
        - b23 * x13
        + b2i * x5
        + b2o * (x54 - x56)
        + b31 * x26
        + b3i * x2
        + b3o * (-x57 - x58)
        + boi * (-x42 + x43 - x59),
        b12 * x45
        + b1i * x35
        + b1o * (-x54 - x56)
        + b23 * x36
        + b2i * x39
        + b2o * (-x60 - x65 - x69)
        - b31 * x37
        + b3i * x34
        + b3o * (x66 - x67)
        + boi * (x29 - x30 - x68),
        -b12 * x52
        + b1i * x46
        + b1o * (x57 - x58)
        + b23 * x50
        + b2i * x47
        + b2o * (-x66 - x67)
        + b31 * x51
        + b3i * x49
        + b3o * (-x61 - x63 - x64 - x69)
        + boi * (-x23 + x24 - x70),
        b1o * (-x42 + x43 + x59) + b2o * (x29 - x30 + x68) + b3o * (-x23 + x24 + x70) + boi * (x14 + x15 + x48),
    )


def motor_line(a: Motor[T], b: Line[T]) -> Line[T]:
    """b as the unit motor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12, a1i, a2i, a3i, a123i = a
    b23, b31, b12, b1i, b2i, b3i = b
    x0 = 2 * a0
    x1 = a31 * x0
    x2 = 2 * a12 * a23 - x1
    x3 = a12 * x0
    x4 = 2 * a23
    x5 = a31 * x4 + x3
    x6 = a23 * a23
    x7 = a31 * a31
    x8 = -x7
    x9 = a0 * a0
    x10 = a12 * a12
    x11 = -x10 + x9
    x12 = x11 + x6 + x8
    x13 = a23 * x0
    x14 = 2 * a12
    x15 = a31 * x14 + x13
    x16 = 2 * a23 * a31 - x3
    x17 = -x6
    x18 = x11 + x17 + x7
    x19 = a12 * x4 + x1
    x20 = 2 * a12 * a31 - x13
    x21 = x10 + x17 + x8 + x9
    x22 = a2i * x0
    x23 = 2 * a31
    x24 = a123i * x23
    x25 = a1i * x14 + a3i * x4
    x26 = a1i * x4
    x27 = a2i * x23
    x28 = a123i * x0
    x29 = a3i * x14
    x30 = x28 + x29
    x31 = a123i * x14
    x32 = a3i * x0
    x33 = a1i * x23 + a2i * x4
    x34 = a123i * x4
    x35 = a1i * x0
    x36 = a2i * x14 + a3i * x23
    return Line(
        b12 * x2 + b23 * x12 + b31 * x5,
        b12 * x15 + b23 * x16 + b31 * x18,
        b12 * x21 + b23 * x19 + b31 * x20,
        b12 * (-x22 + x24 + x25) + b1i * x12 + b23 * (x26 - x27 - x30) + b2i * x5 + b31 * (-x31 + x32 + x33) + b3i * x2,
        b12 * (-x34 + x35 + x36)
        + b1i * x16
        + b23 * (x31 - x32 + x33)
        + b2i * x18
        + b31 * (-x26 + x27 - x30)
        + b3i * x15,
        b12 * (-x26 - x27 - x28 + x29)
        + b1i * x19
        + b23 * (x22 - x24 + x25)
        + b2i * x20
        + b31 * (x34 - x35 + x36)
        + b3i * x21,
    )


def motor_pair(a: Motor[T], b: Pair[T]) -> Pair[T]:
    """b as the unit motor a moves it. FABRIK-CGA (3.9). Made from a * b * rev(a)."""
    a0, a23, a31, a12, a1i, a2i, a3i, a123i = a
    b123, b23o, b31o, b12o, b23i, b31i, b12i, b1oi, b2oi, b3oi = b
    x0 = a12 * a12
    x1 = a31 * a31
    x2 = a0 * a0
    x3 = a23 * a23
    x4 = x2 + x3
    x5 = 2 * a31
    x6 = a1i * x5
    x7 = 2 * a123i
    x8 = a12 * x7
    x9 = 2 * a0
    x10 = a3i * x9
    x11 = 2 * a2i
    x12 = a23 * x11
    x13 = x10 + x12
    x14 = a12 * x11
    x15 = a3i * x5
    x16 = a1i * x9
    x17 = a23 * x7
    x18 = x16 + x17
    x19 = 2 * a23
    x20 = a3i * x19
    x21 = a2i * x9
    x22 = 2 * a12
    x23 = a1i * x22
    x24 = a31 * x7
    x25 = x23 + x24
    x26 = a31 * x9
    x27 = 2 * a12 * a23 - x26
    x28 = a12 * x9
    x29 = a23 * x5 + x28
    x30 = -x0
    x31 = -x1
    x32 = x30 + x31 + x4
    x33 = a23 * x9
    x34 = a12 * x5 + x33
    x35 = 2 * a23 * a31 - x28
    x36 = x2 - x3
    x37 = x1 + x30 + x36
    x38 = a23 * x22 + x26
    x39 = 2 * a12 * a31 - x33
    x40 = x0 + x31 + x36
    x41 = 4 * a123i
    x42 = a2i * x41
    x43 = 4 * a1i
    x44 = a3i * x41
    x45 = a1i * x19
    x46 = a31 * x11
    x47 = a123i * x9
    x48 = a3i * x22
    x49 = x47 + x48
    x50 = -x45 + x46 + x49
    x51 = -x13 - x6 + x8
    x52 = -x20 + x21 - x25
    x53 = 2 * a2i * a2i
    x54 = -x53
    x55 = 2 * a1i * a1i
    x56 = 2 * a3i * a3i
    x57 = 2 * a123i * a123i
    x58 = -x56 + x57
    x59 = a1i * x41
    x60 = x20 + x21
    x61 = x6 + x8
    x62 = x10 - x12 - x61
    x63 = x45 - x46 + x49
    x64 = x14 + x15
    x65 = -x16 + x17 - x64
    x66 = -x55
    x67 = -x23 + x24 - x60
    x68 = x16 - x17 - x64
    x69 = x45 + x46 + x47 - x48
    return Pair(
        b123 * (x0 + x1 + x4) + b12o * (-x13 + x6 - x8) + b23o * (x14 - x15 - x18) + b31o * (x20 - x21 - x25),
        b12o * x27 + b23o * x32 + b31o * x29,
        b12o * x34 + b23o * x35 + b31o * x37,
        b12o * x40 + b23o * x38 + b31o * x39,
        b123 * (-x14 + x15 - x18)
        + b12i * x27
        + b12o * (a3i * x43 + x42)
        + b1oi * x50
        + b23i * x32
        + b23o * (x54 + x55 + x58)
        + b2oi * x51
        + b31i * x29
        + b31o * (4 * a1i * a2i - x44)
        + b3oi * x52,
        b123 * (x23 - x24 - x60)
        + b12i * x34
        + b12o * (4 * a2i * a3i - x59)
        + b1oi * x62
        + b23i * x35
        + b23o * (a2i * x43 + x44)
        + b2oi * x63
        + b31i * x37
        + b31o * (x53 + x58 + x66)
        + b3oi * x65,
        b123 * (-x10 + x12 - x61)
        + b12i * x40
        + b12o * (x54 + x56 + x57 + x66)
        + b1oi * x67
        + b23i * x38
        + b23o * (4 * a1i * a3i - x42)
        + b2oi * x68
        + b31i * x39
        + b31o * (4 * a2i * a3i + x59)
        + b3oi * x69,
        b12o * x52 + b1oi * x32 + b23o * x50 + b2oi * x29 + b31o * x51 + b3oi * x27,
        b12o * x65 + b1oi * x35 + b23o * x62 + b2oi * x37 + b31o * x63 + b3oi * x34,
        b12o * x69 + b1oi * x38 + b23o * x67 + b2oi * x39 + b31o * x68 + b3oi * x40,
    )


def dilator_sphere(a: Dilator[T], b: Sphere[T]) -> WeightedSphere[T]:
    """b as the unit dilator a scales it. CGA-arm (5.3). Made from a * b * rev(a)."""
    a0, aoi = a
    b1, b2, b3, bi = b
    x0 = a0 * a0
    x1 = aoi * aoi
    x2 = x0 - x1
    x3 = 2 * a0 * aoi
    x4 = x0 + x1
    return WeightedSphere(b1 * x2, b2 * x2, b3 * x2, -x3 + x4, bi * (x3 + x4))


def mirror_sphere(a: Plane[T], b: Sphere[T]) -> Sphere[T]:
    """b in the mirror of the unit plane a, its orientation kept. FABRIK-CGA (3.16). Made from -(a * b * a)."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    x0 = 2 * a1
    x1 = a2 * x0
    x2 = a3 * b3
    x3 = a1 * a1
    x4 = a2 * a2
    x5 = a3 * a3
    x6 = x4 + x5
    x7 = 2 * a2
    x8 = 2 * ai
    return Sphere(
        2 * a1 * ai + b1 * (-x3 + x6) - b2 * x1 - x0 * x2,
        2 * a2 * ai - b1 * x1 + b2 * (x3 - x4 + x5) - x2 * x7,
        2 * a3 * ai - a3 * b1 * x0 - a3 * b2 * x7 + b3 * (x3 + x4 - x5),
        -a1 * b1 * x8 - a2 * b2 * x8 - a3 * b3 * x8 + 2 * ai * ai + bi * (x3 + x6),
    )


def dilator_plane(a: Dilator[T], b: Plane[T]) -> Plane[T]:
    """b as the unit dilator a scales it. CGA-arm (5.3). Made from a * b * rev(a)."""
    a0, aoi = a
    b1, b2, b3, bi = b
    x0 = a0 * a0
    x1 = aoi * aoi
    x2 = x0 - x1
    return Plane(b1 * x2, b2 * x2, b3 * x2, bi * (2 * a0 * aoi + x0 + x1))


def mirror_plane(a: Plane[T], b: Plane[T]) -> Plane[T]:
    """b in the mirror of the unit plane a, its orientation kept. FABRIK-CGA (3.16). Made from -(a * b * a)."""
    a1, a2, a3, ai = a
    b1, b2, b3, bi = b
    x0 = 2 * a1
    x1 = a2 * x0
    x2 = a3 * b3
    x3 = a1 * a1
    x4 = a2 * a2
    x5 = a3 * a3
    x6 = x4 + x5
    x7 = 2 * a2
    x8 = b1 * x0
    x9 = b2 * x7
    return Plane(
        b1 * (-x3 + x6) - b2 * x1 - x0 * x2,
        -b1 * x1 + b2 * (x3 - x4 + x5) - x2 * x7,
        -a3 * x8 - a3 * x9 + b3 * (x3 + x4 - x5),
        -2 * ai * x2 - ai * x8 - ai * x9 + bi * (x3 + x6),
    )


def dilator_circle(a: Dilator[T], b: Circle[T]) -> Circle[T]:
    """b as the unit dilator a scales it. CGA-arm (5.3). Made from a * b * rev(a)."""
    a0, aoi = a
    b23, b31, b12, b1o, b2o, b3o, b1i, b2i, b3i, boi = b
    x0 = a0 * a0
    x1 = aoi * aoi
    x2 = x0 - x1
    x3 = 2 * a0 * aoi
    x4 = x0 + x1
    x5 = -x3 + x4
    x6 = x3 + x4
    return Circle(b23 * x2, b31 * x2, b12 * x2, b1o * x5, b2o * x5, b3o * x5, b1i * x6, b2i * x6, b3i * x6, boi * x2)


def mirror_circle(a: Plane[T], b: Circle[T]) -> Circle[T]:
    """b in the mirror of the unit plane a, its orientation kept. FABRIK-CGA (3.16). Made from (a * b * a)."""
    a1, a2, a3, ai = a
    b23, b31, b12, b1o, b2o, b3o, b1i, b2i, b3i, boi = b
    x0 = 2 * a2
    x1 = a1 * x0
    x2 = 2 * a3
    x3 = a1 * x2
    x4 = ai * b3o
    x5 = ai * x2
    x6 = a1 * a1
    x7 = a2 * a2
    x8 = a3 * a3
    x9 = x7 + x8
    x10 = -x6 + x9
    x11 = 2 * a1
    x12 = a3 * x0
    x13 = x6 - x7 + x8
    x14 = ai * x11
    x15 = ai * x0
    x16 = x6 + x7 - x8
    x17 = 2 * ai * ai
    return Circle(
        b12 * x3 - b23 * x10 + b2o * x5 + b31 * x1 - x0 * x4,
        b12 * x12 - b1o * x5 + b23 * x1 - b31 * x13 + x11 * x4,
        -b12 * x16 + b1o * x15 + b23 * x3 - b2o * x14 + b31 * x12,
        b1o * x10 - b2o * x1 - b3o * x3,
        -b1o * x1 + b2o * x13 - b3o * x12,
        -b1o * x3 - b2o * x12 + b3o * x16,
        -b12 * x15 + b1i * x10 + b1o * x17 - b2i * x1 + b31 * x5 - b3i * x3 + boi * x14,
        b12 * x14 - b1i * x1 - b23 * x5 + b2i * x13 + b2o * x17 - b3i * x12 + boi * x15,
        -b1i * x3 + b23 * x15 - b2i * x12 - b31 * x14 + b3i * x16 + b3o * x17 + boi * x5,
        b1o * x14 + b2o * x15 + boi * (x6 + x9) + x2 * x4,
    )


def dilator_line(a: Dilator[T], b: Line[T]) -> Line[T]:
    """b as the unit dilator a scales it. CGA-arm (5.3). Made from a * b * rev(a)."""
    a0, aoi = a
    b23, b31, b12, b1i, b2i, b3i = b
    x0 = a0 * a0
    x1 = aoi * aoi
    x2 = x0 - x1
    x3 = 2 * a0 * aoi + x0 + x1
    return Line(b23 * x2, b31 * x2, b12 * x2, b1i * x3, b2i * x3, b3i * x3)


def mirror_line(a: Plane[T], b: Line[T]) -> Line[T]:
    """b in the mirror of the unit plane a, its orientation kept. FABRIK-CGA (3.16). Made from (a * b * a)."""
    a1, a2, a3, ai = a
    b23, b31, b12, b1i, b2i, b3i = b
    x0 = 2 * a1
    x1 = a2 * x0
    x2 = a3 * b12
    x3 = a2 * a2
    x4 = a3 * a3
    x5 = a1 * a1
    x6 = x3 + x4 - x5
    x7 = 2 * a2
    x8 = -x3 + x4 + x5
    x9 = a3 * x0
    x10 = x3 - x4 + x5
    x11 = a3 * x7
    return Line(
        -b23 * x6 + b31 * x1 + x0 * x2,
        b23 * x1 - b31 * x8 + x2 * x7,
        a3 * b31 * x7 - b12 * x10 + b23 * x9,
        2 * a3 * ai * b31 - ai * b12 * x7 + b1i * x6 - b2i * x1 - b3i * x9,
        2 * a1 * ai * b12 - 2 * a3 * ai * b23 - b1i * x1 + b2i * x8 - b3i * x11,
        2 * a2 * ai * b23 - ai * b31 * x0 - b1i * x9 - b2i * x11 + b3i * x10,
    )


def dilator_pair(a: Dilator[T], b: Pair[T]) -> Pair[T]:
    """b as the unit dilator a scales it. CGA-arm (5.3). Made from a * b * rev(a)."""
    a0, aoi = a
    b123, b23o, b31o, b12o, b23i, b31i, b12i, b1oi, b2oi, b3oi = b
    x0 = a0 * a0
    x1 = aoi * aoi
    x2 = x0 - x1
    x3 = 2 * a0 * aoi
    x4 = x0 + x1
    x5 = -x3 + x4
    x6 = x3 + x4
    return Pair(
        b123 * x2,
        b23o * x5,
        b31o * x5,
        b12o * x5,
        b23i * x6,
        b31i * x6,
        b12i * x6,
        b1oi * x2,
        b2oi * x2,
        b3oi * x2,
    )


def mirror_pair(a: Plane[T], b: Pair[T]) -> Pair[T]:
    """b in the mirror of the unit plane a, its orientation kept. FABRIK-CGA (3.16). Made from -(a * b * a)."""
    a1, a2, a3, ai = a
    b123, b23o, b31o, b12o, b23i, b31i, b12i, b1oi, b2oi, b3oi = b
    x0 = 2 * ai
    x1 = a1 * b23o
    x2 = a2 * b31o
    x3 = a3 * b12o
    x4 = a1 * a1
    x5 = a2 * a2
    x6 = a3 * a3
    x7 = x5 + x6
    x8 = 2 * a1
    x9 = -x4 + x7
    x10 = -x9
    x11 = 2 * a2
    x12 = x4 - x5 + x6
    x13 = -x12
    x14 = 2 * a3
    x15 = x4 + x5 - x6
    x16 = -x15
    x17 = a2 * x8
    x18 = a3 * b12i
    x19 = b123 * x0
    x20 = b3oi * x0
    x21 = a3 * x0
    x22 = 2 * ai * ai
    x23 = a3 * x8
    x24 = a1 * x0
    x25 = a3 * x11
    x26 = a2 * x0
    return Pair(
        b123 * (-x4 - x7) + x0 * x1 + x0 * x2 + x0 * x3,
        b23o * x10 + x2 * x8 + x3 * x8,
        b31o * x13 + x1 * x11 + x11 * x3,
        b12o * x16 + x1 * x14 + x14 * x2,
        -a1 * x19 - a2 * x20 + b23i * x10 + b23o * x22 + b2oi * x21 + b31i * x17 + x18 * x8,
        a1 * x20 - a2 * x19 - b1oi * x21 + b23i * x17 + b31i * x13 + b31o * x22 + x11 * x18,
        -a3 * x19 + b12i * x16 + b12o * x22 + b1oi * x26 + b23i * x23 - b2oi * x24 + b31i * x25,
        2 * a2 * ai * b12o + b1oi * x9 - b2oi * x17 - b31o * x21 - b3oi * x23,
        2 * a3 * ai * b23o - b12o * x24 - b1oi * x17 + b2oi * x12 - b3oi * x25,
        2 * a1 * ai * b31o - b1oi * x23 - b23o * x26 - b2oi * x25 + b3oi * x15,
    )
