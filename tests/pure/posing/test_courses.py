"""Lines and spheres that are followed: against plain geometry, and the versors of clifford."""

from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.errors import SolverError
from knuckle.hand import rotations as rot
from knuckle.posing.following import (
    GuideSphere,
    Tool,
    along_line,
    along_points,
    around_sphere,
    line_direction,
    nearest_on_line,
    plane_intersection,
    plane_of,
    sphere_through,
)
from knuckle.posing.following.primitives import expanded

Floats = NDArray[np.float64]
PARTS = np.linspace(0.0, 1.0, 9)


@pytest.fixture
def oracle() -> ModuleType:
    return pytest.importorskip("knuckle.tests.pure.solvers.cga.oracle")  # type: ignore[no-any-return]


@pytest.fixture
def tool() -> Tool:
    wrist = np.eye(4)
    wrist[:3, :3] = rot.to_matrix(rot.from_axis_angle(np.array([0.6, 0.0, 0.8]), 0.7))
    wrist[:3, 3] = 0.3, -0.2, 1.1
    return Tool(wrist, np.array([0.02, 0.16, -0.04]))


def ends_of(course_wrists: Floats, tool: Tool) -> Floats:
    ends: Floats = course_wrists[:, :3, :3] @ tool.end + course_wrists[:, :3, 3]
    return ends


def test_the_line_of_two_planes_lies_in_both() -> None:
    points = np.random.default_rng(1).normal(size=(2, 3, 3))
    line = plane_intersection(plane_of(points[0]), plane_of(points[1]))
    way = line_direction(line)
    for t in (-3.0, 0.0, 2.0):
        place = nearest_on_line(line, points[0, 0]) + t * way
        for three in points:
            normal = np.cross(three[1] - three[0], three[2] - three[0])
            assert abs(normal @ (place - three[0])) < 1e-12


def test_the_line_is_the_meet_of_clifford(oracle: ModuleType) -> None:
    points = np.random.default_rng(2).normal(size=(2, 3, 3))

    def plane(three: Floats) -> object:
        p, q, r = (oracle.up(x) for x in three)
        return (p ^ q ^ r ^ oracle.g3c.einf) * oracle.I5

    line, theirs = plane_intersection(plane_of(points[0]), plane_of(points[1])), plane(points[0]) ^ plane(points[1])  # type: ignore[operator]
    scale = oracle.coefficients(theirs)["e12"] / line.e12
    assert oracle.difference(line, theirs / scale) < 1e-12


@pytest.mark.parametrize("other", [[[0, 0, 1], [1, 0, 1], [0, 1, 1]], [[0, 0, 0], [1, 0, 0], [0, 1, 0]]])
def test_planes_that_do_not_meet_in_a_line_are_refused(other: list[list[float]]) -> None:
    floor = plane_of(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]))
    with pytest.raises(SolverError, match="parallel"):
        plane_intersection(floor, plane_of(np.array(other, float)))


def test_points_in_a_line_make_no_plane() -> None:
    with pytest.raises(SolverError, match="in a line"):
        plane_of(np.array([[0.0, 0, 0], [1, 1, 1], [2, 2, 2]]))


def test_along_a_line_the_end_is_on_it_and_the_hand_keeps_its_turn(tool: Tool, oracle: ModuleType) -> None:
    start, way = np.array([0.5, 0.1, 1.0]), np.array([-0.2, 0.4, 0.1])
    course = along_line(tool, start, way, PARTS)
    np.testing.assert_allclose(course.ends, start + PARTS[:, None] * way, atol=1e-12)
    np.testing.assert_allclose(ends_of(course.wrists, tool), course.ends, atol=1e-12)
    np.testing.assert_array_equal(course.wrists[:, :3, :3], np.tile(tool.wrist[:3, :3], (len(PARTS), 1, 1)))
    move = 1 - 0.5 * PARTS[3] * oracle.vector(way) * oracle.g3c.einf
    np.testing.assert_allclose(oracle.down(move * oracle.up(start) * ~move), course.ends[3], atol=1e-12)


def test_along_points_the_end_goes_as_fast_everywhere(tool: Tool) -> None:
    points = np.array([[0.0, 0, 0], [0.1, 0, 0], [0.1, 0.3, 0]])
    course = along_points(tool, points, np.array([0.0, 0.125, 0.25, 1.0]))
    expected = np.array([[0.0, 0, 0], [0.05, 0, 0], [0.1, 0, 0], [0.1, 0.3, 0]])
    np.testing.assert_allclose(course.ends, expected, atol=1e-12)
    np.testing.assert_allclose(ends_of(course.wrists, tool), course.ends, atol=1e-12)
    for nothing in (points[:1], np.zeros((3, 3))):
        with pytest.raises(SolverError, match="no length"):
            along_points(tool, nothing, PARTS)


@pytest.mark.parametrize("gap", [0.0, 0.03, -0.05])
@pytest.mark.parametrize("aim", [True, False])
def test_around_a_sphere_the_end_stays_on_it_and_aims_at_its_middle(tool: Tool, gap: float, aim: bool) -> None:
    ball = GuideSphere((0.6, 0.0, 0.9), 0.12)
    course = around_sphere(tool, ball, np.array([0.0, 0.0, 2 * np.pi]), PARTS, gap=gap, aim=aim)
    out = course.ends - ball.centre
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), ball.radius + gap, atol=1e-12)
    np.testing.assert_allclose(ends_of(course.wrists, tool), course.ends, atol=1e-12)
    np.testing.assert_allclose(course.wrists[0], course.wrists[-1], atol=1e-12)
    nearest = (tool.position - ball.centre) / np.linalg.norm(tool.position - ball.centre)
    np.testing.assert_allclose(out[0] / (ball.radius + gap), nearest, atol=1e-12)
    wrists = course.wrists[:, :3, 3] - ball.centre
    length = float(np.linalg.norm(tool.end))
    aimed = np.abs(np.linalg.norm(wrists, axis=1) - (ball.radius + gap + length)).max() < 1e-12
    assert aimed == aim


@pytest.mark.parametrize("aim", [True, False])
def test_a_hand_that_aims_turns_with_its_end_and_another_keeps_its_turn(tool: Tool, aim: bool) -> None:
    ball = GuideSphere((0.6, 0.0, 0.9), 0.12)
    course = around_sphere(tool, ball, np.array([0.0, 0.9, 0.0]), PARTS, aim=aim)
    turn = rot.to_matrix(rot.from_axis_angle(np.array([0.0, 1.0, 0.0]), 0.9 * PARTS[4]))
    np.testing.assert_allclose(course.ends[4], turn @ (course.ends[0] - ball.centre) + ball.centre, atol=1e-12)
    kept = turn @ course.wrists[0, :3, :3] if aim else tool.wrist[:3, :3]
    np.testing.assert_allclose(course.wrists[4, :3, :3], kept, atol=1e-12)


def test_a_sphere_is_dilated_as_by_clifford(oracle: ModuleType) -> None:
    by, radius = 0.05, 0.12
    ours = expanded(radius, by)
    minkowski = oracle.g3c.einf ^ oracle.g3c.eo
    half = 0.5 * np.log((by + radius) / radius)
    dilator = np.cosh(half) - np.sinh(half) * minkowski
    theirs = dilator * oracle.sphere(np.zeros(3), radius) * ~dilator
    assert oracle.difference(ours, theirs / oracle.coefficients(theirs)["eo"]) < 1e-12
    assert oracle.difference(ours, oracle.sphere(np.zeros(3), radius + by)) < 1e-12


def test_a_way_that_begins_on_the_axis_goes_over_the_pole(tool: Tool) -> None:
    above = GuideSphere((0.0, 0.0, 0.0), 0.1)
    wrist = tool.wrist.copy()
    wrist[:3, 3] = np.array([0.0, 0.0, 0.5]) - wrist[:3, :3] @ tool.end
    course = around_sphere(Tool(wrist, tool.end), above, np.array([0.0, 0.0, np.pi]), PARTS)
    np.testing.assert_allclose(course.ends[0], [0, 0, 0.1], atol=1e-9)
    np.testing.assert_allclose(course.ends[-1], [0, 0, -0.1], atol=1e-9)


def test_a_hand_in_the_middle_of_a_sphere_has_a_way(tool: Tool) -> None:
    ball = GuideSphere(tuple(tool.position.tolist()), 0.1)
    course = around_sphere(tool, ball, np.array([np.pi, 0.0, 0.0]), PARTS)
    assert np.isfinite(course.wrists).all()
    np.testing.assert_allclose(np.linalg.norm(course.ends - ball.centre, axis=1), 0.1, atol=1e-12)


def test_the_sphere_through_four_points_is_found() -> None:
    rng = np.random.default_rng(4)
    ways = rng.normal(size=(4, 3))
    middle = np.array([5.0, -3.0, 2.0])
    found = sphere_through(middle + 0.07 * ways / np.linalg.norm(ways, axis=1, keepdims=True))
    np.testing.assert_allclose(found.centre, middle, atol=1e-9)
    assert found.radius == pytest.approx(0.07, abs=1e-9)
    with pytest.raises(SolverError, match="in a plane"):
        sphere_through(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]))


def test_what_is_no_sphere_is_refused(tool: Tool) -> None:
    with pytest.raises(SolverError, match="radius"):
        GuideSphere((0.0, 0.0, 0.0), 0.0)
    with pytest.raises(SolverError, match="into a sphere"):
        around_sphere(tool, GuideSphere((0.0, 0.0, 0.0), 0.1), np.array([0.0, 0.0, 1.0]), PARTS, gap=-0.1)
