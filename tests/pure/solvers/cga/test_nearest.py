"""The nearest places, against clifford's way through FABRIK-CGA's equations, plain geometry and brute force."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from knuckle.solvers.cga import generated as g
from knuckle.solvers.cga import nearest_points, objects
from knuckle.solvers.cga.generated import Plane, Vector
from knuckle.solvers.cga.objects import positions, vector

from . import oracle
from .oracle import I5, g3c

N = 20
few = settings(deadline=None, max_examples=40)  # clifford compiles when it is first called
numbers = st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 6))
places = hnp.arrays(float, (N, 3), elements=numbers)


def length(v):
    return np.linalg.norm(v, axis=-1)


def unit(v):
    return v / length(v)[:, None]


def circle_of(centre, normal, radius):
    """Circles with these unit normals, each as two spheres meet in it."""
    spheres = [g.sphere(vector(centre + s * normal), np.hypot(radius, s)) for s in (-0.2, 0.3)]
    return g.meet_sphere_sphere(*spheres)


ways = places.map(lambda v: unit(np.where(length(v)[:, None] > 0.1, v, [0.6, 0.0, 0.8])))
radii = hnp.arrays(float, N, elements=st.floats(0.05, 1))
circles = st.tuples(places, ways, radii)  # centres, unit normals, radii


def in_plain_words(centre, normal, radius, x):
    """The nearest places of circles to x, by the textbook."""
    across = x - centre
    across = across - (across * normal).sum(1)[:, None] * normal
    return centre + radius[:, None] * unit(across)


@few
@given(places, hnp.arrays(float, N, elements=st.floats(0.01, 1)), places)
def test_the_nearest_place_on_a_sphere_lies_on_it_on_the_way_to_the_place(centre, radius, x):
    found = positions(nearest_points.nearest_on_sphere(vector(centre), radius, vector(x)))
    assert np.abs(length(found - centre) - radius).max() < 1e-12
    assert np.abs(length(x - found) - np.abs(length(x - centre) - radius)).max() < 1e-12


@few
@given(places, st.floats(0.1, 1), places)
def test_the_nearest_place_on_a_sphere_is_that_of_the_papers_equations(centre, radius, x):
    assume(length(x[0] - centre[0]) > 0.05)
    line = oracle.up(x[0]) ^ oracle.up(centre[0]) ^ g3c.einf  # FABRIK-CGA (3.11)
    sphere = oracle.sphere(centre[0], radius) * I5  # (3.10)
    pair = ((line * I5.inv()) ^ (sphere * I5.inv())) * I5  # (3.12)
    best = max(oracle.ends(pair), key=lambda end: (oracle.up(end) | oracle.up(x[0]))[()])  # (3.13)
    found = nearest_points.nearest_on_sphere(Vector(*centre[0].tolist()), radius, Vector(*x[0].tolist()))
    assert np.abs(np.array(found) - best).max() < 1e-11


def test_from_the_middle_of_a_sphere_some_place_on_it_is_given():
    middle = Vector(0.1, 0.2, 0.3)
    assert nearest_points.nearest_on_sphere(middle, 0.5, middle) == (0.1, 0.2, 0.8)


@few
@given(circles, places)
def test_the_nearest_place_on_a_circle_is_that_of_the_textbook(circle, x):
    centre, normal, radius = circle
    assume((length(np.cross(normal, x - centre)) > 1e-3).all())
    found = positions(nearest_points.nearest_on_circle(circle_of(centre, normal, radius), vector(x)))
    assert np.abs(found - in_plain_words(centre, normal, radius, x)).max() < 1e-10


@few
@given(circles, places)
def test_the_nearest_place_on_a_circle_is_that_of_the_papers_equations(circle, x):
    centre, normal, radius = (a[:1] for a in circle)
    assume(length(np.cross(normal[0], x[0] - centre[0])) > 0.05)
    spheres = [oracle.sphere(centre[0] + s * normal[0], np.hypot(radius[0], s)) for s in (-0.2, 0.3)]
    direct = (spheres[0] ^ spheres[1]) * I5
    middle = direct * g3c.einf * direct  # FABRIK-CGA (3.14)
    plane = (direct ^ g3c.einf).normal()  # (3.15)
    mirrored = plane * oracle.up(x[0]) * plane  # (3.16)
    projected = (oracle.down(mirrored) + x[0]) / 2  # (3.17)
    line = oracle.up(projected) ^ oracle.up(oracle.down(middle)) ^ g3c.einf  # (3.18)
    # (3.19): line and circle lie in one plane, so the circle's sphere about its own centre stands for it.
    pair = oracle.sphere(centre[0], radius[0]).lc(line)
    best = max(oracle.ends(pair), key=lambda end: (oracle.up(end) | oracle.up(x[0]))[()])
    ours = nearest_points.nearest_on_circle(circle_of(centre, normal, radius), vector(x[:1]))
    assert np.abs(positions(ours)[0] - best).max() < 1e-10


@few
@given(circles, st.floats(-1, 1))
def test_from_the_axis_of_a_circle_some_place_on_it_is_given_always_the_same(circle, height):
    centre, normal, radius = circle
    blade = circle_of(centre, normal, radius)
    found = positions(nearest_points.nearest_on_circle(blade, vector(centre + height * normal)))
    assert np.abs(length(found - centre) - radius).max() < 1e-11
    assert np.abs(((found - centre) * normal).sum(1)).max() < 1e-11
    assert np.array_equal(found, positions(nearest_points.nearest_on_circle(blade, vector(centre + height * normal))))


def test_the_nearest_place_on_an_imaginary_circle_is_its_centre():
    circle = g.meet_sphere_sphere(g.sphere(Vector(0.0, 0.0, 0.0), 0.1), g.sphere(Vector(1.0, 0.0, 0.0), 0.1))
    assert nearest_points.nearest_on_circle(circle, Vector(0.0, 2.0, 0.0)) == pytest.approx((0.5, 0, 0), abs=1e-15)


@few
@given(places, ways, places)
def test_a_foot_is_where_the_way_from_the_place_stands_upright(at, way, x):
    on_plane = positions(nearest_points.foot_on_plane(g.plane_at(vector(way), vector(at)), vector(x)))
    assert np.abs(x - on_plane - ((x - at) * way).sum(1)[:, None] * way).max() < 1e-12
    line = objects.line_of(g.join_line(g.up(vector(at)), g.up(vector(at + way))))
    on_line = positions(nearest_points.foot_on_line(line, vector(x)))
    assert np.abs(at + ((x - at) * way).sum(1)[:, None] * way - on_line).max() < 1e-12


@few
@given(places, ways, places, radii, places)
def test_no_place_on_a_line_is_nearer_to_a_sphere(at, way, centre, radius, hint):
    line = objects.line_of(g.join_line(g.up(vector(at)), g.up(vector(at + way))))
    found = positions(nearest_points.nearest_on_line_from_sphere(line, g.sphere(vector(centre), radius), vector(hint)))
    assert length(np.cross(found - at, way)).max() < 1e-11
    missing = length(np.cross(centre - at, way)) - radius
    # Where the line all but touches, the place is as uncertain as a root of a rounded square.
    assert np.abs(np.abs(length(found - centre) - radius) - np.maximum(missing, 0)).max() < 1e-6


def test_of_two_places_of_a_line_on_a_sphere_the_one_nearer_to_the_hint_is_taken():
    line = objects.line_of(g.join_line(g.up(Vector(0.0, 0.0, 0.0)), g.up(Vector(1.0, 0.0, 0.0))))
    sphere = g.sphere(Vector(0.0, 0.0, 0.0), 1.0)
    for side in (-1.0, 1.0):
        found = nearest_points.nearest_on_line_from_sphere(line, sphere, Vector(0.1 * side, 3.0, 0.0))
        assert found == pytest.approx((side, 0, 0), abs=1e-15)


def test_no_place_on_a_line_is_nearer_to_a_circle():
    random = np.random.default_rng(5)
    centre, normal, at, way = random.normal(size=(4, 300, 3)) * 0.5
    check_line_and_circle((centre, unit(normal), random.uniform(0.05, 1, 300)), at, unit(way))


def check_line_and_circle(circle, at, way):
    """Against 2 000 places along the line, 1 mm apart, which can miss the least distance but never undercut it."""
    blade = circle_of(*circle)
    line = objects.line_of(g.join_line(g.up(vector(at)), g.up(vector(at + way))))
    found = positions(nearest_points.nearest_on_line_from_circle(line, blade))
    assert length(np.cross(found - at, way)).max() < 1e-11
    centre, normal, radius = circle

    def away(x):
        height = ((x - centre) * normal).sum(-1)
        return np.hypot(height, length(np.cross(x - centre, normal)) - radius)

    middle = at + ((centre - at) * way).sum(1)[:, None] * way
    brute = np.min([away(middle + t * way) for t in np.linspace(-1, 1, 2001)], axis=0)
    assert (away(found) - brute).max() < 1e-9
    assert (brute - away(found)).max() < 1e-3


AXES = {
    "along the axis": ([0.0, 0, 0], [0.0, 0, 1]),
    "along the axis, off it": ([0.3, 0, 0], [0.0, 0, 1]),
    "through the centre": ([0.0, 0, 0], [1.0, 0, 1]),
    "a diameter": ([0.0, 0, 0], [1.0, 0, 0]),
    "across the axis, off the centre": ([0.0, 0, 0.3], [1.0, 1, 0]),
    "in the plane, outside": ([0.0, 1.5, 0], [1.0, 0, 0]),
    "in the plane, touching": ([0.0, 0.5, 0], [1.0, 0, 0]),
    "steeply past the centre": ([0.01, 0, 0], [0.05, 0, 1]),
    "where three crossings become one": ([0.0, 0.1, 0], [1.0, 0, 0.05]),
}


@pytest.mark.parametrize("name", AXES)
def test_every_way_that_a_line_can_pass_a_circle_has_its_nearest_place(name):
    at, way = (np.tile(v, (N, 1)) for v in AXES[name])
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    centre = np.tile([0.1, -0.2, 0.3], (N, 1))
    circle = (centre, np.tile(turn[:, 2], (N, 1)), np.full(N, 0.5))
    check_line_and_circle(circle, centre + at @ turn.T, unit(way @ turn.T))


def frame(columns, k):
    return type(columns)(*(float(column[k]) for column in columns))


def test_a_live_frame_is_calculated_as_a_take_is():
    random = np.random.default_rng(4)
    centre, x, at, way = random.normal(size=(4, N, 3))
    circle = circle_of(centre, unit(random.normal(size=(N, 3))), random.uniform(0.1, 1, N))
    line = objects.line_of(g.join_line(g.up(vector(at)), g.up(vector(at + way))))
    sphere = g.sphere(vector(centre), np.full(N, 0.5))
    take = [
        nearest_points.nearest_on_circle(circle, vector(x)),
        nearest_points.nearest_on_line_from_circle(line, circle),
        nearest_points.nearest_on_line_from_sphere(line, sphere, vector(x)),
        nearest_points.nearest_on_sphere(vector(centre), np.full(N, 0.5), vector(x)),
    ]
    for k in range(N):
        one = [frame(columns, k) for columns in (circle, line, sphere, vector(x), vector(centre))]
        live = [
            nearest_points.nearest_on_circle(one[0], one[3]),
            nearest_points.nearest_on_line_from_circle(one[1], one[0]),
            nearest_points.nearest_on_line_from_sphere(one[1], one[2], one[3]),
            nearest_points.nearest_on_sphere(one[4], 0.5, one[3]),
        ]
        for together, alone in zip(take, live, strict=True):
            assert all(isinstance(c, float) for c in alone)
            assert np.abs(positions(together)[k] - np.array(alone)).max() < 1e-12


def test_a_place_that_was_not_seen_has_no_nearest_place():
    circle = circle_of(np.zeros((1, 3)), np.array([[0.0, 0, 1]]), np.ones(1))
    unseen = vector(np.full((1, 3), np.nan))
    assert np.isnan(positions(nearest_points.nearest_on_circle(circle, unseen))).all()
    assert np.isnan(positions(nearest_points.nearest_on_sphere(vector(np.zeros((1, 3))), np.ones(1), unseen))).all()
    assert np.isnan(positions(nearest_points.foot_on_plane(Plane(*np.eye(4)[2][:, None]), unseen))).all()
