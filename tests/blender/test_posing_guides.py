"""Spheres, edges and planes to follow are where shape keys, modifiers and Edit Mode show them."""

from collections.abc import Callable, Collection

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.rig.posing import guides

from .test_posing_follow_operators import grid, linked, part_of_a_ball

Object = bpy.types.Object
pytestmark = pytest.mark.usefixtures("extension")

ON_THE_BALL = {0, 5, 8, 13}
"""Vertices of a bowl, not all in a plane."""


def bowl() -> Object:
    """A part of a sphere of 0.1 m, with four selected vertices."""
    obj = linked("Bowl", part_of_a_ball(0.1), (0.5, 0.2, 0.3))
    for vertex in obj.data.vertices:
        vertex.select = vertex.index in ON_THE_BALL
    return obj


def select_edge(obj: Object, ends: Collection[int]) -> None:
    """Select one edge by its vertices."""
    for edge in obj.data.edges:
        edge.select = set(edge.vertices) == set(ends)


def moved_by_key(obj: Object) -> None:
    """All vertices 0.1 m along X, by a shape key."""
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Moved", from_mix=False)
    for point in key.data:
        point.co.x += 0.1
    key.value = 1.0
    bpy.context.view_layer.update()


def moved_by_modifier(obj: Object) -> None:
    """All vertices 0.1 m along X, by a Displace modifier."""
    displace = obj.modifiers.new("Displace", "DISPLACE")
    displace.direction, displace.strength, displace.mid_level = "X", 0.1, 0.0
    bpy.context.view_layer.update()


moves = pytest.mark.parametrize("move", [moved_by_key, moved_by_modifier])


@moves
def test_both_spheres_of_a_mesh_move_with_its_vertices(move: Callable[[Object], None]) -> None:
    obj = bowl()
    before = np.array(guides.sphere_of_object(obj).centre)
    move(obj)
    through = guides.sphere_through_selected(obj)
    np.testing.assert_allclose([*through.centre, through.radius], [0.6, 0.2, 0.3, 0.1], atol=1e-6)
    np.testing.assert_allclose(guides.sphere_of_object(obj).centre, before + (0.1, 0.0, 0.0), atol=1e-6)


@moves
def test_an_edge_moves_with_its_vertices(move: Callable[[Object], None]) -> None:
    table = grid("Table", (0.5, 0.0, 0.1), (0.0, 0.0, 0.0))
    select_edge(table, {0, 1})
    move(table)
    ends = guides.path_along(table)
    np.testing.assert_allclose(ends[np.argsort(ends[:, 0])], [(0.4, -0.2, 0.1), (0.8, -0.2, 0.1)], atol=1e-6)


@moves
def test_a_plane_moves_with_its_vertices(move: Callable[[Object], None]) -> None:
    """The wall's face is tilted by 45 degrees in its own space, so that along X it moves to another plane."""
    table, wall = grid("Table", (0.5, 0.0, 0.1), (0.0, 0.0, 0.0)), grid("Wall", (0.5, 0.0, 0.1), (0.0, 0.0, 0.0), 0.1)
    for vertex in wall.data.vertices:
        vertex.co.z = vertex.co.x
    move(wall)
    start, along = guides.segment_between(table, wall, np.zeros(3))
    np.testing.assert_allclose(np.stack([start, start + along])[:, [0, 2]], np.tile([0.6, 0.1], (2, 1)), atol=1e-6)
    np.testing.assert_allclose(sorted([start[1], start[1] + along[1]]), [-0.1, 0.1], atol=1e-6)


def test_a_mesh_in_edit_mode_is_the_sphere_that_it_was() -> None:
    obj = bowl()
    before = guides.sphere_of_object(obj)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        assert guides.sphere_of_object(obj) == before
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize("follow", [guides.sphere_through_selected, guides.path_along])
def test_modifiers_that_add_vertices_are_told_as_indices_then_name_others(follow: Callable[[Object], object]) -> None:
    obj = bowl() if follow is guides.sphere_through_selected else grid("Bowl", (0.5, 0.0, 0.1), (0.0, 0.0, 0.0))
    if obj.data.edges:
        select_edge(obj, {0, 1})
    mirror = obj.modifiers.new("Mirror", "MIRROR")
    mirror.use_axis, mirror.use_mirror_merge = (False, False, True), False
    bpy.context.view_layer.update()
    own = len(obj.data.vertices)
    with pytest.raises(RigError, match=f"^'Bowl' has {2 * own} vertices with its modifiers and {own} without, "):
        follow(obj)
    mirror.show_viewport = False
    bpy.context.view_layer.update()
    follow(obj)
