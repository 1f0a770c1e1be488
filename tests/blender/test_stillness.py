"""What else moves an object would move it in the hand that holds it, or out of it: each has its sentence, and
nothing is changed."""

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.tests.blender.linked_action import link_action
from knuckle.tests.blender.test_attaching import ball_before, move, place
from knuckle.tests.blender.test_posing_grasp import own

Floats = NDArray[np.float64]
Object = bpy.types.Object
pytestmark = pytest.mark.usefixtures("extension")


@pytest.fixture
def hand() -> Object:
    return own()


@pytest.fixture
def thing(hand: Object) -> Object:
    """A ball that is attached by keys: on frame 20 the hand still stands, on frame 30 it holds."""
    thing, chosen = ball_before(hand), bpy.context.scene.knuckle_grasp
    chosen.keyed, chosen.length = True, 10
    bpy.context.scene.frame_set(20)
    return thing


def empty(name: str) -> Object:
    obj = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def comes_and_goes(obj: Object) -> None:
    """Keys of a way that goes on while it is held."""
    stays, path = obj.location.copy(), "location"
    obj.keyframe_insert(path, frame=20)
    obj.location.x += 0.3
    obj.keyframe_insert(path, frame=40)
    obj.location = stays


def moved_by_keys(thing: Object, _: Object) -> None:
    comes_and_goes(thing)


def wobbles(thing: Object, _: Object) -> None:
    thing.keyframe_insert("location", frame=1)
    for curve in thing.animation_data.action.layers[0].strips[0].channelbags[0].fcurves:
        curve.modifiers.new("NOISE")


def driven(thing: Object, _: Object) -> None:
    thing.driver_add("location", 0).driver.expression = "0.1"


def in_a_strip(thing: Object, _: Object) -> None:
    comes_and_goes(thing)
    animation = thing.animation_data
    strip = animation.nla_tracks.new().strips.new("Way", 1, animation.action)
    strip.action_slot = animation.action_slot
    animation.action = None


def tweaked(thing: Object, hand: Object) -> None:
    in_a_strip(thing, hand)
    track = thing.animation_data.nla_tracks[0]
    track.select = track.strips[0].select = True
    thing.animation_data.nla_tracks.active = track
    thing.animation_data.use_tweak_mode = True


def constrained(thing: Object, _: Object) -> None:
    thing.constraints.new("COPY_LOCATION").target = empty("Other")


def elsewhere(thing: Object, _: Object) -> None:
    thing.location.x += 0.1
    thing.keyframe_insert("location", frame=1)
    thing.location.x -= 0.1


def on_what_moves(thing: Object, _: Object) -> None:
    thing.parent = empty("Tray")
    comes_and_goes(thing.parent)


def on_what_carries_the_hand(thing: Object, hand: Object) -> None:
    thing.parent = hand.parent = empty("Root")


def on_a_bone(thing: Object, hand: Object) -> None:
    thing.parent, thing.parent_type, thing.parent_bone = own("left"), "BONE", "wrist"
    bpy.context.view_layer.objects.active = hand


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (moved_by_keys, "'Ball' is moved by its own keys after frame 20"),
        (wobbles, "'Ball' is moved by its own keys"),
        (driven, "'Ball' is moved by its own drivers or NLA strips"),
        (in_a_strip, "'Ball' is moved by its own drivers or NLA strips"),
        (tweaked, "tweaked in the NLA"),
        (constrained, "also has the constraint 'Copy Location'"),
        (elsewhere, "has been moved since its last key"),
        (on_what_moves, "is moved by 'Tray', its parent"),
        (on_what_carries_the_hand, "is moved by 'Root', its parent"),
        (on_a_bone, "is moved by 'Left Hand', its parent"),
    ],
)
def test_it_is_not_attached(hand: Object, thing: Object, prepare: Callable[[Object, Object], None], why: str) -> None:
    prepare(thing, hand)
    bpy.context.view_layer.update()
    before, count = [bone.matrix_basis.copy() for bone in hand.pose.bones], len(thing.constraints)
    with pytest.raises(RuntimeError, match=why):
        bpy.ops.knuckle.grasp()
    assert [bone.matrix_basis for bone in hand.pose.bones] == before
    assert hand.animation_data is None and len(thing.constraints) == count


def test_with_a_linked_action_it_is_not_attached(hand: Object, thing: Object, tmp_path: Path) -> None:
    thing.keyframe_insert("location", frame=1)
    link_action(thing, tmp_path)
    with pytest.raises(RuntimeError, match=r"'Ball' plays the action .* linked from another file"):
        bpy.ops.knuckle.grasp()
    assert hand.animation_data is None and not thing.constraints


def test_what_stays_or_has_come_by_then_is_attached(hand: Object, thing: Object) -> None:
    """A constraint that is turned off, channels that nothing places, a way that has ended."""
    thing.constraints.new("COPY_LOCATION").mute = True
    stays = thing.location.copy()
    thing.location.z += 0.2
    thing.keyframe_insert("location", frame=1)
    thing.location = stays
    thing.keyframe_insert("location", frame=20)
    thing.color = (0, 0, 0, 1)
    thing.keyframe_insert("color", frame=1)
    thing.color = (1, 0, 0, 1)
    thing.keyframe_insert("color", frame=90)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    assert len(thing.constraints) == 2


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (constrained, "also has the constraint 'Copy Location'"),
        (driven, "its own drivers or NLA strips"),
        (moved_by_keys, "'Ball' is moved by its own keys after frame 32"),
    ],
)
def test_it_is_not_let_go_of_where_it_would_not_stay(
    hand: Object, thing: Object, prepare: Callable[[Object, Object], None], why: str
) -> None:
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    prepare(thing, hand)
    bpy.context.scene.frame_set(32)
    before = ways(thing, range(1, 50))
    bpy.context.scene.frame_set(32)
    with pytest.raises(RuntimeError, match=why):
        bpy.ops.knuckle.release_object()
    np.testing.assert_array_equal(ways(thing, range(1, 50)), before)


def ways(thing: Object, frames: range) -> Floats:
    """(N, 4, 4) where it is on frames."""
    places = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        places.append(place(thing))
    return np.array(places)


@pytest.mark.parametrize("handles", ["AUTO", "VECTOR", "AUTO_CLAMPED", "FREE"])
def test_what_is_let_go_of_leaves_its_own_way_as_it_was_before(hand: Object, thing: Object, handles: str) -> None:
    stays = thing.location.copy()
    for frame, off in ((1, 0.3), (14, 0.2), (20, 0.0)):
        thing.location.x = stays.x + off
        thing.keyframe_insert("location", frame=frame)
    for curve in thing.animation_data.action.layers[0].strips[0].channelbags[0].fcurves:
        for key in curve.keyframe_points:
            key.handle_left_type = key.handle_right_type = handles
        curve.update()
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    hand.keyframe_insert("location", frame=30)
    hand.location.x += 0.4
    hand.keyframe_insert("location", frame=50)
    before = ways(thing, range(1, 41))
    assert bpy.ops.knuckle.release_object() == {"FINISHED"}
    np.testing.assert_allclose(ways(thing, range(1, 41)), before, atol=1e-6)
    after = ways(thing, range(40, 60))
    np.testing.assert_allclose(after, np.broadcast_to(before[-1], after.shape), atol=1e-6)
    assert np.abs(before[-1] - before[0]).max() > 0.1


def test_a_thing_with_keys_stays_where_it_is_let_go_of_without_keys_of_the_hand(hand: Object, thing: Object) -> None:
    bpy.context.scene.knuckle_grasp.keyed = False
    thing.keyframe_insert("location", frame=1)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    assert len(thing.animation_data.action.layers[0].strips[0].channelbags[0].fcurves) == 3, "it always was there"
    move(hand, "wrist")
    there = place(thing)
    assert bpy.ops.knuckle.release_object() == {"FINISHED"}
    np.testing.assert_allclose(place(thing), there, atol=1e-6)
    after = ways(thing, range(20, 30))
    np.testing.assert_allclose(after, np.broadcast_to(there, after.shape), atol=1e-6)


def test_a_thing_that_came_by_keys_is_attached_from_this_frame_on(hand: Object, thing: Object) -> None:
    bpy.context.scene.knuckle_grasp.keyed = False
    thing.location.z += 0.2
    thing.keyframe_insert("location", frame=1)
    thing.location.z -= 0.2
    thing.keyframe_insert("location", frame=20)
    came = ways(thing, range(1, 20))
    bpy.context.scene.frame_set(20)
    assert bpy.ops.knuckle.grasp() == {"FINISHED"}
    hand.location.x += 0.3
    np.testing.assert_allclose(ways(thing, range(1, 20)), came, atol=1e-6)
    assert np.abs(ways(thing, range(20, 21))[0] - came[-1]).max() > 0.29
