"""The grasping circle, plane and point of contact of CGA-arm section 7, against clifford and plain geometry."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from knuckle.errors import HandError
from knuckle.posing.grasping.approach import screw_path
from knuckle.posing.grasping.grasp_circle import FourPoints, assign_points, four_points, grasp_plane
from knuckle.tests.pure.posing import solids
from knuckle.tests.pure.solvers.cga import oracle

scipy_linalg = pytest.importorskip("scipy.linalg")

Floats = NDArray[np.float64]
few = settings(deadline=None, max_examples=30)
numbers = st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 4))
fours = hnp.arrays(float, (4, 3), elements=numbers)
seeds = st.integers(0, 2**32 - 1)


def from_plane(four: FourPoints, place: Floats) -> float:
    """m, of a place from the base plane, towards the apex, by a determinant: the volume over the area of the base."""
    a, b, c = four.base
    normal = np.cross(b - a, c - a)
    sign = np.sign(np.linalg.det([b - a, c - a, four.apex - a]))
    return float(sign * np.linalg.det([b - a, c - a, place - a]) / np.linalg.norm(normal))


def fair(points: Floats) -> bool:
    """Whether no three are nearly in a line and the four not nearly in a plane."""
    areas = [
        np.linalg.norm(np.cross(points[j] - points[i], points[k] - points[i])) for i, j, k in permutations(range(4), 3)
    ]
    return bool(np.min(areas) > 0.05) and abs(np.linalg.det(points[1:] - points[0])) > 0.01


@few
@given(fours)
def test_the_apex_is_the_point_furthest_from_the_plane_of_the_others(points: Floats) -> None:
    assume(fair(points))
    four = assign_points(points)
    far = max(from_plane(FourPoints(np.delete(points, row, 0), points[row]), points[row]) for row in range(4))
    assert four.distance == pytest.approx(far, rel=1e-9)
    for order in permutations(range(4)):
        assert assign_points(points[list(order)]).distance == pytest.approx(four.distance, rel=1e-9)


@few
@given(fours)
def test_the_grasping_circle_is_cliffords(points: Floats) -> None:
    """(7.1)-(7.3) as printed, with the direction that (7.2) lacks."""
    assume(fair(points))
    four = assign_points(points)
    b1, b2, b3 = map(oracle.up, four.base)
    translator = 1 - 0.25 * four.distance * oracle.vector(four.normal) * oracle.g3c.einf
    direct = translator * (b1 ^ b2 ^ b3) * ~translator
    theirs = np.array(list(oracle.coefficients(direct * oracle.I5).values()))
    ours = np.array(list(oracle.coefficients(oracle.theirs(grasp_plane(four).circle)).values()))
    alike = abs(ours @ theirs) / (np.linalg.norm(ours) * np.linalg.norm(theirs))
    assert alike == pytest.approx(1.0, abs=1e-12)


@few
@given(fours)
def test_the_grasping_plane_lies_half_way_between_base_and_apex(points: Floats) -> None:
    assume(fair(points))
    four = assign_points(points)
    plane = grasp_plane(four)
    assert from_plane(four, plane.centre) == pytest.approx(0.5 * from_plane(four, four.apex), abs=1e-9)
    assert abs(plane.normal @ four.normal) == pytest.approx(1.0, abs=1e-9)
    moved = four.base + 0.5 * four.distance * four.normal
    np.testing.assert_allclose(np.linalg.norm(moved - plane.centre, axis=1), plane.radius, rtol=1e-6)


@few
@given(fours, hnp.arrays(float, (3,), elements=numbers))
def test_the_contact_is_the_place_on_the_circle_that_is_nearest_to_the_hand(points: Floats, hand: Floats) -> None:
    assume(fair(points))
    plane = grasp_plane(assign_points(points))
    found = plane.contact(hand)
    assert np.linalg.norm(found - plane.centre) == pytest.approx(plane.radius, rel=1e-6)
    assert abs((found - plane.centre) @ plane.normal) < 1e-6 * (1 + plane.radius)
    side = np.cross(plane.normal, np.eye(3)[np.abs(plane.normal).argmin()])
    side /= np.linalg.norm(side)
    angle = np.linspace(0, 2 * np.pi, 721)[:, None]
    around = plane.centre + plane.radius * (np.cos(angle) * side + np.sin(angle) * np.cross(plane.normal, side))
    assert np.linalg.norm(found - hand) <= np.linalg.norm(around - hand, axis=1).min() + 1e-7


def test_points_in_a_plane_identify_no_object() -> None:
    with pytest.raises(HandError, match="one plane"):
        assign_points(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], float))
    with pytest.raises(HandError, match="volume"):
        four_points(np.random.default_rng(0).normal(size=(50, 3)) * [1, 1, 0], np.array([0.0, 0.0, 1.0]))


@pytest.mark.parametrize("solid", [solids.rod(0.004, 0.14), solids.rod(0.04, 0.1), solids.ball(0.03)])
def test_an_objects_grasping_plane_lies_across_its_axis_where_it_is_half_way_up(solid: solids.Solid) -> None:
    move = solids.rigid(np.random.default_rng(3))
    there = solids.moved(solid, move)
    plane = grasp_plane(assign_points(four_points(there.vertices, move[:3, 2])))
    height = (plane.centre - move[:3, 3]) @ move[:3, 2]
    high = np.ptp(solid.vertices[:, 2])
    assert abs(plane.normal @ move[:3, 2]) > np.cos(np.deg2rad(8))
    assert abs(height) < 0.2 * high


@few
@given(seeds, st.integers(1, 12))
def test_the_way_is_a_steady_screw_from_where_the_hand_is_to_where_it_holds(seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    start, end = solids.rigid(rng), solids.rigid(rng)
    path = screw_path(start, end, steps)
    np.testing.assert_array_equal(path[[0, -1]], [start, end])
    whole = end @ np.linalg.inv(start)
    assume(np.trace(whole[:3, :3]) > -0.99)
    generator = np.real(scipy_linalg.logm(whole))
    for part, frame in zip(np.linspace(0, 1, steps + 1), path, strict=True):
        np.testing.assert_allclose(frame, scipy_linalg.expm(part * generator) @ start, atol=1e-7)


@pytest.mark.parametrize("angle", [0.0, 1e-10, 1e-7, np.pi - 1e-9, np.pi])
def test_ways_without_a_turn_and_of_half_a_turn_are_even(angle: float) -> None:
    start = solids.rigid(np.random.default_rng(5))
    turn = np.eye(4)
    cosine, sine = np.cos(angle), np.sin(angle)
    turn[:2, :2] = [[cosine, -sine], [sine, cosine]]
    turn[:3, 3] = 0.1, -0.2, 0.3
    path = screw_path(start, turn @ start, 6)
    steps = path[1:] @ np.linalg.inv(path[:-1])
    assert np.isfinite(path).all()
    np.testing.assert_allclose(steps, np.broadcast_to(steps[0], steps.shape), atol=1e-6)
