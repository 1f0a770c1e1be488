"""Places on objects: each goes along as its object is moved, scaled and deformed, whatever it is."""

from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from knuckle.rig.posing.pins import NOWHERE, anchor_on, anchor_position, is_in_view_layer, nearest_surface


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
    anchor = anchor_on(obj, place)
    assert anchor.corners != NOWHERE
    np.testing.assert_allclose(anchor_position(obj, anchor), place, atol=1e-6)
    shift = np.array([0.3, -0.2, 0.5])
    back = obj.matrix_world.inverted().to_3x3()
    for vertex in obj.data.vertices:
        vertex.co += back @ Vector(shift.tolist())
    obj.data.update()
    bpy.context.view_layer.update()
    np.testing.assert_allclose(anchor_position(obj, anchor), place + shift, atol=1e-5)


def test_a_spot_on_the_surface_stays_on_it_as_it_is_moved_and_stretched() -> None:
    obj = pentagon()
    anchor = anchor_on(obj, np.array(obj.data.vertices[2].co))
    obj.matrix_world = MOVE
    bpy.context.view_layer.update()
    there: Any = MOVE @ obj.data.vertices[2].co
    np.testing.assert_allclose(anchor_position(obj, anchor), np.array(there), atol=1e-5)


@pytest.mark.parametrize("kind", ["empty", "no face", "no area"])
def test_what_has_no_surface_carries_a_spot_by_its_own_axes(kind: str) -> None:
    obj: Any
    if kind == "empty":
        obj = bpy.data.objects.new("Empty", None)
        bpy.context.scene.collection.objects.link(obj)
    else:
        obj = made([(0, 0, 0), (1, 0, 0), (2, 0, 0)], [(0, 1, 2)] if kind == "no area" else [])
    place = np.array([0.2, 0.3, 0.4])
    anchor = anchor_on(obj, place)
    np.testing.assert_allclose(anchor_position(obj, anchor), place, atol=1e-6)
    obj.matrix_world = Matrix.Translation((1, 0, 0))
    bpy.context.view_layer.update()
    np.testing.assert_allclose(anchor_position(obj, anchor), place + [1, 0, 0], atol=1e-6)


SHIFT = Matrix.Translation((1, 2, 3)) @ Matrix.Rotation(0.7, 4, (1.0, 2.0, 0.5))


def seen_cube() -> bpy.types.Object:
    """One whose surface is far within its mesh."""
    bpy.ops.mesh.primitive_cube_add(size=2)
    cube: Any = bpy.context.object
    cube.modifiers.new("Round", "SUBSURF").levels = 2
    return deformed(cube, 0.1)


def deformed(cube: Any, strength: float) -> bpy.types.Object:
    modifier = cube.modifiers.get("Out") or cube.modifiers.new("Out", "DISPLACE")
    modifier.strength = strength
    bpy.context.view_layer.update()
    obj: bpy.types.Object = cube
    return obj


def disable(obj: Any) -> None:
    obj.hide_viewport = True


def disable_while_others_need_it(obj: Any) -> None:
    empty = bpy.data.objects.new("Empty", None)
    bpy.context.scene.collection.objects.link(empty)
    constraint: Any = empty.constraints.new("COPY_LOCATION")
    constraint.target = obj
    obj.hide_viewport = True


def hide(obj: Any) -> None:
    obj.hide_set(True)


def subdivide_further(obj: Any) -> None:
    obj.modifiers["Round"].levels = 3


def take_vertices(obj: Any) -> None:
    obj.data.clear_geometry()


WAYS = [disable, disable_while_others_need_it, hide, subdivide_further, take_vertices]


@pytest.mark.parametrize("change", WAYS)
def test_a_spot_stays_on_its_object_where_it_was_however_that_is_hidden_or_changed(change: Any) -> None:
    cube = seen_cube()
    place = np.array([0.5, 0.3, 0.7])
    anchor = anchor_on(cube, place)
    change(cube)
    bpy.context.view_layer.update()
    np.testing.assert_allclose(anchor_position(cube, anchor), place, atol=1e-6)
    cube.matrix_world = SHIFT
    bpy.context.view_layer.update()
    moved: Any = SHIFT @ Vector(place.tolist())
    np.testing.assert_allclose(anchor_position(cube, anchor), np.array(moved), atol=1e-5)


def test_a_spot_on_what_is_hidden_is_on_its_surface_again_once_that_is_seen_again() -> None:
    cube = seen_cube()
    place = np.array([0.5, 0.3, 0.7])
    anchor = anchor_on(cube, place)
    disable(cube)
    bpy.context.view_layer.update()
    anchor_position(cube, anchor)
    cube.hide_viewport = False
    deformed(cube, 0.3)
    # Half of what is displaced more: its middle level is a half.
    assert np.linalg.norm(anchor_position(cube, anchor) - place) == pytest.approx(0.1, abs=0.005)
    # Made while its surface is not seen, it is not on it.
    disable(cube)
    bpy.context.view_layer.update()
    anchor = anchor_on(cube, place)
    cube.hide_viewport = False
    deformed(cube, 0.1)
    np.testing.assert_allclose(anchor_position(cube, anchor), place, atol=1e-6)


def test_an_object_is_there_until_it_is_deleted_and_again_with_undo() -> None:
    cube, other = pentagon(), pentagon()
    name = cube.name
    assert is_in_view_layer(cube)
    assert not is_in_view_layer(None)
    # What points to an object keeps it in the file.
    bpy.types.Object.knuckle_kept = bpy.props.PointerProperty(type=bpy.types.Object)
    keeper: Any = other
    keeper.knuckle_kept = cube
    bpy.ops.ed.undo_push(message="Before")
    cube.select_set(True)
    bpy.ops.object.delete()
    assert keeper.knuckle_kept is not None and not is_in_view_layer(keeper.knuckle_kept)
    bpy.ops.ed.undo_push(message="Delete")
    bpy.ops.ed.undo()
    assert is_in_view_layer(bpy.data.objects[name])
    del bpy.types.Object.knuckle_kept


def test_the_nearest_surface_is_found_within_reach_alone() -> None:
    near, far = pentagon(), pentagon()
    far.location = (0, 0, 5)
    bpy.context.view_layer.update()
    assert nearest_surface([far, near], np.array([0.1, 0.0, 1.0]), 2.0) == near
    assert nearest_surface([far], np.array([0.1, 0.0, 1.0]), 2.0) is None
