"""A joint from two markers and a plane, in every case of C² and B²: against plain vectors, clifford and brute force."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from knuckle.solvers.cga import generated as g
from knuckle.solvers.cga.generated import Vector
from knuckle.solvers.cga.objects import positions, vector
from knuckle.solvers.conformal import sphere_intersection

from . import clifford

few = settings(deadline=None, max_examples=40)
numbers = st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 6))
places = hnp.arrays(float, 3, elements=numbers)
P, Q = np.array([0.1, -0.2, 0.05]), np.array([0.16, -0.17, 0.08])
"""m, two markers on a palm."""
AXIS = (Q - P) / np.linalg.norm(Q - P)
SIDE = np.cross(AXIS, [0.0, 0.0, 1.0]) / np.linalg.norm(np.cross(AXIS, [0.0, 0.0, 1.0]))
APART = np.linalg.norm(Q - P)


def there(x):
    """A place as floats."""
    return Vector(*(float(c) for c in x))


def found(p, q, lengths, plane, before):
    """The joint on the plane of a normal through a place."""
    wall = g.plane_at(*map(there, plane))
    return np.array(sphere_intersection.joint_position((there(p), there(q)), lengths, wall, there(before)))


def ring(p, q, lengths, count=100_000):
    """Places on the circle in which two spheres meet, and its centre."""
    way = q - p
    along = (way @ way + lengths[0] ** 2 - lengths[1] ** 2) / (2 * way @ way)
    centre = p + along * way
    radius = np.sqrt(lengths[0] ** 2 - along**2 * way @ way)
    one = np.cross(way, [0.3, 0.4, 0.5])
    one /= np.linalg.norm(one)
    other = np.cross(way, one) / np.linalg.norm(way)
    angle = np.linspace(0, 2 * np.pi, count)[:, None]
    return centre + radius * (np.cos(angle) * one + np.sin(angle) * other), centre, radius


@few
@given(places, places, places, places)
def test_a_joint_on_the_plane_at_its_lengths_is_found_again(p, q, x, normal):
    """C² > 0, B² > 0: of the two places the one that is near to where the joint was."""
    lengths = np.linalg.norm(x - p), np.linalg.norm(x - q)
    size, volume = np.linalg.norm(normal), abs(np.linalg.det([q - p, x - p, normal]))
    assume(min(*lengths, np.linalg.norm(q - p), size) > 0.1)
    # So far from where the circle touches the plane that the other place is another.
    assume(volume > 0.05 * size)
    before = x + 0.001
    assert np.abs(found(p, q, lengths, (normal / size, x), before) - x).max() < 1e-9


@few
@given(places, places, places, places)
def test_the_two_places_are_those_of_cliffords_meets(p, q, x, normal):
    lengths: tuple[float, float] = float(np.linalg.norm(x - p)), float(np.linalg.norm(x - q))
    size, volume = np.linalg.norm(normal), abs(np.linalg.det([q - p, x - p, normal]))
    assume(min(*lengths, float(np.linalg.norm(q - p)), float(size)) > 0.1)
    assume(volume > 0.05 * size)
    normal = normal / size
    for end in clifford.meets(
        clifford.sphere(p, lengths[0]), clifford.sphere(q, lengths[1]), clifford.plane(normal, x)
    ):
        assert np.abs(found(p, q, lengths, (normal, x), end) - end).max() < 1e-9


def test_a_circle_that_touches_the_plane_gives_the_place_where_it_does():
    """B² = 0."""
    places, centre, radius = ring(P, Q, (0.05, 0.04))
    touching = centre + radius * SIDE
    for before in (places[0], places[40_000]):
        assert np.abs(found(P, Q, (0.05, 0.04), (SIDE, touching), before) - touching).max() < 1e-7


def test_a_circle_beside_the_plane_gives_its_place_nearest_to_the_last():
    """B² < 0."""
    places, centre, radius = ring(P, Q, (0.05, 0.04))
    for before in (centre + [0.01, 0.02, 0.03], places[123] * 1.1):
        nearest = places[np.linalg.norm(places - before, axis=1).argmin()]
        off = found(P, Q, (0.05, 0.04), (SIDE, centre + 1.1 * radius * SIDE), before) - nearest
        assert np.abs(off).max() < 1e-5


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-9, 1e-7])
def test_a_circle_that_lies_in_the_plane_gives_its_place_nearest_to_the_last(tilt):
    """B = 0, or all but."""
    places, centre, _ = ring(P, Q, (0.05, 0.04))
    before = places[123] * 1.1
    nearest = places[np.linalg.norm(places - before, axis=1).argmin()]
    plane = np.cos(tilt) * AXIS + np.sin(tilt) * SIDE, centre
    assert np.abs(found(P, Q, (0.05, 0.04), plane, before) - nearest).max() < 1e-5


@pytest.mark.parametrize("lengths", [(0.7 * APART, 0.3 * APART), (1.5 * APART, 0.5 * APART)], ids=["beside", "inside"])
def test_spheres_that_touch_give_the_place_where_they_do(lengths):
    """C² = 0, whichever way the plane runs."""
    touching = P + lengths[0] * AXIS
    for normal in (SIDE, AXIS, np.cross(AXIS, SIDE)):
        assert np.abs(found(P, Q, lengths, (normal, touching), P) - touching).max() < 1e-6


def test_spheres_too_far_apart_give_the_middle_of_what_is_between_them():
    """C² < 0: for equal lengths the paper's (p + q) / 2."""
    assert np.abs(found(P, Q, (0.3 * APART, 0.3 * APART), (SIDE, P), P) - (P + Q) / 2).max() < 1e-12
    expected = P + (0.5 * APART + 0.7 * APART) / 2 * AXIS
    assert np.abs(found(P, Q, (0.5 * APART, 0.3 * APART), (SIDE, P), P) - expected).max() < 1e-12


def test_a_sphere_inside_the_other_gives_the_middle_of_what_is_between_them():
    """C² < 0."""
    expected = P + (2.0 + 1.5) / 2 * APART * AXIS
    assert np.abs(found(P, Q, (2.0 * APART, 0.5 * APART), (SIDE, P), P) - expected).max() < 1e-12
    expected = Q - (2.0 + 1.5) / 2 * APART * AXIS
    assert np.abs(found(Q, P, (2.0 * APART, 0.5 * APART), (SIDE, P), P) - expected).max() < 1e-12


@pytest.mark.parametrize("share", [0.7, 1.5])
def test_nothing_jumps_as_spheres_part(share):
    """From C² > 0 through 0 to C² < 0 the joint moves by no more than a root of what the markers move by."""
    for gap in (-1e-6, -1e-9, 0.0, 1e-9, 1e-6):
        lengths = share * APART, abs(1 - share) * APART
        off = found(P, Q + gap * AXIS, lengths, (SIDE, P + share * APART * AXIS), P) - (P + share * APART * AXIS)
        assert np.linalg.norm(off) < 2 * np.sqrt(abs(gap) * APART) + 1e-6


def test_markers_in_one_place_give_a_place_that_is_finite():
    for lengths in ((0.05, 0.03), (0.05, 0.05)):
        assert np.isfinite(found(P, P, lengths, (SIDE, P), Q)).all()


def test_one_frame_is_solved_as_many_are():
    """Over all cases of C² and B²."""
    random = np.random.default_rng(3)
    p, q, on, before, normal = random.normal(0, 0.1, (5, 500, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    lengths = (0.15, 0.1)
    plane = g.plane_at(vector(normal), vector(on))
    many = positions(sphere_intersection.joint_position((vector(p), vector(q)), lengths, plane, vector(before)))
    away = np.linalg.norm(q - p, axis=1)
    assert 0 < np.count_nonzero((away > 0.25) | (away < 0.05)) < 500
    for k in range(500):
        assert np.abs(found(p[k], q[k], lengths, (normal[k], on[k]), before[k]) - many[k]).max() < 1e-9
