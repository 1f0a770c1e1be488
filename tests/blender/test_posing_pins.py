"""Pins of fingertips as operators keep them: what they are to goes, is hidden or comes from another file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.operators.posing_pins import holds, pin_of, pins_of, pins_on
from knuckle.panels.posing_tool import where
from knuckle.tests.blender.making import Floats
from knuckle.tests.blender.test_held import default
from knuckle.tests.blender.test_posing_drag import TIPS, apart, bend, box, drag, place

pytestmark = pytest.mark.usefixtures("extension")

operators: Any = bpy.ops
Object = bpy.types.Object
INDEX = TIPS["index-finger"]


@pytest.fixture
def armature(extension: None) -> Object:
    made = default()
    bpy.context.view_layer.objects.active = made
    bpy.ops.object.mode_set(mode="POSE")
    bend(made, "index-finger-phalanx-proximal", "index-finger-phalanx-intermediate", "thumb-phalanx-distal")
    return made


def pin(digit: str, **how: Any) -> None:
    assert operators.knuckle.pin_fingertip(side="right", digit=digit, **how) == {"FINISHED"}


def by_x(obj: Object) -> None:
    """As a person deletes it in the viewport: what points to it keeps it in the file."""
    active: Any = bpy.context.view_layer.objects.active
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.select_all(action="DESELECT")
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.delete()
    bpy.context.view_layer.objects.active = active
    active.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")


def by_script(obj: Object) -> None:
    bpy.data.objects.remove(obj)


@pytest.mark.parametrize("delete", [by_x, by_script])
def test_a_pin_to_an_object_that_is_gone_holds_nothing(armature: Object, delete: Callable[[Object], None]) -> None:
    cube = box(place(armature, INDEX))
    pin("index-finger", to="OBJECT")
    delete(cube)
    assert pins_of(armature, "right") == []
    assert where(pin_of(armature, "right", "index-finger")) == "on nothing any more"
    assert drag("wrist", place(armature, "wrist") + [0.0, 0.01, 0.0]) == {"FINISHED"}
    drag(INDEX, place(armature, INDEX) + [0.0, 0.0, 0.005])
    assert not holds(pin_of(armature, "right", "index-finger"))


def test_a_pin_holds_again_when_the_deletion_of_its_object_is_undone(armature: Object) -> None:
    name = armature.name
    box(place(armature, INDEX))
    pin("index-finger", to="OBJECT")
    before = pins_of(armature, "right")[0].place
    bpy.ops.ed.undo_push(message="Pinned")
    by_x(pin_of(armature, "right", "index-finger").target)
    assert pins_of(armature, "right") == []
    bpy.ops.ed.undo_push(message="Deleted")
    bpy.ops.ed.undo()
    again = bpy.data.objects[name]
    assert where(pin_of(again, "right", "index-finger")) == "on Cube"
    np.testing.assert_allclose(pins_of(again, "right")[0].place, before, atol=1e-6)


def test_a_fingertip_stays_where_it_is_pinned_while_the_rounded_object_is_disabled(armature: Object) -> None:
    tip = place(armature, INDEX)
    cube: Any = box(tip - [0.0, 0.0, 0.0102])
    cube.modifiers.new("Round", "SUBSURF").levels = 2
    bpy.context.view_layer.update()
    pin("index-finger", to="OBJECT")
    cube.hide_viewport = True
    bpy.context.view_layer.update()
    np.testing.assert_allclose(pins_of(armature, "right")[0].place, tip, atol=1e-6)
    drag("wrist", place(armature, "wrist") + [0.0, 0.005, 0.005])
    assert apart(armature, INDEX, tip) < 0.5


def overridden(armature: Object, folder: Path) -> Object:
    """The armature in another file that links it, as a library override in Pose Mode."""
    name = armature.name
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "hand.blend"))
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(str(folder / "hand.blend"), link=True) as (_, wanted):
        wanted.objects = [name]
    linked = bpy.data.objects[name]
    bpy.context.scene.collection.objects.link(linked)
    own: Any = linked.override_create(remap_local_usages=True)
    own.override_library.is_system_override = False
    bpy.context.view_layer.objects.active = own
    bpy.ops.object.mode_set(mode="POSE")
    bpy.context.view_layer.update()
    result: Object = own
    return result


def reopened(folder: Path) -> Object:
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(folder / "shot.blend"))
    bpy.ops.object.mode_set(mode="POSE")
    bpy.context.view_layer.update()
    armature: Object = bpy.context.view_layer.objects.active
    return armature


def pinned(armature: Object) -> dict[str, Floats]:
    return {each.digit: each.place for each in pins_of(armature, "right")}


def test_pins_of_a_library_override_are_let_go_and_set_anew(armature: Object, tmp_path: Path) -> None:
    for digit in ("thumb", "index-finger"):
        pin(digit, to="WORLD")
    own = overridden(armature, tmp_path)
    assert set(pinned(own)) == {"thumb", "index-finger"}
    pin("ring-finger", to="WORLD")
    assert operators.knuckle.unpin_fingertip(side="right", digit="index-finger") == {"FINISHED"}
    assert set(pinned(own)) == {"thumb", "ring-finger"}
    own = reopened(tmp_path)
    assert set(pinned(own)) == {"thumb", "ring-finger"}
    assert operators.knuckle.unpin_all() == {"FINISHED"}
    assert pins_on(own) == []
    assert not operators.knuckle.unpin_all.poll()
    own = reopened(tmp_path)
    assert pins_on(own) == []
    drag(INDEX, place(own, INDEX) + [0.0, -0.01, -0.01])
    pin("index-finger", to="WORLD")
    tip = place(own, INDEX)
    own = reopened(tmp_path)
    assert set(pinned(own)) == {"index-finger"}
    np.testing.assert_allclose(pinned(own)["index-finger"], tip, atol=1e-6)
