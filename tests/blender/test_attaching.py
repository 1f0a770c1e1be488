"""What a hand holds goes along with it, from the frame on which it touches until it lets go; measured as evaluated."""

import bpy
import numpy as np
import pytest
from mathutils import Quaternion
from numpy.typing import NDArray

from knuckle.tests.blender import things
from knuckle.tests.blender.test_posing_follow import opened
from knuckle.tests.blender.test_posing_grasp import beside_hand, own

Floats = NDArray[np.float64]
Object = bpy.types.Object
pytestmark = pytest.mark.usefixtures("extension")


def ball_before(armature: Object) -> Object:
    """A ball before a hand, that is to be attached."""
    thing = things.ball()
    beside_hand(thing, armature)
    bpy.context.view_layer.objects.active = armature
    chosen = bpy.context.scene.knuckle_grasp
    chosen.target, chosen.attached = thing, True
    return thing


@pytest.fixture
def hand() -> Object:
    return own()


def place(thing: Object) -> Floats:
    """(4, 4) in the world, as evaluated."""
    bpy.context.view_layer.update()
    return np.array(thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world)


def in_hand(armature: Object, thing: Object, bone: str) -> Floats:
    """(4, 4) in the frame of a bone."""
    bpy.context.view_layer.update()
    seen = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.linalg.inv(np.array(seen.matrix_world @ seen.pose.bones[bone].matrix)) @ place(thing)


def move(armature: Object, bone: str) -> None:
    posed = armature.pose.bones[bone]
    posed.rotation_mode = "QUATERNION"
    posed.rotation_quaternion = Quaternion((0.2, 1.0, 0.4), 0.8) @ posed.rotation_quaternion
    armature.location.x += 0.3


def test_an_attached_object_stays_where_it_is_and_then_goes_along(hand: Object) -> None:
    thing = ball_before(hand)
    thing.rotation_euler, thing.scale = (0.3, 0.5, 0.1), (1.0, 0.9, 1.1)
    hand.location, hand.scale = (0.01, 0.0, 0.0), (1.1, 1.1, 1.1)
    before = place(thing)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    np.testing.assert_allclose(place(thing), before, atol=1e-6)
    assert thing.animation_data is None, "without keys for the hand there are none for the object"
    held = in_hand(hand, thing, "wrist")
    move(hand, "wrist")
    np.testing.assert_allclose(in_hand(hand, thing, "wrist"), held, atol=1e-5)
    assert np.abs(place(thing) - before).max() > 0.1


def test_without_the_option_nothing_is_attached(hand: Object) -> None:
    thing = ball_before(hand)
    bpy.context.scene.knuckle_grasp.property_unset("attached")
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    assert not thing.constraints


@pytest.mark.parametrize("rig", ["MakeHuman", "Rigify generated, FK"])
def test_it_goes_along_with_the_bone_that_carries_the_fingers(rig: str) -> None:
    armature = opened(rig)
    bpy.context.view_layer.update()
    thing = ball_before(armature)
    before = place(thing)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    np.testing.assert_allclose(place(thing), before, atol=1e-6)
    finger, control = ("finger3-1.R", "lowerarm01.R") if rig == "MakeHuman" else ("DEF-f_middle.01.R", "forearm_fk.R")
    held = in_hand(armature, thing, finger)
    move(armature, control)
    np.testing.assert_allclose(in_hand(armature, thing, finger), held, atol=1e-4)


def test_a_keyed_approach_takes_the_object_along_from_the_frame_on_which_it_is_held(hand: Object) -> None:
    thing = ball_before(hand)
    chosen = bpy.context.scene.knuckle_grasp
    chosen.keyed, chosen.length = True, 20
    bpy.context.scene.frame_set(5)
    before = place(thing)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    for frame in (1, 5, 15, 24, 25):
        bpy.context.scene.frame_set(frame)
        np.testing.assert_allclose(place(thing), before, atol=1e-6, err_msg=f"frame {frame}")
    held = in_hand(hand, thing, "wrist")
    hand.pose.bones["wrist"].location.x += 0.2
    hand.pose.bones["wrist"].keyframe_insert("location", frame=40)
    for frame in (33, 40, 50):
        bpy.context.scene.frame_set(frame)
        np.testing.assert_allclose(in_hand(hand, thing, "wrist"), held, atol=1e-5, err_msg=f"frame {frame}")
    bpy.context.scene.frame_set(24)
    np.testing.assert_allclose(place(thing), before, atol=1e-6)


def test_what_is_let_go_of_stays_where_it_was(hand: Object) -> None:
    thing = ball_before(hand)
    bpy.ops.knuckle.grasp()
    move(hand, "wrist")
    there = place(thing)
    assert bpy.ops.knuckle.release_object() == {"FINISHED"}
    assert not thing.constraints
    np.testing.assert_allclose(place(thing), there, atol=1e-6)
    move(hand, "wrist")
    np.testing.assert_allclose(place(thing), there, atol=1e-6)
    with pytest.raises(RuntimeError, match="Nothing is attached to the right hand"):
        bpy.ops.knuckle.release_object()


def test_what_was_attached_by_keys_is_let_go_of_from_a_frame_on(hand: Object) -> None:
    thing = ball_before(hand)
    chosen = bpy.context.scene.knuckle_grasp
    chosen.keyed, chosen.length = True, 10
    bpy.context.scene.frame_set(1)
    bpy.ops.knuckle.grasp()
    bpy.context.scene.frame_set(11)
    wrist = hand.pose.bones["wrist"]
    wrist.location.x += 0.3
    wrist.keyframe_insert("location", frame=31)
    places = {}
    for frame in (5, 11, 19, 20):
        bpy.context.scene.frame_set(frame)
        places[frame] = place(thing)
    assert bpy.ops.knuckle.release_object() == {"FINISHED"}
    places |= dict.fromkeys((25, 31, 40), places[20])
    for frame, there in places.items():
        bpy.context.scene.frame_set(frame)
        np.testing.assert_allclose(place(thing), there, atol=1e-5, err_msg=f"frame {frame}")
    assert np.abs(places[20] - places[11]).max() > 0.1


def test_a_thing_is_handed_over(hand: Object) -> None:
    thing, other = ball_before(hand), own("left")
    chosen = bpy.context.scene.knuckle_grasp
    chosen.keyed, chosen.length = True, 10
    bpy.context.scene.frame_set(1)
    bpy.ops.knuckle.grasp()
    bpy.context.scene.frame_set(15)
    bpy.ops.knuckle.release_object()
    there = place(thing)
    bpy.context.view_layer.objects.active = other
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    bpy.context.scene.frame_set(25)
    np.testing.assert_allclose(place(thing), there, atol=1e-5)
    held = in_hand(other, thing, "wrist")
    move(hand, "wrist")
    np.testing.assert_allclose(place(thing), there, atol=1e-5)
    other.location.x += 0.3
    np.testing.assert_allclose(in_hand(other, thing, "wrist"), held, atol=1e-5)


def test_auto_keying_keys_when_it_is_held(hand: Object) -> None:
    thing = ball_before(hand)
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.scene.frame_set(8)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    held = thing.constraints[0]
    for frame, influence in ((1, 0.0), (7, 0.0), (8, 1.0), (30, 1.0)):
        bpy.context.scene.frame_set(frame)
        assert held.influence == influence


class TestWhatCannotBeAttached:
    """Each is reported in a sentence, and hand and object stay as they were."""

    def refused(self, hand: Object, thing: Object, why: str) -> None:
        before, count = np.array([bone.matrix_basis for bone in hand.pose.bones]), len(thing.constraints)
        with pytest.raises(RuntimeError, match=why):
            bpy.ops.knuckle.grasp()
        np.testing.assert_array_equal(np.array([bone.matrix_basis for bone in hand.pose.bones]), before)
        assert len(thing.constraints) == count and thing.animation_data is None

    def test_an_object_on_which_the_armature_hangs(self, hand: Object) -> None:
        thing, between = ball_before(hand), bpy.data.objects.new("Between", None)
        bpy.context.scene.collection.objects.link(between)
        between.parent, hand.parent = thing, between
        bpy.context.view_layer.update()
        self.refused(hand, thing, "moves with 'Ball'")

    def test_an_object_to_which_a_bone_is_constrained(self, hand: Object) -> None:
        thing = ball_before(hand)
        held = hand.pose.bones["thumb-metacarpal"].constraints.new("DAMPED_TRACK")
        held.target = thing
        self.refused(hand, thing, "moves with 'Ball'")

    def test_an_object_that_goes_along_already(self, hand: Object) -> None:
        thing = ball_before(hand)
        bpy.ops.knuckle.grasp()
        self.refused(hand, thing, "already attached to a hand")
        bpy.context.scene.knuckle_grasp.attached = False
        self.refused(hand, thing, "is already attached to the hand")

    def test_a_linked_object(self, hand: Object, tmp_path_factory: pytest.TempPathFactory) -> None:
        library = str(tmp_path_factory.mktemp("linked") / "library.blend")
        thing = ball_before(hand)
        bpy.data.libraries.write(library, {thing})
        bpy.data.objects.remove(thing)
        with bpy.data.libraries.load(library, link=True) as (_, into):
            into.objects = ["Ball"]
        linked: Object = into.objects[0]
        bpy.context.scene.collection.objects.link(linked)
        bpy.context.scene.knuckle_grasp.target = linked
        self.refused(hand, linked, "linked from another file")
