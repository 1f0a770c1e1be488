"""Fingertips and palms on objects that deform: they stay on the mesh as Blender evaluates it on each frame."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.pipeline.corrections.correction import is_palm
from knuckle.rig.default_hand import add_hand
from knuckle.rig.keys.corrections.corrected_take import waiting_of
from knuckle.rig.keys.corrections.deforming_surface import DeformedShape
from knuckle.tests.blender.test_palm_on_object import flat_take, playing, table
from knuckle.tests.blender.touching_objects import BLEND, FIRST, HELD, LAST, TIP, hold, playing_hand, shown, skin, thing

pytestmark = pytest.mark.usefixtures("extension")
Floats = NDArray[np.float64]
RISE = 8e-3
"""m by which the surface rises over the frames, without a key of its object."""


def deforming(made: bpy.types.Object, bend: float = 0.0) -> None:
    """Let a mesh rise by a shape key over the frames in which it is touched, and its one side by more."""
    made.animation_data_clear()
    made.shape_key_add(name="Basis")
    key = made.shape_key_add(name="Up")
    tall = made.matrix_world.to_scale().z
    for vertex, point in zip(made.data.vertices, key.data, strict=True):
        point.co.z += (RISE + bend * vertex.co.x) / tall
    for frame, value in ((FIRST - BLEND, 0.0), (LAST + BLEND, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    bpy.context.view_layer.update()


def parented_to_rise(made: bpy.types.Object) -> None:
    """Let a mesh rise as an armature that it is parented to deforms it, without a modifier."""
    made.animation_data_clear()
    lift = bpy.data.objects.new("Lift", bpy.data.armatures.new("Lift"))
    bpy.context.scene.collection.objects.link(lift)
    bpy.context.view_layer.objects.active = lift
    bpy.ops.object.mode_set(mode="EDIT")
    lift.data.edit_bones.new("Up").tail = 0.0, 0.0, 1.0
    bpy.ops.object.mode_set(mode="OBJECT")
    made.parent, made.parent_type = lift, "ARMATURE"
    made.vertex_groups.new(name="Up").add(range(len(made.data.vertices)), 1.0, "REPLACE")
    bone = lift.pose.bones["Up"]
    for frame, height in ((FIRST - BLEND, 0.0), (LAST + BLEND, RISE)):
        bone.location = 0.0, height, 0.0
        bone.keyframe_insert("location", frame=frame)
    bpy.context.view_layer.update()


def on_mesh(points: Floats, made: bpy.types.Object) -> tuple[Floats, Floats]:
    """Where points are on the evaluated mesh, (N, 3) m as its corner 0 and the directions of its top's edges have them,
    and how far from it (N,) m, negative in it."""
    seen = made.evaluated_get(bpy.context.evaluated_depsgraph_get())
    corners = [seen.matrix_world @ vertex.co for vertex in seen.data.vertices]
    tree = BVHTree.FromPolygons(
        [[*corner] for corner in corners], [tuple(face.vertices) for face in seen.data.polygons]
    )
    highest = max(seen.data.polygons, key=lambda face: face.normal.z)
    start, along, last = (corners[highest.vertices[row]] for row in (0, 1, 3))
    first = (along - start).normalized()
    up = first.cross(last - start).normalized()
    axes = np.array([first, up.cross(first), up])
    hits = [tree.find_nearest(point) for point in points.tolist()]
    far = [
        -hit[3] if (Vector(point) - hit[0]).dot(hit[1]) < 0 else hit[3]
        for point, hit in zip(points.tolist(), hits, strict=True)
    ]
    return (points - np.array(start)) @ axes.T, np.array(far)


@pytest.mark.parametrize(
    "deform",
    [deforming, lambda made: deforming(made, 3e-3), parented_to_rise],
    ids=["shape key", "one that bends", "parent"],
)
def test_a_fingertip_stays_on_a_mesh_that_deforms(deform: Callable[[bpy.types.Object], None]) -> None:
    armature = playing_hand()
    board = thing(armature, "box")
    height = board.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world.translation.z
    deform(board)
    assert board.matrix_world.translation.z == pytest.approx(height, abs=1e-6)
    bpy.context.view_layer.objects.active = armature
    hold()
    assert waiting_of(shown().base) == {}
    places, depths = [], []
    for frame in HELD:
        bpy.context.scene.frame_set(frame)
        place, far = on_mesh(skin(armature, TIP), board)
        places.append(place)
        depths.append(far)
    far = np.array(depths)
    assert np.abs(far.min(axis=1)).max() < 1e-3, "it touches, and is not in it"
    pad = far.max(axis=0).argmin()
    assert np.ptp(np.array(places)[:, pad], axis=0).max() < 1e-3, "and does not slip"


def test_a_palm_stays_on_a_mesh_that_deforms() -> None:
    armature = playing(add_hand(proportions.adult("right"), "Rig", bpy.context.scene.collection), flat_take())
    board = table(armature)
    deforming(board)
    hold(tips={"palm"})
    assert waiting_of(shown().base) == {}
    bones = ["wrist", *(bone.name for bone in armature.data.bones if is_palm(bone.name))]
    places, depths = [], []
    for frame in (HELD[0], HELD[len(HELD) // 2], HELD[-1]):
        bpy.context.scene.frame_set(frame)
        place, far = on_mesh(skin(armature, *bones), board)
        places.append(place)
        depths.append(far)
    far = np.array(depths)
    assert far.min() > -1e-3
    touching = np.abs(far).max(axis=0) < 1e-3
    assert touching.any(), "it is there in all frames"
    assert np.ptp(np.array(places)[:, touching], axis=0).max() < 1e-3


def test_a_mesh_that_keeps_its_shape_under_a_modifier_is_kept_once() -> None:
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    cube.modifiers.new("Smooth", "SUBSURF")
    bpy.context.view_layer.update()
    first, again = DeformedShape.of(cube), DeformedShape.of(cube)
    assert first is not None and again is not None and len(first.vertices) > 8
    assert again.shared(first) is first
    cube.modifiers["Smooth"].show_viewport = False
    cube.data.vertices[0].co.x += 0.1
    bpy.context.view_layer.update()
    moved = DeformedShape.of(cube)
    assert moved is not None and moved.shared(first) is moved, "it is another"


def test_a_mesh_that_bends_below_the_hand_says_by_how_much() -> None:
    armature = playing_hand()
    board = thing(armature, "box")
    deforming(board)
    for point in board.data.shape_keys.key_blocks["Up"].data:
        point.co.x *= 4.0
    with pytest.raises(RuntimeError, match=r"'Table' bends by \d+\.\d mm where the hand is in these frames"):
        hold()
