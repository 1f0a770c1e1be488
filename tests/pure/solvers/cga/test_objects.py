"""What objects tell of themselves, against clifford and against plain geometry."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from knuckle.solvers.cga import generated as g
from knuckle.solvers.cga import objects
from knuckle.solvers.cga.generated import Plane, Vector

from . import oracle
from .oracle import I5, g3c

few = settings(deadline=None, max_examples=40)  # clifford compiles when it is first called
numbers = st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 6))
places = st.tuples(numbers, numbers, numbers).map(np.array)
radii = st.floats(0.05, 1)
E3 = np.array([0.0, 0.0, 1.0])


def unit(v):
    return v / np.linalg.norm(v)


def vector(x):
    return Vector(*map(float, x))


def off(a, b):
    return np.abs(np.array(a) - np.array(b)).max()


@st.composite
def meeting(draw):
    """Centres and radii of two spheres that meet in a circle, not nearly touching, and a place on it."""
    centre, radius = draw(places), draw(st.floats(0.1, 0.5))
    normal, other = draw(places), draw(places)
    assume(np.linalg.norm(np.cross(normal, other)) > 0.1)
    x = centre + radius * unit(np.cross(normal, other))
    near, far = draw(st.floats(-0.5, -0.1)), draw(st.floats(0.1, 0.5))
    p, q = centre + near * unit(normal), centre + far * unit(normal)
    return p, np.hypot(near, radius), q, np.hypot(far, radius), x, (centre, unit(normal), radius)


@few
@given(meeting())
def test_spheres_meet_in_the_circle_that_lies_on_both(case):
    p, r, q, s, x, (centre, normal, radius) = case
    circle = g.meet_sphere_sphere(g.sphere(vector(p), r), g.sphere(vector(q), s))
    found = objects.circle_parameters(circle)
    assert off(found.centre, centre) < 1e-12
    assert off(found.normal, normal) < 1e-12
    assert found.squared_radius == pytest.approx(radius**2, rel=1e-11)
    assert found.case == 1
    direct = (oracle.sphere(p, r) ^ oracle.sphere(q, s)) * I5
    assert off(found.centre, oracle.down(direct * g3c.einf * direct)) < 1e-12  # FABRIK-CGA (3.14)
    assert abs((oracle.up(x) ^ direct).value).max() < 1e-12


@few
@given(meeting(), places)
def test_a_circle_and_a_plane_meet_in_cliffords_pair(case, normal):
    p, r, q, s, x, (centre, axis, radius) = case
    assume(np.linalg.norm(np.cross(axis, normal)) > 0.1)
    # Through the circle's point x, and so far from touching it that the second point is another.
    assume(abs(unit(normal) @ np.cross(axis, x - centre)) > 0.1 * radius)
    plane = g.plane_at(vector(unit(normal)), vector(x))
    pair = g.meet_circle_plane(g.meet_sphere_sphere(g.sphere(vector(p), r), g.sphere(vector(q), s)), plane)
    found = objects.pair_points(pair)
    wall = oracle.vector(unit(normal)) + unit(normal) @ x * g3c.einf
    direct = (oracle.sphere(p, r) ^ oracle.sphere(q, s) ^ wall) * I5
    expected = oracle.ends(direct)
    assert found.case == 1
    assert off(found[:2], expected) < 1e-11 / radius
    assert min(off(x, end) for end in found[:2]) < 1e-11 / radius


@few
@given(places, places)
def test_a_pair_gives_back_the_points_that_it_was_made_of(p, q):
    assume(np.linalg.norm(p - q) > 1e-3)
    found = objects.pair_points(g.standard_pair(g.join_pair(g.up(vector(p)), g.up(vector(q)))))
    assert found.case == 1
    assert off(found.first, p) < 1e-12
    assert off(found.second, q) < 1e-12


@few
@given(places, places, radii, st.floats(-0.5, 0.5))
def test_a_line_meets_a_sphere_before_and_behind_its_centre(centre, way, radius, share):
    assume(np.linalg.norm(way) > 0.1)
    side = unit(np.cross(way, E3) if abs(unit(way)[2]) < 0.9 else np.cross(way, [1, 0, 0]))
    foot = centre + share * radius * side
    line = objects.line_of(g.join_line(g.up(vector(foot)), g.up(vector(foot + way))))
    found = objects.pair_points(g.meet_line_sphere(line, g.sphere(vector(centre), radius)))
    half = np.sqrt(1 - share**2) * radius * unit(way)
    assert found.case == 1
    assert min(off(found[:2], (foot + half, foot - half)), off(found[:2], (foot - half, foot + half))) < 1e-12


@pytest.mark.parametrize("apart", [1.0, -1.0], ids=["outside", "inside"])
@few
@given(places, places, radii, radii)
def test_spheres_that_touch_have_a_point_and_those_that_just_do_not_have_none(apart, p, way, r, s):
    assume(np.linalg.norm(way) > 0.1)
    assume(abs(r + apart * s) > 0.05)
    # What counts as nothing does so beside how far from the origin it is (TOLERANCE).
    assume(np.linalg.norm(p + r * unit(way)) > 1e-3)
    for gap, case in ((0.0, 0), (1e-4 * apart, -1), (-1e-4 * apart, 1)):
        q = p + unit(way) * (r + apart * s + np.sign(r + apart * s) * gap)
        found = objects.circle_parameters(g.meet_sphere_sphere(g.sphere(vector(p), r), g.sphere(vector(q), s)))
        assert found.case == case
        assert off(found.centre, p + r * unit(way)) < (0.1 if gap else 1e-12)


@few
@given(places, radii, radii)
def test_spheres_about_one_centre_have_no_circle_and_nothing_that_is_not_finite(p, r, s):
    assume(abs(r - s) > 1e-3)
    found = objects.circle_parameters(g.meet_sphere_sphere(g.sphere(vector(p), r), g.sphere(vector(p), s)))
    assert found.case == -1
    assert np.isfinite([*found.centre, *found.normal, found.squared_radius]).all()


def test_one_sphere_twice_has_no_circle_but_is_told_as_touching_and_finite():
    sphere = g.sphere(Vector(0.1, 0.2, 0.3), 0.5)
    found = objects.circle_parameters(g.meet_sphere_sphere(sphere, sphere))
    assert found.case == 0
    assert np.isfinite([*found.centre, *found.normal, found.squared_radius]).all()


def test_a_pair_of_one_point_twice_is_that_point_or_nothing_but_finite():
    point = g.up(Vector(0.1, 0.2, 0.3))
    assert objects.pair_points(g.standard_pair(g.join_pair(point, point))) == ((0, 0, 0), (0, 0, 0), 0)


@few
@given(places, places, radii, st.floats(1.001, 2))
def test_an_imaginary_pair_is_reported_and_stands_half_way(centre, way, radius, share):
    assume(np.linalg.norm(np.cross(way, E3)) > 0.1)
    side = unit(np.cross(way, E3))
    foot = centre + share * radius * side
    line = objects.line_of(g.join_line(g.up(vector(foot)), g.up(vector(foot + way))))
    found = objects.pair_points(g.meet_line_sphere(line, g.sphere(vector(centre), radius)))
    assert found.case == -1
    assert off(found.first, foot) < 1e-12
    assert found.first == found.second


def test_what_was_not_seen_has_no_circle_and_stays_unseen():
    missing = Vector(np.array([np.nan, 0.0]), np.array([0.0, 0.0]), np.array([0.0, 0.0]))
    there = Vector(np.zeros(2), np.zeros(2), np.ones(2) * 0.5)
    found = objects.circle_parameters(g.meet_sphere_sphere(g.sphere(missing, np.ones(2)), g.sphere(there, np.ones(2))))
    assert found.case.tolist() == [-1, 1]
    assert np.isnan(found.centre.e1).tolist() == [True, False]


@few
@given(places, places, places)
def test_a_plane_through_three_places_faces_those_who_see_them_counterclockwise(p, q, r):
    normal = np.cross(q - p, r - p)
    assume(np.linalg.norm(normal) > 1e-2)
    plane = objects.plane_through(vector(p), vector(q), vector(r))
    assert off(plane[:3], unit(normal)) < 1e-12
    assert max(abs(g.dot_sphere_plane(g.up(vector(x)), plane)) for x in (p, q, r)) < 1e-12


def test_places_in_a_line_have_no_plane():
    assert objects.plane_through(Vector(0.0, 0.0, 0.0), Vector(1.0, 0.0, 0.0), Vector(2.0, 0.0, 0.0)) == (0, 0, 0, 0)


@few
@given(places, places, places, places)
def test_a_sphere_through_four_places_is_as_far_from_each(p, q, r, s):
    assume(abs(np.linalg.det([q - p, r - p, s - p])) > 1e-2)
    sphere = objects.sphere_of(g.join_sphere(*(g.up(vector(x)) for x in (p, q, r, s))))
    away = [np.linalg.norm(x - np.array(objects.centre(sphere))) for x in (p, q, r, s)]
    assert away == pytest.approx([np.sqrt(g.square_sphere(sphere))] * 4, rel=1e-9)


def test_four_places_in_a_plane_have_no_sphere():
    corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
    assert objects.sphere_of(g.join_sphere(*(g.up(Vector(*c, 0.5)) for c in corners))) == (0, 0, 0, 0)


@few
@given(places, places)
def test_a_line_runs_from_the_first_place_to_the_second(p, q):
    assume(np.linalg.norm(p - q) > 1e-2)
    line = objects.line_of(g.join_line(g.up(vector(p)), g.up(vector(q))))
    assert off(g.line_direction(line), unit(q - p)) < 1e-12


def test_a_line_that_runs_along_a_plane_meets_it_at_no_place():
    line = objects.line_of(g.join_line(g.up(Vector(0.0, 0.0, 1.0)), g.up(Vector(1.0, 0.0, 1.0))))
    point = g.direct_flat_point(g.meet_line_plane(line, Plane(0.0, 0.0, 1.0, 0.0)))
    assert point.eoi == 0
    assert objects.position_of(point) == (0, 0, 0)


@few
@given(places, places)
def test_a_side_is_across_and_of_length_one(v, w):
    for x in (v, 1e-9 * v, np.array([v[0], 0.0, 0.0])):
        side = np.array(objects.perpendicular(vector(x)))
        assert abs(side @ x) < 1e-15
        assert np.linalg.norm(side) == pytest.approx(1, abs=1e-12)
