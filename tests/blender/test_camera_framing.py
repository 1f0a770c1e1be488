"""The camera of a take: what must be in its picture is, as Blender projects it, and fills it."""

import bpy
import numpy as np
import pytest
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector
from numpy.typing import NDArray

from knuckle.rig.blend_file import new_scene_with_take
from knuckle.rig.camera_framing import add_camera, add_sun, view_along
from knuckle.tests.blender.making import take

Floats = NDArray[np.float64]
FRAMES = 60


def in_picture(points: Floats, view: Floats) -> Floats:
    """Where points (F, N, 3) are in the picture of a camera that frames them, (F, N, 2) 0..1 across and up."""
    scene = bpy.context.scene
    frames = np.arange(1.0, FRAMES + 1)
    camera = add_camera(scene, scene.collection, points, view_along(view), times=frames / 24, frames=frames)
    seen = []
    for frame, those in zip(frames, points, strict=True):
        scene.frame_set(int(frame))
        seen.append([world_to_camera_view(scene, camera, Vector(point))[:2] for point in those.tolist()])
    return np.array(seen)


@pytest.mark.parametrize("size", [(1920, 1080), (1080, 1920), (800, 800)])
@pytest.mark.parametrize("stretch", [(1.0, 1.0, 1.0), (4.0, 1.0, 1.0), (1.0, 1.0, 4.0)])
@pytest.mark.parametrize("travel", [0.0, 20.0])
def test_points_are_in_the_picture_and_fill_it(
    size: tuple[int, int], stretch: tuple[float, float, float], travel: float
) -> None:
    scene, rng = bpy.context.scene, np.random.default_rng(1)
    scene.render.resolution_x, scene.render.resolution_y = size
    points = np.tile(rng.uniform(-0.1, 0.1, (40, 3)) * stretch, (FRAMES, 1, 1))
    points += np.linspace(0.0, travel, FRAMES)[:, None, None] * [0.6, 0.0, 0.8]
    seen = in_picture(points, np.array([0.3, 1.0, -0.2]))
    assert seen.min() > 0.0 and seen.max() < 1.0
    assert np.abs(2 * seen - 1).max() > 0.7


def test_the_sun_shines_from_above_and_left_of_the_camera() -> None:
    shines = []
    for view in ([0.3, 1.0, -0.2], [-1.0, 0.4, 0.1], [0.2, 0.1, -1.0]):
        rotation, collection = view_along(np.array(view)), bpy.data.collections.new("Lights")
        bpy.context.scene.collection.children.link(collection)
        add_sun(collection, rotation)
        bpy.context.view_layer.update()
        shines.append(rotation.T @ -np.array(collection.objects[0].matrix_world)[:3, 2])
    np.testing.assert_allclose(shines, [shines[0]] * 3, atol=1e-5)
    assert shines[0][0] > 0.3 and shines[0][1] < -0.3 and shines[0][2] < -0.3


def test_the_skin_of_a_take_is_in_the_picture_and_fills_it() -> None:
    new_scene_with_take(take(frames=20))
    scene, seen = bpy.context.scene, []
    for frame in (1, 10, 20):
        scene.frame_set(frame)
        evaluated = bpy.context.evaluated_depsgraph_get()
        for skin in (obj.evaluated_get(evaluated) for obj in scene.objects if obj.type == "MESH" and obj.vertex_groups):
            corners = (skin.matrix_world @ vertex.co for vertex in skin.data.vertices)
            seen += [world_to_camera_view(scene, scene.camera, corner)[:2] for corner in corners]
    places = np.array(seen)
    assert len(places) > 100
    assert places.min() > 0.0 and places.max() < 1.0
    assert np.ptp(places, axis=0).max() > 0.7
