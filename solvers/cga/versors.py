"""Construct rotors, translators, dilators and motors, and convert them from and to quaternions and matrices.

A versor V maps an object X to V X ~V; generated.py has a function for each versor and object, such as rotor_line(V, X).
All versors constructed here are normalised: V ~V = 1.
"""

import numpy as np

from . import generated as g
from .generated import Dilator, Floats, Motor, Plane, Rotor, T, Translator, Vector
from .objects import add, cross, dot, perpendicular
from .scalars import any_true, choose, safe_inverse, safe_sqrt

OPPOSITE_TOLERANCE = 1e-24
"""|a + b|² below which directions a and b count as opposite: within 1e-12 rad."""


def translator(vector: Vector[T]) -> Translator[T]:
    """Return the translator by a vector t: 1 - t n∞ / 2."""
    return Translator(-0.5 * vector.e1, -0.5 * vector.e2, -0.5 * vector.e3)


def dilator(factor: T) -> Dilator[T]:
    """Return the dilator about the origin by a factor > 0: exp(-ln(f) E / 2), E = n∞ ∧ n_o. CGA-arm (5.1)."""
    up = safe_sqrt(factor)
    down = safe_inverse(up)
    return Dilator(0.5 * (up + down), 0.5 * (up - down))


def rotor(quaternion: Floats) -> Rotor[Floats]:
    """Convert unit quaternions wxyz (..., 4) to rotors: i, j, k are -e23, -e31, -e12. CGA-arm 4.2."""
    w, x, y, z = np.ascontiguousarray(np.moveaxis(quaternion, -1, 0))
    return Rotor(w, -x, -y, -z)


def quaternion(r: Rotor[Floats]) -> Floats:
    """Convert a rotor to unit quaternions wxyz (..., 4)."""
    return np.stack(np.broadcast_arrays(r.s, -r.e23, -r.e31, -r.e12), -1)


def rotor_between(a: Vector[T], b: Vector[T]) -> Rotor[T]:
    """Return the shortest rotation of unit vector a to unit vector b: (1 + b a) / |1 + b a|. FABRIK-CGA (3.9).

    Opposite directions have no shortest rotation: the axis is a fixed perpendicular that depends on a alone.
    """
    product, s, scale, opposite = _half_angle(a, b)
    if not any_true(opposite > 0):
        return Rotor(s * scale, -product.e1 * scale, -product.e2 * scale, -product.e3 * scale)
    axis = perpendicular(a)
    return Rotor(
        choose(opposite > 0, 0.0, s * scale),
        -choose(opposite > 0, axis.e1, product.e1 * scale),
        -choose(opposite > 0, axis.e2, product.e2 * scale),
        -choose(opposite > 0, axis.e3, product.e3 * scale),
    )


def motor_between(a: Plane[T], b: Plane[T]) -> Motor[T]:
    """Return the shortest motion of unit plane a to unit plane b: (1 + b a) / |1 + b a|. FABRIK-CGA (3.9).

    This is a rotation about their intersection, or a translation along the normal of parallel planes. Planes with
    opposite normals have no shortest motion: the result is a half turn about a line halfway between them, one of those
    closest to the origin.
    """
    normal_a, normal_b = Vector(a.e1, a.e2, a.e3), Vector(b.e1, b.e2, b.e3)
    side = perpendicular(normal_a)
    _, s, scale, opposite = _half_angle(normal_a, normal_b)
    total = Plane(a.e1 + b.e1, a.e2 + b.e2, a.e3 + b.e3, a.ei + b.ei)
    _, e23, e31, e12, e1i, e2i, e3i, e123i = g.plane_plane(total, a)  # 1 + b a = (b + a) a
    motion = Motor(
        s * scale,
        e23 * scale,
        e31 * scale,
        e12 * scale,
        e1i * scale,
        e2i * scale,
        e3i * scale,
        e123i,
    )
    # A reflection in the plane halfway and one in a perpendicular plane make a half turn about their intersection.
    middle = Plane(a.e1, a.e2, a.e3, 0.5 * (a.ei - b.ei))
    half_turn = g.plane_plane(Plane(side.e1, side.e2, side.e3, 0.0 * s), middle)
    return Motor(
        choose(opposite > 0, half_turn.s, motion.s),
        choose(opposite > 0, half_turn.e23, motion.e23),
        choose(opposite > 0, half_turn.e31, motion.e31),
        choose(opposite > 0, half_turn.e12, motion.e12),
        choose(opposite > 0, half_turn.e1i, motion.e1i),
        choose(opposite > 0, half_turn.e2i, motion.e2i),
        choose(opposite > 0, half_turn.e3i, motion.e3i),
        choose(opposite > 0, half_turn.e123i, motion.e123i),
    )


def _half_angle(a: Vector[T], b: Vector[T]) -> tuple[Vector[T], T, T, T]:
    """Return a × b, 1 + a · b, 1 / |1 + b a|, and a flag: 1 where the directions are opposite, else 0.

    Computed from a + b, which is exact for nearly opposite directions where their products would cancel.
    """
    total = add(a, b, 0.0 * a.e1 + 1.0)
    product, s = cross(a, total), 0.5 * dot(total, total)
    length = safe_sqrt(s * s + dot(product, product))
    return product, s, safe_inverse(length), choose(2.0 * s <= OPPOSITE_TOLERANCE, 1.0, 0.0)


def matrix(motor: Motor[Floats]) -> Floats:
    """Convert a motor to rigid transforms (..., 4, 4)."""
    zero, one = np.zeros_like(motor.s), np.ones_like(motor.s)
    rotation = Rotor(motor.s, motor.e23, motor.e31, motor.e12)
    columns = [
        g.rotor_vector(rotation, Vector(*axis)) for axis in ((one, zero, zero), (zero, one, zero), (zero, zero, one))
    ]
    origin = g.motor_sphere(motor, g.up(Vector(zero, zero, zero)))
    top = np.stack([np.stack(np.broadcast_arrays(*column), -1) for column in (*columns, origin[:3])], -1)
    bottom = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*top.shape[:-2], 1, 4))
    return np.concatenate([top, bottom], -2)
