"""Places on objects: each goes along as its object is moved, scaled and deformed, whatever it is."""

from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from knuckle.rig.pins import NOWHERE, nearest_surface, place_of, spot_on


def made(points: list[tuple[float, ...]], faces: list[tuple[int, ...]]) -> bpy.types.Object:
    mesh = bpy.data.meshes.new("Mesh")
    mesh.from_pydata(points, [], faces)
    obj = bpy.data.objects.new("Object", mesh)
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    return obj


def pentagon() -> bpy.types.Object:
    around = np.linspace(0.0, 2 * np.pi, 6)[:-1]
    return made([(np.cos(a), np.sin(a), 0.2 * np.sin(3 * a)) for a in around], [(0, 1, 2, 3, 4)])


MOVE = Matrix.Translation((1, 2, 3)) @ Matrix.Rotation(0.7, 4, (1.0, 2.0, 0.5)) @ Matrix.Scale(-2.0, 4, (0, 1, 0))


@pytest.mark.parametrize("seed", range(5))
def test_a_spot_is_where_it_was_made_and_goes_along_with_a_surface(seed: int) -> None:
    obj = pentagon()
    obj.matrix_world = Matrix.Rotation(0.3, 4, "X")
    bpy.context.view_layer.update()
    place = np.random.default_rng(seed).normal(0.0, 0.5, 3)
    spot = spot_on(obj, place)
    assert spot.corners != NOWHERE
    np.testing.assert_allclose(place_of(obj, spot), place, atol=1e-6)
    shift = np.array([0.3, -0.2, 0.5])
    back = obj.matrix_world.inverted().to_3x3()
    for vertex in obj.data.vertices:
        vertex.co += back @ Vector(shift.tolist())
    obj.data.update()
    bpy.context.view_layer.update()
    np.testing.assert_allclose(place_of(obj, spot), place + shift, atol=1e-5)


def test_a_spot_on_the_surface_stays_on_it_as_it_is_moved_and_stretched() -> None:
    obj = pentagon()
    spot = spot_on(obj, np.array(obj.data.vertices[2].co))
    obj.matrix_world = MOVE
    bpy.context.view_layer.update()
    there: Any = MOVE @ obj.data.vertices[2].co
    np.testing.assert_allclose(place_of(obj, spot), np.array(there), atol=1e-5)


@pytest.mark.parametrize("kind", ["empty", "no face", "no area"])
def test_what_has_no_surface_carries_a_spot_by_its_own_axes(kind: str) -> None:
    obj: Any
    if kind == "empty":
        obj = bpy.data.objects.new("Empty", None)
        bpy.context.scene.collection.objects.link(obj)
    else:
        obj = made([(0, 0, 0), (1, 0, 0), (2, 0, 0)], [(0, 1, 2)] if kind == "no area" else [])
    place = np.array([0.2, 0.3, 0.4])
    spot = spot_on(obj, place)
    np.testing.assert_allclose(place_of(obj, spot), place, atol=1e-6)
    obj.matrix_world = Matrix.Translation((1, 0, 0))
    bpy.context.view_layer.update()
    np.testing.assert_allclose(place_of(obj, spot), place + [1, 0, 0], atol=1e-6)


def test_a_mesh_that_lost_the_spot_has_it_at_its_origin() -> None:
    obj = pentagon()
    spot = spot_on(obj, np.array([0.5, 0.5, 0.0]))
    obj.data.clear_geometry()
    obj.location = (1, 2, 3)
    bpy.context.view_layer.update()
    np.testing.assert_allclose(place_of(obj, spot), [1, 2, 3])


def test_the_nearest_surface_is_found_within_reach_alone() -> None:
    near, far = pentagon(), pentagon()
    far.location = (0, 0, 5)
    bpy.context.view_layer.update()
    assert nearest_surface([far, near], np.array([0.1, 0.0, 1.0]), 2.0) == near
    assert nearest_surface([far], np.array([0.1, 0.0, 1.0]), 2.0) is None
