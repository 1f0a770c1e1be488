"""Touch and Follow as operators: what of a scene is followed, what is keyed, what is reported."""

from typing import Literal

import bpy
import numpy as np
import pytest
from mathutils import Euler
from numpy.typing import NDArray

from knuckle.hand import proportions
from knuckle.rig import detection_cache
from knuckle.rig.keys.take_scene import new_hand
from knuckle.tests.blender import rigs

Floats = NDArray[np.float64]
Object = bpy.types.Object
MM = 1e-3
pytestmark = pytest.mark.usefixtures("extension")


@pytest.fixture
def hand() -> Object:
    """Knuckle's own hand, which goes wherever it is put."""
    measures = proportions.adult("right")
    armature, _ = new_hand(measures, proportions.build(measures), bpy.context.scene.collection)
    return chosen(armature)


@pytest.fixture
def body() -> Object:
    """A body with arms."""
    return chosen(rigs.RIGS["MakeHuman"]()[0])


def chosen(armature: Object) -> Object:
    bpy.context.view_layer.objects.active = armature
    bpy.context.view_layer.update()
    detection_cache.detect(armature)
    return armature


def settings(**values: object) -> None:
    if "side" in values:
        bpy.context.scene.knuckle_posing.side = values.pop("side")
    for name, value in values.items():
        setattr(bpy.context.scene.knuckle_follow, name, value)


def linked(name: str, data: bpy.types.ID | None, place: tuple[float, float, float]) -> Object:
    obj = bpy.data.objects.new(name, data)
    obj.location = place
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    return obj


def tip(armature: Object) -> Floats:
    bones = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    own = "index-finger-tip" in bones
    return np.array(armature.matrix_world @ (bones["index-finger-tip"].head if own else bones["finger2-3.R"].tail))


def way(armature: Object, first: int, last: int) -> Floats:
    places = []
    for frame in range(first, last + 1):
        bpy.context.scene.frame_set(frame)
        places.append(tip(armature))
    return np.stack(places)


def test_what_was_deleted_in_the_viewport_is_not_touched_or_followed_any_more(hand: Object) -> None:
    empty = linked("Empty", None, (0.4, 0.2, 0.3))
    settings(target=empty, kind="POINT", first=1, last=3)
    before = tip(hand)
    for obj in bpy.context.scene.objects:
        obj.select_set(obj == empty)
    bpy.ops.object.delete()
    assert bpy.context.scene.knuckle_follow.target is not None, "what points to it keeps it"
    for operator in (bpy.ops.knuckle.touch, bpy.ops.knuckle.follow):
        with pytest.raises(RuntimeError, match="'Empty' is not in this view layer"):
            operator()
    np.testing.assert_array_equal(tip(hand), before)
    assert hand.animation_data is None


def test_the_cursor_is_touched_where_no_target_is_chosen(hand: Object) -> None:
    bpy.context.scene.cursor.location = (0.4, 0.2, 0.3)
    assert bpy.ops.knuckle.touch() == {"FINISHED"}
    assert np.linalg.norm(tip(hand) - [0.4, 0.2, 0.3]) < 0.5 * MM
    assert hand.animation_data is None, "without auto-key nothing is keyed"


def test_an_object_is_touched_and_auto_key_keys_arm_and_hand(body: Object) -> None:
    place = tip(body) + [0.12, -0.1, 0.1]
    settings(target=linked("Cup", None, tuple(place.tolist())), side="right")
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    edit = bpy.context.preferences.edit
    edit.use_keyframe_insert_available = edit.use_auto_keyframe_insert_needed = False
    assert bpy.ops.knuckle.touch() == {"FINISHED"}
    assert np.linalg.norm(tip(body) - place) < 0.5 * MM
    bpy.context.scene.frame_set(7)
    assert np.linalg.norm(tip(body) - place) < 0.5 * MM, "as it is keyed"


def keyed_bones(armature: Object) -> set[str]:
    animation = armature.animation_data
    strip = animation.action.layers[0].strips[0]
    return {curve.data_path.split('"')[1] for curve in strip.channelbag(animation.action_slot).fcurves}


@pytest.mark.parametrize("alone", [False, True])
def test_auto_key_keys_the_bones_that_moved_and_no_others(body: Object, *, alone: bool) -> None:
    settings(target=linked("Cup", None, tuple((tip(body) + [0.01, -0.01, -0.02]).tolist())), side="right", alone=alone)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    edit = bpy.context.preferences.edit
    edit.use_keyframe_insert_available = edit.use_auto_keyframe_insert_needed = False
    before = {bone.name: np.array(bone.matrix_basis) for bone in body.pose.bones}
    assert bpy.ops.knuckle.touch() == {"FINISHED"}
    moved = {
        bone.name for bone in body.pose.bones if np.abs(np.array(bone.matrix_basis) - before[bone.name]).max() > 1e-5
    }
    assert keyed_bones(body) == moved
    assert moved == ({f"finger2-{k}.R" for k in (1, 2, 3)} if alone else {"upperarm01.R", "lowerarm01.R", "wrist.R"})


def test_a_finger_alone_leaves_an_arm_that_is_turned_as_no_solver_has_it(body: Object) -> None:
    arm = body.pose.bones["upperarm01.R"], body.pose.bones["lowerarm01.R"]
    for bone in arm:
        bone.rotation_mode, bone.rotation_quaternion = "QUATERNION", Euler((0.1, 0.7, 0.2)).to_quaternion()
    bpy.context.view_layer.update()
    before = [bone.rotation_quaternion.copy() for bone in arm]
    settings(target=linked("Cup", None, tuple((tip(body) + [0.01, -0.01, -0.01]).tolist())), side="right", alone=True)
    assert bpy.ops.knuckle.touch() == {"FINISHED"}
    assert [bone.rotation_quaternion for bone in arm] == before


def test_a_moving_object_is_followed(body: Object) -> None:
    target = linked("Fly", None, (0.0, 0.0, 0.0))
    start = tip(body)
    for frame, along in ((1, 0.0), (20, 0.1)):
        target.location = (start + [along, -0.05, along]).tolist()
        target.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(1)
    settings(target=target, kind="POINT", first=1, last=20, side="right")
    unkeyed = linked("Cup", None, (1.0, 0.0, 0.0))
    unkeyed.keyframe_insert("location", frame=1)
    unkeyed.location.x = 2.0
    assert bpy.ops.knuckle.follow() == {"FINISHED"}
    bpy.context.view_layer.update()
    assert np.linalg.norm(tip(body) - np.array(target.matrix_world.translation)) < 0.5 * MM
    assert unkeyed.location.x == 2.0, "what is animated and was moved without a key stays"
    for frame in (1, 9, 20):
        bpy.context.scene.frame_set(frame)
        assert np.linalg.norm(tip(body) - np.array(target.matrix_world.translation)) < 0.5 * MM


def grid(name: str, place: tuple[float, float, float], turn: tuple[float, float, float], size: float = 0.2) -> Object:
    mesh = bpy.data.meshes.new(name)
    corners = [(-size, -size, 0), (size, -size, 0), (size, size, 0), (-size, size, 0)]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    obj = linked(name, mesh, place)
    obj.rotation_euler = Euler(turn)
    bpy.context.view_layer.update()
    return obj


def test_the_line_in_which_two_planes_meet_is_followed_as_far_as_both_reach(hand: Object) -> None:
    floor, wall = grid("Floor", (0.5, 0, 0.1), (0, 0, 0)), grid("Wall", (0.5, 0.05, 0.1), (np.pi / 2, 0, 0), 0.1)
    settings(target=floor, other=wall, kind="LINE", first=1, last=11)
    assert bpy.ops.knuckle.follow() == {"FINISHED"}
    places = way(hand, 1, 11)
    np.testing.assert_allclose(places[:, 1:], np.tile([0.05, 0.1], (11, 1)), atol=0.5 * MM)
    np.testing.assert_allclose(sorted([places[0, 0], places[-1, 0]]), [0.4, 0.6], atol=0.5 * MM)
    np.testing.assert_allclose(np.diff(places[:, 0]), np.diff(places[:, 0])[0], atol=1e-5)
    assert hand.animation_data.action.name == "Follow Floor"


@pytest.mark.parametrize("kind", ["POLY", "BEZIER", "NURBS"])
@pytest.mark.parametrize("bevel", [0.0, 0.01])
def test_a_curve_is_followed(hand: Object, kind: Literal["POLY", "BEZIER", "NURBS"], bevel: float) -> None:
    curve = bpy.data.curves.new("Path", "CURVE")
    curve.dimensions, curve.bevel_depth = "3D", bevel
    spline = curve.splines.new(kind)
    points = spline.bezier_points if kind == "BEZIER" else spline.points
    points.add(3)
    for k, point in enumerate(points):
        point.co = (0.1 * k, 0.05 * k * k, 0.0, 1.0)[: len(point.co)]
        if kind == "BEZIER":
            point.handle_left_type = point.handle_right_type = "AUTO"
    if kind == "NURBS":
        spline.use_endpoint_u = True
    target = linked("Path", curve, (0.3, 0.1, 0.2))
    settings(target=target, kind="LINE", first=1, last=5)
    if kind == "NURBS" and bevel:
        with pytest.raises(RuntimeError, match="NURBS"):
            bpy.ops.knuckle.follow()
        return
    assert bpy.ops.knuckle.follow() == {"FINISHED"}
    places = way(hand, 1, 5)
    np.testing.assert_allclose(places[0], [0.3, 0.1, 0.2], atol=0.5 * MM)
    np.testing.assert_allclose(places[-1], [0.6, 0.55, 0.2], atol=0.5 * MM)
    settings(reverse=True)
    bpy.ops.knuckle.follow()
    np.testing.assert_allclose(way(hand, 1, 5), places[::-1], atol=0.5 * MM)


@pytest.mark.parametrize("bevel", [0.0, 0.01])
@pytest.mark.parametrize("points", [0, 1])
def test_a_curve_that_goes_nowhere_is_reported(hand: Object, points: int, bevel: float) -> None:
    curve = bpy.data.curves.new("Path", "CURVE")
    curve.bevel_depth = bevel
    if points:
        curve.splines.new("BEZIER")
    settings(target=linked("Path", curve, (0.3, 0.1, 0.2)), kind="LINE", first=1, last=5)
    with pytest.raises(RuntimeError, match="'Path' has no path to follow"):
        bpy.ops.knuckle.follow()
    assert hand.animation_data is None


def test_an_edge_of_a_mesh_is_followed(hand: Object) -> None:
    target = grid("Table", (0.5, 0.0, 0.1), (0.3, 0.1, 0.0))
    settings(target=target, kind="LINE", first=1, last=3)
    for edge in target.data.edges:
        edge.select = False
    with pytest.raises(RuntimeError, match="0 selected edges"):
        bpy.ops.knuckle.follow()
    target.data.edges[2].select = True
    bpy.ops.knuckle.follow()
    ends = [target.matrix_world @ target.data.vertices[k].co for k in target.data.edges[2].vertices]
    np.testing.assert_allclose(way(hand, 1, 3)[[0, 2]], np.array(ends), atol=0.5 * MM)


@pytest.mark.parametrize("kind", ["EMPTY", "MESH"])
def test_a_sphere_is_gone_around(hand: Object, kind: str) -> None:
    data = None
    if kind == "MESH":
        data = bpy.data.meshes.new("Ball")
        angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        rings = [
            (0.1 * np.cos(b) * np.cos(a), 0.1 * np.cos(b) * np.sin(a), 0.1 * np.sin(b)) for a in angles for b in angles
        ]
        data.from_pydata(rings, [], [])
    ball = linked("Ball", data, (0.5, 0.2, 0.3))
    if kind == "EMPTY":
        ball.empty_display_type, ball.empty_display_size, ball.scale = "SPHERE", 0.05, (2, 2, 2)
        bpy.context.view_layer.update()
    settings(target=ball, kind="SPHERE", first=1, last=25, gap=0.02, turn=2 * np.pi)
    assert bpy.ops.knuckle.follow() == {"FINISHED"}
    places = way(hand, 1, 25)
    np.testing.assert_allclose(np.linalg.norm(places - np.array(ball.location), axis=1), 0.12, atol=0.5 * MM)
    np.testing.assert_allclose(places[0], places[-1], atol=0.5 * MM)
    assert np.ptp(places[:, 2]) < 0.5 * MM, "about Z"
    bpy.context.scene.frame_set(6)
    wrist = np.array(hand.matrix_world @ hand.pose.bones["wrist"].head)
    assert np.linalg.norm(wrist - np.array(ball.location)) > 0.2, "the hand points at it from outside"


def part_of_a_ball(radius: float) -> bpy.types.Mesh:
    """Vertices of a sphere's upper third alone, whose bounding box has another centre; none is selected."""
    data, angles = bpy.data.meshes.new("Bowl"), np.linspace(0, 2 * np.pi, 12, endpoint=False)
    rings = [
        (radius * np.sin(b) * np.cos(a), radius * np.sin(b) * np.sin(a), radius * np.cos(b))
        for a in angles
        for b in (0.3, 0.8)
    ]
    data.from_pydata(rings, [], [])
    for vertex in data.vertices:
        vertex.select = False
    return data


def test_the_sphere_through_four_selected_vertices_is_gone_around(hand: Object) -> None:
    bowl = linked("Bowl", part_of_a_ball(0.1), (0.5, 0.2, 0.3))
    bowl.rotation_euler = (0.4, 0.0, 0.2)
    bpy.context.view_layer.update()
    settings(target=bowl, kind="VERTICES", first=1, last=13, gap=0.02, turn=np.pi)
    for picked, message in (((0, 5, 9), "3 selected vertices, select four"), ((0, 4, 8, 12), "are in a plane")):
        for vertex in bowl.data.vertices:
            vertex.select = vertex.index in picked
        with pytest.raises(RuntimeError, match=message):
            bpy.ops.knuckle.follow()
    for vertex in bowl.data.vertices:
        vertex.select = vertex.index in {0, 5, 8, 13}
    assert bpy.ops.knuckle.follow() == {"FINISHED"}
    np.testing.assert_allclose(np.linalg.norm(way(hand, 1, 13) - np.array(bowl.location), axis=1), 0.12, atol=0.5 * MM)
    settings(target=hand, kind="VERTICES")
    with pytest.raises(RuntimeError, match="is not a mesh"):
        bpy.ops.knuckle.follow()


def test_what_is_out_of_reach_is_reached_for(body: Object) -> None:
    settings(target=linked("Moon", None, (-5.0, -5.0, 3.0)), side="right")
    assert bpy.ops.knuckle.touch() == {"FINISHED"}
    bones = body.pose.bones
    shoulder = np.array(body.matrix_world @ bones["upperarm01.R"].head)
    way_there = np.array([-5.0, -5.0, 3.0]) - shoulder
    reached = tip(body) - shoulder
    assert reached @ way_there / np.linalg.norm(reached) / np.linalg.norm(way_there) > 1 - 1e-6


def test_errors_name_what_is_wrong(hand: Object) -> None:
    far = grid("Far", (9.0, 0, 0), (np.pi / 2, 0, 0), 0.1)
    settings(target=grid("Floor", (0, 0, 0), (0, 0, 0)), other=far, kind="LINE")
    with pytest.raises(RuntimeError, match="'Floor' and 'Far' cover different parts"):
        bpy.ops.knuckle.follow()
    settings(other=grid("Ceiling", (0, 0, 1), (0, 0, 0)))
    with pytest.raises(RuntimeError, match="parallel"):
        bpy.ops.knuckle.follow()
    settings(kind="SPHERE", target=hand, other=None)
    with pytest.raises(RuntimeError, match="neither an empty nor a mesh"):
        bpy.ops.knuckle.follow()
    settings(target=far, first=5, last=2)
    with pytest.raises(RuntimeError, match="before the first"):
        bpy.ops.knuckle.follow()
    assert hand.animation_data is None


def test_other_animation_stays(body: Object) -> None:
    bone = body.pose.bones["finger2-1.R"]
    bone.rotation_mode = "QUATERNION"
    bone.keyframe_insert("rotation_quaternion", frame=3)
    before = body.animation_data.action
    settings(target=linked("Cup", None, tuple((tip(body) + [0.05, -0.05, 0.0]).tolist())), kind="POINT", side="right")
    settings(first=1, last=3)
    frame = bpy.context.scene.frame_current
    bpy.ops.knuckle.follow()
    assert body.animation_data.action != before and before.use_fake_user and len(before.layers) == 1
    assert bpy.context.scene.frame_current == frame
