"""What kind of object a surface is, and where its axis lies, however it stands and is cut into triangles."""

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.errors import HandError
from knuckle.posing.grasping.object_shape import GraspShape, shape_of, surface_of
from knuckle.tests.pure.posing import solids
from knuckle.tests.pure.posing.solids import Solid

Floats = NDArray[np.float64]


def with_handle(cup: Solid) -> Solid:
    """A rod with a block that sticks out of its side."""
    handle = solids.block((0.03, 0.01, 0.06))
    shifted = handle.vertices + [0.055, 0.0, 0.0]
    vertices = np.concatenate([cup.vertices, shifted])
    return Solid(cup.distance, vertices, np.concatenate([cup.triangles, handle.triangles + len(cup.vertices)]))


def prism(corners: int, radius: float, length: float) -> Solid:
    profile = [(0.0, length / 2), (radius, length / 2), (radius, -length / 2), (0.0, -length / 2)]
    return Solid(solids.rod(radius, length).distance, *solids.turned(profile, corners))


def cone(radius: float, length: float) -> Solid:
    profile = [(0.0, length / 2), (radius, -length / 2), (0.0, -length / 2)]
    return Solid(solids.rod(radius, length).distance, *solids.turned(profile))


KINDS = {
    "a pen": (solids.rod(0.004, 0.14), "bar"),
    "a pencil of six sides": (prism(6, 0.004, 0.17), "bar"),
    "a can": (solids.rod(0.033, 0.115), "bar"),
    "a cup with a handle": (with_handle(solids.rod(0.04, 0.095)), "bar"),
    "a cone": (cone(0.03, 0.1), "bar"),
    "a ball": (solids.ball(0.033), "ball"),
    "a card": (solids.block((0.085, 0.054, 0.001)), "block"),
    "a book": (solids.block((0.2, 0.13, 0.03)), "block"),
}


def found(solid: Solid) -> GraspShape:
    return shape_of(surface_of(solid.vertices, solid.triangles))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_an_object_is_what_it_is_however_it_stands(name: str, seed: int) -> None:
    solid, kind = KINDS[name]
    move = solids.rigid(np.random.default_rng(seed))
    shape = found(solids.moved(solid, move))
    assert shape.kind == kind
    np.testing.assert_allclose(shape.axes @ shape.axes.T, np.eye(3), atol=1e-9)
    if kind == "bar":
        askew = np.rad2deg(np.arccos(min(1.0, abs(shape.axes[0] @ move[:3, 2]))))
        beside = shape.centre - move[:3, 3]
        beside = beside - (beside @ move[:3, 2]) * move[:3, 2]
        assert askew < 3.0, f"{name}: axis {askew:.1f} degrees askew"
        assert np.linalg.norm(beside) < 2e-3, f"{name}: axis {1e3 * np.linalg.norm(beside):.1f} mm beside"
    if kind == "ball":
        np.testing.assert_allclose(shape.centre, move[:3, 3], atol=1e-4)
    if kind == "block":
        long = move[:3, :3] @ np.eye(3)[np.ptp(solid.vertices, axis=0).argmax()]
        assert abs(shape.axes[0] @ long) > np.cos(np.deg2rad(1))
        np.testing.assert_allclose(shape.extents, np.sort(np.ptp(solid.vertices, axis=0))[::-1], rtol=0.1)


@pytest.mark.parametrize(("name", "thick"), [("a pen", 8), ("a can", 66), ("a cup with a handle", 80), ("a card", 1)])
def test_an_object_is_as_thick_as_its_body(name: str, thick: float) -> None:
    assert found(KINDS[name][0]).thickness() * 1e3 == pytest.approx(thick, rel=0.05)


def test_a_cone_is_thinner_towards_its_tip() -> None:
    shape = found(KINDS["a cone"][0])
    ends = sorted(shape.thickness(sign * 0.4 * shape.length) for sign in (1, -1))
    assert ends[0] < 0.5 * ends[1]


def test_cutting_triangles_finer_changes_nothing() -> None:
    coarse = KINDS["a book"][0]
    corners = coarse.vertices[coarse.triangles]
    middles = corners.mean(axis=1)
    vertices = np.concatenate([coarse.vertices, middles])
    fine = [
        (a, b, len(coarse.vertices) + row)
        for row, (i, j, k) in enumerate(coarse.triangles.tolist())
        for a, b in ((i, j), (j, k), (k, i))
    ]
    one, other = found(coarse), found(Solid(coarse.distance, vertices, np.array(fine)))
    assert one.kind == other.kind
    np.testing.assert_allclose(one.centre, other.centre, atol=2e-3)
    np.testing.assert_allclose(one.extents, other.extents, rtol=0.1)


def test_what_has_no_area_cannot_be_held() -> None:
    with pytest.raises(HandError, match="no surface"):
        surface_of(np.zeros((3, 3)), np.array([[0, 1, 2]]))
