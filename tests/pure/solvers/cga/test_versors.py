"""Versors: what they do to places, what they keep, and what they are as quaternions and matrices."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from knuckle.hand import rotations as rot
from knuckle.solvers.cga import generated as g
from knuckle.solvers.cga import objects, versors
from knuckle.solvers.cga.generated import Vector
from knuckle.solvers.cga.objects import positions, vector

from . import oracle
from .oracle import I5, g3c

N = 8
few = settings(deadline=None, max_examples=40)  # clifford compiles when it is first called
numbers = st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 6))
places = hnp.arrays(float, (N, 3), elements=numbers)


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


directions = places.map(lambda v: unit(np.where(np.linalg.norm(v, axis=1)[:, None] > 0.1, v, [0.6, 0.0, 0.8])))
turns = hnp.arrays(float, (N, 4), elements=numbers).map(
    lambda q: unit(np.where(np.linalg.norm(q, axis=1)[:, None] > 0.1, q, [0.5, -0.5, 0.5, 0.5]))
)


def plane_of(normal, distance):
    return g.Plane(*vector(normal), distance)


def off(a, b):
    return np.abs(np.array(a) - np.array(b)).max()


@few
@given(turns, places, places)
def test_a_motor_turns_and_moves_as_quaternion_and_way_do(q, way, x):
    motor = g.translator_rotor(versors.translator(vector(way)), versors.rotor(q))
    expected = rot.rotate(q, x) + way
    assert off(positions(objects.centre(g.motor_sphere(motor, g.up(vector(x))))), expected) < 1e-12
    moves = versors.matrix(motor)
    assert off(np.einsum("nij,nj->ni", moves[:, :3, :3], x) + moves[:, :3, 3], expected) < 1e-12
    assert off(positions(g.rotor_vector(versors.rotor(q), vector(x))), rot.rotate(q, x)) < 1e-12


@few
@given(turns, turns)
def test_rotors_multiply_as_quaternions_do(p, q):
    product = versors.quaternion(g.rotor_rotor(versors.rotor(p), versors.rotor(q)))
    assert off(product, rot.multiply(p, q)) < 1e-15


@few
@given(places, st.floats(0.1, 10))
def test_a_dilator_scales_places_and_radii(x, factor):
    dilator = versors.dilator(np.full(N, factor))
    scaled = objects.normalised(g.dilator_sphere(dilator, g.sphere(vector(x), np.ones(N))))
    assert off(positions(objects.centre(scaled)), factor * x) < 1e-11
    assert g.square_sphere(scaled) == pytest.approx(np.full(N, factor**2), rel=1e-9)


@few
@given(turns, places, places, directions)
def test_a_motor_keeps_what_lies_on_what(q, way, x, normal):
    motor = g.translator_rotor(versors.translator(vector(way)), versors.rotor(q))
    plane = g.plane_at(vector(normal), vector(x))
    sphere = g.sphere(vector(x + normal), np.ones(N))
    circle = g.meet_sphere_plane(g.sphere(vector(x + 0.5 * normal), np.ones(N)), plane)
    moved = g.motor_sphere(motor, g.up(vector(x)))
    assert np.abs(g.dot_sphere_plane(moved, g.motor_plane(motor, plane))).max() < 1e-11
    assert np.abs(g.dot_sphere_sphere(moved, g.motor_sphere(motor, sphere))).max() < 1e-11
    # What meets and then moves is what moves and then meets.
    again = g.meet_sphere_plane(
        g.motor_sphere(motor, g.sphere(vector(x + 0.5 * normal), np.ones(N))), g.motor_plane(motor, plane)
    )
    assert off(g.motor_circle(motor, circle), again) < 1e-11


@few
@given(directions, numbers, places)
def test_a_mirror_keeps_what_is_in_it_and_turns_the_rest_over(normal, distance, x):
    plane = plane_of(normal, np.full(N, distance))
    height = (x * normal).sum(1) - distance
    mirrored = positions(objects.centre(g.mirror_sphere(plane, g.up(vector(x)))))
    assert off(mirrored, x - 2 * height[:, None] * normal) < 1e-12


def check_rotor(a, b):
    rotor = versors.rotor_between(vector(a), vector(b))
    assert off(positions(g.rotor_vector(rotor, vector(a))), b) < 1e-12
    assert np.linalg.norm(versors.quaternion(rotor), axis=1) == pytest.approx(np.ones(len(a)), abs=1e-15)
    return rotor


@few
@given(directions, directions)
def test_a_rotor_between_directions_brings_one_to_the_other_the_short_way(a, b):
    rotor = check_rotor(a, b)
    assert np.abs(2 * np.arccos(np.clip(rotor.s, -1, 1)) - np.arccos(np.clip((a * b).sum(1), -1, 1))).max() < 1e-7


@pytest.mark.parametrize("angle", [0.0, 1e-14, 1e-9, 1e-4])
def test_a_rotor_to_all_but_the_opposite_direction_is_as_exact(angle):
    a = unit(np.random.default_rng(6).normal(size=(N, 3)))
    side = unit(np.cross(a, [0.3, 0.4, 0.5]))
    check_rotor(a, -np.cos(angle) * a + np.sin(angle) * side)
    check_rotor(a, np.cos(angle) * a + np.sin(angle) * side)


@few
@given(directions, directions, places)
def test_a_motor_between_planes_brings_one_to_the_other(a, b, at):
    away = np.linalg.norm(a + b, axis=1)
    # The move is about the planes' common line: far away where they are nearly parallel, and as inexact as it is far.
    assume(((away > 0.05) & (np.linalg.norm(np.cross(a, b), axis=1) > 0.01)).all())
    one, other = plane_of(a, (a * at).sum(1)), plane_of(b, (b * at).sum(1) + 0.1)
    motor = versors.motor_between(one, other)
    assert off(g.motor_plane(motor, one), other) < 1e-9


def test_parallel_planes_are_moved_along_their_normal_and_opposite_ones_turned_over():
    normal = unit(np.random.default_rng(7).normal(size=(N, 3)))
    one = plane_of(normal, np.full(N, 0.3))
    along = versors.motor_between(one, plane_of(normal, np.full(N, 0.5)))
    assert off(versors.matrix(along)[:, :3, 3], 0.2 * normal) < 1e-12
    assert off(versors.matrix(along)[:, :3, :3], np.eye(3)) < 1e-12
    turned_over = plane_of(-normal, np.full(N, 0.4))
    motor = versors.motor_between(one, turned_over)
    assert off(g.motor_plane(motor, one), turned_over) < 1e-12
    assert np.abs(motor.s).max() < 1e-15


def test_clifford_takes_the_motor_between_planes_for_the_root_of_their_product():
    random = np.random.default_rng(8)
    a, b = unit(random.normal(size=(2, 1, 3)))
    one, other = plane_of(a, np.array([0.3])), plane_of(b, np.array([-0.2]))
    motor = g.Motor(*(float(c[0]) for c in versors.motor_between(one, other)))
    planes = [oracle.theirs(g.Plane(*(float(c[0]) for c in plane))) for plane in (one, other)]
    assert oracle.difference(motor, (1 + planes[1] * planes[0]).normal()) < 1e-12
    assert oracle.coefficients(oracle.theirs(motor) * ~oracle.theirs(motor))["s"] == pytest.approx(1, abs=1e-12)
    assert (I5 * g3c.e1 - g3c.e1 * I5) == 0  # the pseudoscalar commutes: what moves an object moves its dual


def test_a_live_versor_is_a_takes():
    a, b = unit(np.random.default_rng(9).normal(size=(2, N, 3)))
    take = versors.rotor_between(vector(a), vector(b))
    planes = plane_of(a, np.full(N, 0.1)), plane_of(b, np.full(N, 0.2))
    move = versors.motor_between(*planes)
    for k in range(N):
        alone = versors.rotor_between(Vector(*a[k].tolist()), Vector(*b[k].tolist()))
        assert off(alone, [c[k] for c in take]) < 1e-15
        one, other = (g.Plane(*(float(c[k]) for c in plane)) for plane in planes)
        assert off(versors.motor_between(one, other), [c[k] for c in move]) < 1e-15
