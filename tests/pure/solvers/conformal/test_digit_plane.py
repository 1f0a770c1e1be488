"""A digit's plane by the algebra, against plain trigonometry, clifford and brute force."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from knuckle.hand.digit_plane import TWIST_PRIOR_M, likely_twist, tip_plane
from knuckle.hand.scalar_math import ARRAY, SCALAR
from knuckle.solvers import SOLVERS
from knuckle.solvers.cga.generated import Vector
from knuckle.solvers.conformal import Cga, cga_bend, cga_digit_plane
from knuckle.solvers.planar.planar_fabrik import nearest_point
from knuckle.solvers.planar.planar_hand import digits
from knuckle.solvers.solver import limit_excess, residuals

from ..hands import EIGHT, HANDS, poses, sides, targets_at
from . import clifford

few = settings(deadline=None, max_examples=40)
coordinates = st.floats(-0.08, 0.08, allow_subnormal=False).map(lambda x: round(x, 6))
ends = hnp.arrays(float, 3, elements=coordinates)
LIMITS = [((-0.4, 0.3), (0.0, 0.0)), ((-0.4, 0.3), (-0.26, 0.26)), ((-1.0, 1.0), (-0.1, 0.35))]
PLANE = cga_digit_plane.ConformalPlane(likely_twist)


def there(x):
    """A place as floats."""
    return Vector(*(float(c) for c in x))


def pole(abduction, twist):
    """The pole of a plane, as hand/model.py turns a joint."""
    return np.array([np.cos(abduction) * np.cos(twist), np.sin(abduction) * np.cos(twist), -np.sin(twist)])


@pytest.mark.parametrize("limits", LIMITS)
@few
@given(end=ends)
def test_the_algebra_finds_the_plane_that_trigonometry_finds(limits, end):
    # Where the end is right above or below its joint a rounding decides between two planes.
    assume(np.hypot(end[0], end[1]) > 1e-4)
    assume(abs(end[1]) > 1e-5)
    point = tuple(end.tolist())
    assert PLANE.through(SCALAR, point, limits) == pytest.approx(tip_plane(SCALAR, point, limits), abs=1e-6)


@pytest.mark.parametrize("limits", LIMITS)
def test_one_frame_is_solved_as_many_are(limits):
    points = np.random.default_rng(4).normal(0, 0.04, (500, 3))
    many = np.stack(PLANE.through(ARRAY, tuple(points.T.copy()), limits), 1)
    for point, planes in zip(points, many, strict=True):
        assert np.abs(np.array(PLANE.through(SCALAR, tuple(point.tolist()), limits)) - planes).max() < 1e-9


@few
@given(end=ends, way=ends)
def test_the_plane_through_joint_and_end_along_a_way_is_cliffords(end, way):
    assume(np.linalg.norm(np.cross(end, way)) > 1e-4)
    found = np.array(cga_digit_plane.pole_along(there(end), there(way)))
    expected = clifford.pole(end, way)
    assert np.abs(np.cross(found, expected)).max() < 1e-12
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(expected), rel=1e-9)
    assert found[0] >= 0


@few
@given(end=ends, twist=st.floats(-0.4, 0.4))
def test_a_tilted_plane_holds_the_end_or_comes_nearest_to_it(end, twist):
    assume(np.linalg.norm(end) > 0.01)
    found = np.array(cga_digit_plane.pole_tilted(SCALAR, there(end), twist))
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-9)
    assert found[2] == pytest.approx(-np.sin(twist), abs=1e-9)
    every = np.stack([pole(angle, twist) for angle in np.linspace(-np.pi, np.pi, 2001)])
    assert abs(found @ end) < np.abs(every @ end).min() + 1e-7


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("end", [(0, 0, 0), (0, 0, -0.05), (0, 0, 0.05), (1e-9, -1e-9, -0.03), (0, -0.05, 0)])
def test_an_end_that_tells_nothing_leaves_the_digit_straight_ahead(end, limits):
    x, y, z = map(float, end)
    assert PLANE.through(SCALAR, (x, y, z), limits) == pytest.approx((0, 0), abs=1e-3)
    many = PLANE.through(ARRAY, (np.full(3, x), np.full(3, y), np.full(3, z)), limits)
    assert np.abs(np.array(many)).max() < 1e-3


@few
@given(end=ends)
def test_a_digit_that_points_backwards_is_turned_by_a_right_angle_at_most(end):
    """A plane faces either way: its rotor from rest is never a half turn, for which there is no axis."""
    assume(np.linalg.norm(end) > 0.01)
    upright = cga_digit_plane.pole_along(there(end), Vector(0.0, 0.0, 1.0))
    assert abs(cga_digit_plane.abduction_of(SCALAR, upright)) <= np.pi / 2 + 1e-12


@few
@given(pole_=ends)
def test_the_rotor_to_a_pole_is_its_bearing(pole_):
    assume(np.hypot(pole_[0], pole_[1]) > 1e-3)
    angle = cga_digit_plane.abduction_of(SCALAR, there(pole_))
    bearing = np.array([np.cos(angle), np.sin(angle)])
    assert bearing * np.hypot(pole_[0], pole_[1]) == pytest.approx(pole_[:2], abs=1e-12)


def test_a_marker_that_was_not_seen_tells_no_plane():
    lost = (np.array([np.nan, 0.01]), np.array([0.0, 0.05]), np.array([0.0, -0.02]))
    for limits in LIMITS:
        abduction, _ = PLANE.through(ARRAY, lost, limits)
        assert np.isnan(abduction).tolist() == [True, False]


@few
@given(end=ends)
def test_the_thumbs_plane_holds_the_index_knuckle_that_it_points_at(end):
    hand = HANDS["left"]
    steps: Any = cga_digit_plane.ConformalPlaneFactory("index")(hand, digits(hand)[0])
    towards = steps.tilt
    knuckle = np.array(towards.knuckle)
    aside = np.linalg.norm(np.cross(end, knuckle)) / np.linalg.norm(knuckle)
    normal = np.cross(end, knuckle) / max(np.linalg.norm(np.cross(end, knuckle)), 1e-12)
    assume(aside > 0.02)
    assume(abs(normal[0]) > 1e-3)
    twist = towards(SCALAR, tuple(end.tolist()), (-1.6, 1.6))
    expected = np.arcsin(-normal[2] * np.sign(normal[0]))
    assert twist == pytest.approx(expected * aside**2 / (aside**2 + TWIST_PRIOR_M**2), abs=1e-9)


@few
@given(data=st.data(), side=sides)
def test_a_thumb_that_points_at_the_index_knuckle_reaches_its_tip_within_its_limits(data, side):
    hand = HANDS[side]
    targets = targets_at(hand, data.draw(poses(hand)), EIGHT)
    pose, _ = Cga(thumb="index").solve(hand, targets)
    assert residuals(hand, targets, pose)[:, -5:].max() < 2e-3
    assert limit_excess(hand, pose.angles).max() < 1e-9


@few
@given(centre=ends, point=ends, radius=st.floats(0.01, 0.05))
def test_the_nearest_place_in_the_plane_is_the_circles(centre, point, radius):
    for one, other in (((centre[0], centre[1]), (point[0], point[1])), ((0.01, 0.02), (0.01, 0.02))):
        found = cga_bend.nearest_in_plane(SCALAR, one, radius, other)
        assert np.hypot(found[0] - one[0], found[1] - one[1]) == pytest.approx(radius, abs=1e-12)
        if np.hypot(one[0] - other[0], one[1] - other[1]) > 1e-6:
            assert found == pytest.approx(nearest_point(SCALAR, one, radius, other), abs=1e-12)


def test_the_tracker_is_a_solver_among_others():
    assert SOLVERS["cga"] is Cga
