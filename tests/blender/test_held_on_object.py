"""Contacts with objects of the scene: the evaluated skin stays on them and out of them, and other keys as they are."""

import re
from dataclasses import replace

import bpy
import numpy as np
import pytest

from knuckle.capture.markers import Markers
from knuckle.operators.hold_contact import objects_to_touch
from knuckle.pipeline.corrections.correction import HeldOnObject
from knuckle.pipeline.corrections.correction_json import to_list
from knuckle.rig.keys.corrections.corrected_take import corrections_of, waiting_of
from knuckle.rig.keys.corrections.waiting import shortened_of
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.rig.markers_object import add_markers
from knuckle.tests.blender.test_held_touch import FIRST, LAST, turns
from knuckle.tests.blender.test_spliced_takes import keys
from knuckle.tests.blender.touching_objects import BLEND, hold, playing_hand, seen_on, shown, still, thing

pytestmark = pytest.mark.usefixtures("extension")


@pytest.fixture
def armature() -> bpy.types.Object:
    return playing_hand()


@pytest.mark.parametrize("kind", ["plane", "ball", "moving"])
def test_the_evaluated_skin_stays_on_an_object_and_out_of_it(armature: bpy.types.Object, kind: str) -> None:
    table, before, was = thing(armature, kind), keys(armature), turns(armature)
    apart = np.abs(seen_on(armature, table)[0][:, :, 2]).min(axis=1)
    hold()
    (one,) = corrections_of(armature)
    assert isinstance(one.change, HeldOnObject) and waiting_of(shown().base) == {} == shortened_of(shown().base)
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


def test_what_is_not_chosen_or_has_no_surface_is_reported(armature: bpy.types.Object) -> None:
    thing(armature, "box")
    empty = bpy.data.objects.new("Empty", None)
    bpy.context.scene.collection.objects.link(empty)
    before = keys(armature)
    for given, reported in (
        ({"object": ""}, "choose the object that is touched"),
        ({"tips": set()}, "and the palm or the digits whose tips touch it"),
        ({"object": "Nothing"}, "there is no object 'Nothing' in the scene"),
        ({"object": "Empty"}, "'Empty' has no surface"),
        ({"object": "Rig"}, "'Rig' has no surface: it is of type ARMATURE, choose a mesh"),
        ({"object": armature.children[0].name}, "is the skin of 'Rig', choose another mesh"),
    ):
        with pytest.raises(RuntimeError, match=f"(?i){reported}"):
            hold(**given)
    assert len(bpy.data.scenes) == 1
    assert keys(armature) == before and corrections_of(armature) == ()


def test_the_meshes_to_choose_from_are_all_but_the_skin_of_the_hand(armature: bpy.types.Object) -> None:
    table = thing(armature, "box")
    other = bpy.data.objects.new("Other", bpy.data.armatures.new("Other"))
    bpy.context.scene.collection.objects.link(other)
    table.modifiers.new("Armature", "ARMATURE").object = other
    assert objects_to_touch(None, bpy.context, "") == ["Table"]
    for name in ("Low Table", "Mug"):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(name, table.data))
    markers = Markers(("a",), np.arange(2.0), np.zeros((2, 1, 3)), "Table Capture", 1.0, "m")
    add_markers(markers, "Table Capture", bpy.context.scene.collection, start=1.0, rate=24.0)
    assert objects_to_touch(None, bpy.context, "") == ["Low Table", "Mug", "Table"], "no markers"
    assert objects_to_touch(None, bpy.context, "ta") == ["Table", "Low Table"], "as a field completes it"
    with pytest.raises(RuntimeError, match="'Table Capture' shows the markers of a capture, choose another mesh"):
        hold(object="Table Capture")


def test_blends_that_meet_between_two_frames_hold_a_fingertip_there(armature: bpy.types.Object) -> None:
    thing(armature, "box")
    hold(first=FIRST, last=FIRST + 5, blend=BLEND)
    assert corrections_of(armature)[0].range.full_start == pytest.approx(corrections_of(armature)[0].range.full_end)
    assert waiting_of(shown().base) == {}


def test_a_range_that_is_too_short_for_the_way_says_how_many_frames_it_takes(armature: bpy.types.Object) -> None:
    thing(armature, "box", 0.012)
    middle = (FIRST + LAST) // 2
    hold(first=middle - 2, last=middle + 2, blend=1)
    (reported,) = shortened_of(shown().base).values()
    assert reported.startswith("its 5 frames are too few to move there and back: give it ")
    enough = [int(number) for number in re.findall(r"\d+", reported.partition("give it")[2])]
    made = shown().corrections
    assert shown().write(made) == (), "it was reported when it was made"
    changed = (replace(made[0], factor=0.9),)
    assert [reported in note for note in shown().write(changed)] == [True]
    shown().write(())
    hold(first=middle, last=middle, blend=0)
    (reported,) = shortened_of(shown().base).values()
    assert reported.startswith("its 1 frame is too few to move there and back: give it ")
    shown().write(())
    hold(first=enough[0], last=enough[1], blend=enough[2])
    assert shortened_of(shown().base) == {}, reported
