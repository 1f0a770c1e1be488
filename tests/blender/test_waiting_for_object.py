"""Contacts with objects of the scene that change: which wait, with what reason, and which are held anew."""

import math
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.errors import RecipeError
from knuckle.pipeline.corrections.correction import Correction, HeldOnObject, ObjectPoint, PoseDifference, TimeRange
from knuckle.pipeline.corrections.correction_json import from_list, to_list
from knuckle.rig.keys.corrections import hand_to_correct, held_on_object
from knuckle.rig.keys.corrections.corrected_take import corrections_of, waiting_of
from knuckle.tests.blender.test_held_touch import FIRST, LAST
from knuckle.tests.blender.test_spliced_takes import keys
from knuckle.tests.blender.touching_objects import (
    BLEND,
    TIP,
    hold,
    parented,
    playing_hand,
    reason,
    seen_on,
    shown,
    thing,
)

pytestmark = pytest.mark.usefixtures("extension")


@pytest.fixture
def armature() -> bpy.types.Object:
    return playing_hand()


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
    assert reason() == "'Table' is scaled to zero along an axis in these frames, give it a size along all axes"
    table.scale.z = 0.01
    place = table.location.copy()
    table.keyframe_insert("location", frame=LAST)
    table.location.x = math.nan
    table.keyframe_insert("location", frame=LAST + 1)
    assert reason() == "'Table' has a transform in these frames that is not finite"
    table.animation_data_clear()
    table.location = place

    table.hide_viewport = True
    assert reason() == f"'Table' is disabled in viewports on frame {FIRST - BLEND}, so Blender does not move it there"
    for frame, hidden in ((1, True), (FIRST - BLEND, False), (LAST, True)):
        table.hide_viewport = hidden
        table.keyframe_insert("hide_viewport", frame=frame)
    assert reason() == f"'Table' is disabled in viewports on frame {LAST}, so Blender does not move it there"
    table.animation_data_clear()
    table.hide_viewport = False
    table.hide_set(True)
    assert reason() == "" and keys(armature) == held, "it moves as it is"
    table.hide_set(False)

    top = [vertex for vertex in table.data.vertices if vertex.co.z > 0.0]
    for vertex in top:
        vertex.co.z -= 1.0  # of 10 mm
    table.data.update()
    assert reason() == "its target is 10.0 mm from the surface of 'Table' now"
    for vertex in top:
        vertex.co.z += 1.0
    table.data.update()

    follow = table.constraints.new("CHILD_OF")
    follow.target, follow.subtarget = armature, "thumb-phalanx-distal"
    assert reason().startswith("'Table' moves with 'thumb-phalanx-distal' of 'Rig', which corrections move: ")
    table.constraints.clear()
    was = table.location.copy(), table.rotation_quaternion.copy(), table.scale.copy()
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
    read, made = list[object](), hand_to_correct.modelled_skin

    def counted(*of: Any) -> Any:
        read.append(of)
        return made(*of)

    monkeypatch.setattr(hand_to_correct, "modelled_skin", counted)
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
    solved, solve = list[object](), held_on_object.hold_on_surface
    table = thing(armature, "box", 3.7e-3)  # of no other test

    def counted(*of: Any, **given: Any) -> Any:
        solved.append(of)
        return solve(*of, **given)

    monkeypatch.setattr(held_on_object, "hold_on_surface", counted)
    hold()
    (one,) = corrections_of(armature)
    for factor in (0.4, 0.0, 0.8):
        shown().write((replace(one, factor=factor),))
    assert len(solved) == 1
    table.location.x += 1e-3
    assert reason() == "" and len(solved) == 2
    table.data.vertices[0].co.z -= 0.1
    table.data.update()
    assert reason() == "" and len(solved) == 3


def test_a_name_of_an_object_may_be_as_long_as_in_blender() -> None:
    point = ObjectPoint("thumb", np.zeros(3), np.array([0.0, 0.0, 1.0]))
    for length, allowed in ((255, True), (256, False)):
        change = HeldOnObject(length * "n", (point,))
        reported = to_list((Correction("c1", "Held", "right", TimeRange(0.0, 1.0, 0.0, 0.0), change),))
        if allowed:
            (read,) = from_list(reported, "here")
            assert isinstance(read.change, HeldOnObject) and read.change.object == change.object
        else:
            with pytest.raises(RecipeError, match=r"object is .*, expected a text of 1 to 255 characters"):
                from_list(reported, "here")


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
