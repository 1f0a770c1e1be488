"""Contacts with objects of the scene: the evaluated skin stays on them and out of them, and other keys as they are."""

import math
from dataclasses import replace

import bpy
import numpy as np
import pytest
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from knuckle.errors import RecipeError
from knuckle.hand import proportions
from knuckle.operators.hold_contact import objects_to_touch
from knuckle.operators.take_corrections import ShownTake, shown_take
from knuckle.pipeline.corrections.correction import Correction, HeldOnObject, ObjectPoint, PoseDifference, TimeRange
from knuckle.pipeline.corrections.correction_json import from_list, to_list
from knuckle.pipeline.take import Take
from knuckle.rig.default_hand import add_hand
from knuckle.rig.keys.corrections import hand_to_correct, held_on_object
from knuckle.rig.keys.corrections.corrected_take import corrections_of, waiting_of
from knuckle.rig.keys.corrections.waiting import hurried_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.tests.blender.test_held_touch import FIRST, LAST, RATE, half_closed, turns
from knuckle.tests.blender.test_spliced_takes import keys

Floats = NDArray[np.float64]
BLEND = 12
HELD = range(FIRST, LAST + 1)
TIP = "index-finger-phalanx-distal"
pytestmark = pytest.mark.usefixtures("extension")


def still() -> Take:
    """A hand that is nearly flat and trembles, with a wrist that stays where it is."""
    made = half_closed()
    (hand,) = made.hands
    root, angles = np.tile(hand.pose.root[:1], (len(hand.pose), 1, 1)), 0.3 * hand.pose.angles
    pose = replace(hand.pose, root=root, angles=np.clip(angles, *hand.hand.limits.T))
    return replace(made, hands=(replace(hand, pose=pose),))


@pytest.fixture
def armature() -> bpy.types.Object:
    """Knuckle's own hand, with its skin, that plays it from frame 1."""
    scene = bpy.context.scene
    scene.render.fps = round(RATE)
    made = add_hand(proportions.adult("right"), "Rig", scene.collection)
    bpy.context.view_layer.objects.active = made
    write_take(still(), made, scene, scene.collection, TakeTiming())
    return made


def skin(armature: bpy.types.Object, *bones: str) -> Floats:
    """(V, 3) m in the world: the vertices of the evaluated skin that these bones move most."""
    (mesh,) = (each for each in armature.children if each.vertex_groups)
    groups = {group.index: group.name for group in mesh.vertex_groups}
    rows = [
        vertex.index
        for vertex in mesh.data.vertices
        if groups[max(vertex.groups, key=lambda group: group.weight).group] in bones
    ]
    seen = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([seen.matrix_world @ seen.data.vertices[row].co for row in rows])


def thing(armature: bpy.types.Object, kind: str, gap: float = 4e-3) -> bpy.types.Object:
    """A thing as flat as the palm, a gap below the index finger in the middle of the contact; one moves."""
    scene, middle = bpy.context.scene, (FIRST + LAST) // 2
    scene.frame_set(middle)
    bone = np.array(armature.matrix_world @ armature.pose.bones["wrist"].matrix)
    up, points = bone[:3, 2], skin(armature, TIP)
    pad = points[(points @ up).argmin()]
    add = {"plane": bpy.ops.mesh.primitive_plane_add, "ball": bpy.ops.mesh.primitive_uv_sphere_add}
    add.get(kind, bpy.ops.mesh.primitive_cube_add)()
    made = bpy.context.object
    made.name, made.rotation_mode = "Table", "QUATERNION"
    made.scale = (0.03, 0.03, 0.03) if kind == "ball" else (0.06, 0.06, 0.01)
    made.rotation_quaternion = Vector(up.tolist()).to_track_quat("Z", "Y")
    away = {"plane": 0.0, "ball": 0.03}.get(kind, 0.01)
    made.location = Vector((pad - (gap + away) * up).tolist())
    if kind == "moving":
        made.keyframe_insert("location", frame=FIRST - 10)
        made.location += Vector((0.004 * bone[:3, 0] + 0.003 * up).tolist())
        made.keyframe_insert("location", frame=LAST + 10)
    bpy.context.view_layer.objects.active = armature
    bpy.context.view_layer.update()
    return made


def parented(table: bpy.types.Object, armature: bpy.types.Object, bone: str) -> None:
    """Parent a thing to an armature or a bone of it, where it is."""
    there = table.matrix_world.copy()
    table.parent, table.parent_type, table.parent_bone = armature, "BONE" if bone else "OBJECT", bone
    bpy.context.view_layer.update()
    table.matrix_world = there


def reason() -> str:
    """Why the correction waits once it is held anew, on the object as it is now; empty if it does not."""
    bpy.context.view_layer.update()
    shown().write(shown().corrections)
    return waiting_of(shown().base).get("c1", "")


def seen_on(armature: bpy.types.Object, table: bpy.types.Object) -> tuple[Floats, Floats]:
    """Where the pad's vertices (F, V, 3) m are in the table's axes, and the depth (F,) m of the finger in it."""
    places, depths = [], []
    for frame in HELD:
        bpy.context.scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        tree, into = BVHTree.FromObject(table, graph), table.evaluated_get(graph).matrix_world.inverted()
        scale = np.array(table.scale)
        places.append([scale * (into @ Vector(point)) for point in skin(armature, TIP).tolist()])
        finger = skin(armature, TIP, TIP.replace("distal", "intermediate"), TIP.replace("distal", "proximal"))
        depth = 0.0
        for point in finger.tolist():
            own = into @ Vector(point)
            foot, normal, _, _ = tree.find_nearest(own)
            if (own - foot).dot(normal) < 0:
                depth = max(depth, float(np.linalg.norm(scale * (own - foot))))
        depths.append(depth)
    return np.array(places), np.array(depths)


def hold(**given: object) -> None:
    asked = {"other": "OBJECT", "object": "Table", "tips": {"index-finger"}, "blend": BLEND}
    span = {"first": FIRST - BLEND, "last": LAST + BLEND}
    assert bpy.ops.knuckle.hold_contact(**asked | span | given) == {"FINISHED"}


def shown() -> ShownTake:
    found = shown_take(bpy.context)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["plane", "ball", "moving"])
def test_the_evaluated_skin_stays_on_an_object_and_out_of_it(armature: bpy.types.Object, kind: str) -> None:
    table, before, was = thing(armature, kind), keys(armature), turns(armature)
    apart = np.abs(seen_on(armature, table)[0][:, :, 2]).min(axis=1)
    hold()
    (one,) = corrections_of(armature)
    assert isinstance(one.change, HeldOnObject) and waiting_of(shown().base) == {} == hurried_of(shown().base)
    places, depths = seen_on(armature, table)
    away = np.linalg.norm(places - np.array(table.scale) * one.change.points[0].place, axis=2)
    pad = int(away.mean(axis=0).argmin())
    assert away[:, pad].max() < 1e-3, "it is there"
    assert np.linalg.norm(places[:, pad] - places[0, pad], axis=1).max() < 1e-3, "and does not slip"
    assert depths.max() < 1e-3
    assert kind == "ball" or apart.max() > 2e-3, "it was not there before"
    assert (turns(armature) - 1.5 * was).max() < 5.0
    after = keys(armature)
    for place, of_curve in before.items():
        for frame, key in of_curve.items():
            if "index" not in place[0] or not FIRST - BLEND - 0.01 <= frame <= LAST + BLEND + 0.01:
                assert after[place][frame] == key, (place, frame)


def test_an_object_that_is_gone_is_waited_for_and_a_new_solve_holds_it_again(armature: bpy.types.Object) -> None:
    table, before, scene = thing(armature, "box"), keys(armature), bpy.context.scene
    hold()
    kept = corrections_of(armature)
    table.name = "Desk"
    shown().write(shown().corrections)
    assert waiting_of(shown().base) == {"c1": "there is no object 'Table' in the scene"}
    assert keys(armature) == before
    table.name = "Table"
    again = still()
    recipe = replace(again.recipe, corrections=to_list(kept))
    write_take(replace(again, recipe=recipe), armature, scene, scene.collection, TakeTiming())
    assert corrections_of(armature)[0].range == kept[0].range and waiting_of(shown().base) == {}
    assert seen_on(armature, table)[1].max() < 1e-3 and keys(armature) != before


def test_what_is_not_chosen_or_has_no_surface_is_told(armature: bpy.types.Object) -> None:
    thing(armature, "box")
    empty = bpy.data.objects.new("Empty", None)
    bpy.context.scene.collection.objects.link(empty)
    before = keys(armature)
    for given, told in (
        ({"object": ""}, "choose the object that is touched"),
        ({"tips": set()}, "and the digits whose tips touch it"),
        ({"object": "Nothing"}, "there is no object 'Nothing' in the scene"),
        ({"object": "Empty"}, "'Empty' has no surface"),
        ({"object": "Rig"}, "'Rig' has no surface: it is of type ARMATURE, choose a mesh"),
        ({"object": armature.children[0].name}, "is the skin of 'Rig', choose another mesh"),
    ):
        with pytest.raises(RuntimeError, match=f"(?i){told}"):
            hold(**given)
    assert len(bpy.data.scenes) == 1
    assert keys(armature) == before and corrections_of(armature) == ()


def test_the_meshes_to_choose_from_are_all_but_the_skin_of_the_hand(armature: bpy.types.Object) -> None:
    table = thing(armature, "box")
    other = bpy.data.objects.new("Other", bpy.data.armatures.new("Other"))
    bpy.context.scene.collection.objects.link(other)
    table.modifiers.new("Armature", "ARMATURE").object = other
    assert objects_to_touch(None, bpy.context, "") == ["Table"]


def test_a_range_that_is_too_short_for_the_way_says_how_many_frames_it_takes(armature: bpy.types.Object) -> None:
    thing(armature, "box", 0.012)
    middle = (FIRST + LAST) // 2
    hold(first=middle - 2, last=middle + 2, blend=1)
    (told,) = hurried_of(shown().base).values()
    assert told.startswith("its 5 frames are too short for the way there and back, where joints turn fast: give it ")
    needed = int(told.rpartition(" ")[2])
    shown().write(())
    hold(first=middle - needed // 2 - 1, last=middle + needed // 2 + 1, blend=needed // 2)
    assert hurried_of(shown().base) == {}


def test_what_can_no_longer_be_touched_is_waited_for_with_the_reason(armature: bpy.types.Object) -> None:
    table, before = thing(armature, "box"), keys(armature)
    hold()
    held = keys(armature)
    assert held != before

    table.name, armature.name = "Desk", "Table"
    assert reason() == "'Table' has no surface: it is of type ARMATURE, choose a mesh"
    assert keys(armature) == before and len(bpy.data.scenes) == 1
    armature.name, table.name = "Rig", "Table"

    (skin_of_hand,) = armature.children
    group = skin_of_hand.vertex_groups[TIP]
    group.name = "Other"
    skin_of_hand.data.vertices[0].co.x += 1e-5  # so that the skin is read anew
    assert reason() == "the hand has no skin at the tip of its index finger"
    group.name = TIP
    skin_of_hand.data.vertices[0].co.x -= 1e-5
    assert reason() == "" and keys(armature) == held


def test_an_object_that_has_changed_so_that_nothing_stays_on_it_is_waited_for(armature: bpy.types.Object) -> None:
    table = thing(armature, "box")
    hold()
    held = keys(armature)
    table.scale.z = 0.0
    assert reason() == "'Table' is scaled flat in these frames, give it a size along all axes"
    table.scale.z = 0.01
    place = table.location.copy()
    table.keyframe_insert("location", frame=LAST)
    table.location.x = math.nan
    table.keyframe_insert("location", frame=LAST + 1)
    assert reason() == "'Table' has a place in these frames that is not of finite numbers"
    table.animation_data_clear()
    table.location = place

    table.hide_viewport = True
    assert reason() == f"'Table' is disabled in viewports on frame {FIRST - BLEND}, and Blender does not move it there"
    for frame, hidden in ((1, True), (FIRST - BLEND, False), (LAST, True)):
        table.hide_viewport = hidden
        table.keyframe_insert("hide_viewport", frame=frame)
    assert reason() == f"'Table' is disabled in viewports on frame {LAST}, and Blender does not move it there"
    table.animation_data_clear()
    table.hide_viewport = False
    table.hide_set(True)
    assert reason() == "" and keys(armature) == held, "it moves as it is"
    table.hide_set(False)

    top = [vertex for vertex in table.data.vertices if vertex.co.z > 0.0]
    for vertex in top:
        vertex.co.z -= 1.0  # of 10 mm
    table.data.update()
    assert reason() == "its place is 10.0 mm from the surface of 'Table' now"
    for vertex in top:
        vertex.co.z += 1.0
    table.data.update()

    follow = table.constraints.new("CHILD_OF")
    follow.target, follow.subtarget = armature, "thumb-phalanx-distal"
    assert reason().startswith("'Table' moves with 'thumb-phalanx-distal' of 'Rig', which corrections move: ")
    table.constraints.clear()
    was = [tuple(each) for each in (table.location, table.rotation_quaternion, table.scale)]
    parented(table, armature, "")
    assert reason() == "", "corrections move bones alone"
    table.parent = None
    table.location, table.rotation_quaternion, table.scale = was

    assert reason() == "" and keys(armature) == held


def test_a_contact_that_waits_hinders_no_other_of_its_digit(armature: bpy.types.Object) -> None:
    thing(armature, "box")
    hold()
    (one,), held = corrections_of(armature), keys(armature)
    assert isinstance(one.change, HeldOnObject)
    later = replace(one, id="c2", name="Later", change=replace(one.change, object="Gone"))
    shown().write((one, later))
    assert waiting_of(shown().base) == {"c2": "there is no object 'Gone' in the scene"} and keys(armature) == held
    shown().write((one, replace(later, change=one.change)))
    assert waiting_of(shown().base) == {"c1": "'Later' moves the same digit in its frames"}


def test_the_skin_is_read_once_and_for_contacts_with_objects_alone(
    armature: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, made = [], hand_to_correct.modelled_skin
    monkeypatch.setattr(hand_to_correct, "modelled_skin", lambda *of: read.append(of) or made(*of))
    thing(armature, "box")
    bent = PoseDifference({"wrist": np.array([1.0, 0.0, 0.0, 0.0])})
    armature.children[0].data.vertices[0].co.x += 2e-5  # so that it is none of another test's
    first, last = shown().clock.times(np.array([FIRST, LAST], float)).tolist()
    shown().write((Correction("c1", "Bent", "right", TimeRange(first, last, 0.0, 0.0), bent),))
    assert waiting_of(shown().base) == {} and len(read) == 0
    hold()
    shown().write(shown().corrections)
    assert len(read) == 1


def test_a_slider_solves_a_contact_with_an_object_no_more_and_a_change_of_the_object_does(
    armature: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved, solve = [], held_on_object.hold_on_surface
    table = thing(armature, "box", 3.7e-3)  # of no other test

    def counted(*of: object, **given: object) -> object:
        solved.append(of)
        return solve(*of, **given)

    monkeypatch.setattr(held_on_object, "hold_on_surface", counted)
    hold()
    (one,) = corrections_of(armature)
    for factor in (0.4, 0.0, 0.8):
        shown().write((replace(one, factor=factor),))
    assert len(solved) == 1
    changes = (lambda: setattr(table.location, "x", table.location.x + 1e-3), lambda: setattr(table.scale, "x", 0.05))
    for number, change in enumerate(changes, start=2):
        change()
        assert reason() == "" and len(solved) == number
    table.data.vertices[0].co.z -= 0.1
    table.data.update()
    assert reason() == "" and len(solved) == 4


def test_a_name_of_an_object_may_be_as_long_as_in_blender() -> None:
    point = ObjectPoint("thumb", np.zeros(3), np.array([0.0, 0.0, 1.0]))
    for length, allowed in ((255, True), (256, False)):
        change = HeldOnObject(length * "n", (point,))
        told = to_list((Correction("c1", "Held", "right", TimeRange(0.0, 1.0, 0.0, 0.0), change),))
        if allowed:
            (read,) = from_list(told, "here")
            assert isinstance(read.change, HeldOnObject) and read.change.object == change.object
        else:
            with pytest.raises(RecipeError, match=r"object is .*, expected a text of 1 to 255 characters"):
                from_list(told, "here")


def test_an_object_that_the_wrist_carries_is_touched_where_it_is_once_the_wrist_is_corrected(
    armature: bpy.types.Object,
) -> None:
    table = thing(armature, "box")
    parented(table, armature, "wrist")
    hold()
    (one,), half = corrections_of(armature), math.radians(5.0)
    bent = PoseDifference({"wrist": np.array([math.cos(half), math.sin(half), 0.0, 0.0])})
    shown().write((replace(one, id="c2", name="Bent", change=bent), one))
    assert waiting_of(shown().base) == {}
    places, depths = seen_on(armature, table)
    assert isinstance(one.change, HeldOnObject)
    away = np.linalg.norm(places - np.array(table.scale) * one.change.points[0].place, axis=2)
    assert away.min(axis=1).max() < 1e-3 and depths.max() < 1e-3
