"""Armatures that another file holds: keyed as library overrides, where they stood, and given back by one undo."""

import re
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.cli.main import main
from knuckle.errors import RigError
from knuckle.hand.joints import Side
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.linked import check_target, editable
from knuckle.rig.mapping import Mapping, forget_mapping, save_mapping
from knuckle.tests.blender.making import find_hand, rig
from knuckle.tests.blender.rigs import PLACES
from knuckle.tests.blender.snapshot import differences, snapshot
from knuckle.tests.blender.test_contract import TAP, chosen_for, solved_onto, untouched

Object = bpy.types.Object
LINKED = ("object", "collection", "shown by an empty")


def _character(file: Path, side: Side) -> None:
    """Saves a file with a character: an armature that plays an action of that file, and what hangs on it."""
    armature = rig(side, arm=True)
    collection = bpy.data.collections.new("Character")
    collection.instance_offset = (0.0, 0.1, 0.0)
    bpy.context.scene.collection.children.link(collection)
    sleeve = bpy.data.objects.new("Sleeve", bpy.data.meshes.new("Sleeve"))
    sleeve.parent = armature
    for obj in (armature, sleeve):
        collection.objects.link(obj)
    bpy.context.scene.collection.objects.unlink(armature)
    armature.location = (1.0, 0.0, 0.0)
    armature.keyframe_insert("location", frame=1)
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    bpy.ops.wm.read_factory_settings(use_empty=True)


def linked(folder: Path, how: str, side: Side = "right") -> Object:
    """The armature of a character in another file, linked as `how` says."""
    _character(folder / "character.blend", side)
    place = bpy.data.collections.new("Set")
    bpy.context.scene.collection.children.link(place)
    with bpy.data.libraries.load(str(folder / "character.blend"), link=True) as (_, wanted):
        wanted.objects, wanted.collections = (["Rig"], []) if how == "object" else ([], ["Character"])
    if how == "object":
        place.objects.link(bpy.data.objects["Rig"])
    elif how == "collection":
        place.children.link(bpy.data.collections["Character"])
    else:
        empty = bpy.data.objects.new("Empty", None)
        empty.instance_type, empty.instance_collection = "COLLECTION", bpy.data.collections["Character"]
        empty.matrix_world = PLACES["a hundredth, turned"]
        place.objects.link(empty)
        prop = bpy.data.objects.new("Another empty", None)
        prop.instance_type, prop.instance_collection = "COLLECTION", bpy.data.collections.new("Prop")
        prop.instance_collection.objects.link(bpy.data.objects.new("Prop", None))
        place.objects.link(prop)
    bpy.context.view_layer.update()
    return bpy.data.objects["Rig"]


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize("how", LINKED)
def test_a_linked_armature_is_keyed_as_a_library_override_where_it_stood(tmp_path: Path, how: str) -> None:
    armature = linked(tmp_path, how)
    chosen = chosen_for(armature)
    scene = bpy.context.scene
    shown = bpy.context.evaluated_depsgraph_get().object_instances
    stood = next(np.array(one.matrix_world) for one in shown if one.object.original == armature)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.ed.undo_push(message="Before")
    before = snapshot()
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    own = chosen.armature
    assert own.override_library.reference == bpy.data.objects["Rig", character_path()]
    assert not own.override_library.is_system_override, "the animator could not pose it"
    assert [obj.name for obj in scene.objects if obj.library] == []
    assert how == "object" or "Sleeve" in scene.objects, "what hangs on the armature comes along"
    changed = differences(before, snapshot())
    assert not [place for place in changed if re.match(r"\w+/\w+ of character\.blend\.", place)]
    bpy.context.view_layer.update()
    assert np.abs(np.array(own.matrix_world) - stood).max() < 1e-6
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "keyed.blend"), copy=True)
    bpy.ops.ed.undo_push(message="Solve")
    bpy.ops.ed.undo()
    assert differences(before, snapshot()) == {}, "one undo gives all back"
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "keyed.blend"))
    again = bpy.context.scene.objects["Rig"]
    assert again.animation_data.action.name == "leap_finger_tap"
    assert report_of(again) is not None
    assert np.abs(np.array(again.matrix_world) - stood).max() < 1e-6


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize("how", LINKED)
def test_a_solve_onto_a_linked_armature_that_fails_leaves_it_linked(tmp_path: Path, how: str) -> None:
    chosen = chosen_for(linked(tmp_path, how, "left"))
    before = snapshot()
    chosen.hand = "right"
    with pytest.raises(RuntimeError, match="no right hand, only a left one"):
        bpy.ops.knuckle.solve()
    assert differences(before, snapshot()) == {}
    assert chosen.armature.library


@pytest.mark.parametrize("how", LINKED)
def test_what_was_active_and_selected_is_so_again_where_keying_a_linked_armature_fails(
    tmp_path: Path, how: str
) -> None:
    armature = linked(tmp_path, how)
    scene, layer = bpy.context.scene, bpy.context.view_layer
    other = bpy.data.objects.new("Other", None)
    scene.collection.objects.link(other)
    for obj in scene.objects:
        obj.select_set(obj != other)
    layer.objects.active = bpy.data.objects["Empty"] if how == "shown by an empty" else armature
    active, selected = layer.objects.active, set(layer.objects.selected)
    assert active in selected
    with pytest.raises(RigError, match="for this test"), editable(armature, scene, layer):
        raise RigError("for this test")
    assert layer.objects.active == active
    assert set(layer.objects.selected) == selected


@pytest.mark.parametrize("how", LINKED)
def test_the_shell_keys_a_rig_that_its_file_links_from_another(tmp_path: Path, how: str) -> None:
    linked(tmp_path, how)
    shot, out = tmp_path / "shot.blend", tmp_path / "out" / "take.blend"
    out.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    bpy.ops.file.make_paths_relative()
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    assert main(["solve", TAP, "--out", str(out), "--rig", str(shot)]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    own = bpy.context.scene.objects["Rig"]
    assert own.override_library and own.animation_data.action.name == "leap_finger_tap"
    assert not own.override_library.reference.library.is_missing


def test_an_override_and_an_object_with_linked_data_are_keyed_themselves(tmp_path: Path) -> None:
    armature = linked(tmp_path, "object")
    own = armature.override_create(remap_local_usages=True)
    played = own.animation_data.action
    assert played.library, "it plays an action of the library"
    before, after = solved_onto(own)
    tracks = f"objects/{own.name}.animation_data.nla_tracks"
    assert {place for place in untouched(own, before, after) if not place.startswith(tracks)} == set()
    assert [strip.action for track in own.animation_data.nla_tracks for strip in track.strips] == [played]
    local = bpy.data.objects.new("Local", bpy.data.armatures["Rig", character_path()])
    bpy.context.scene.collection.objects.link(local)
    local.data.pose_position = "REST"
    bpy.context.view_layer.update()
    before, after = solved_onto(local)
    assert {place for place in untouched(local, before, after) if not place.startswith("actions/")} == set()
    assert local.animation_data.action.name == "clap.001"


def test_a_linked_armature_that_cannot_be_driven_is_reported_in_a_sentence(tmp_path: Path) -> None:
    armature = linked(tmp_path, "shown by an empty")
    scene, layer = bpy.context.scene, bpy.context.view_layer
    second = bpy.data.objects["Empty"].copy()
    scene.collection.objects.link(second)
    with pytest.raises(RigError, match=r"has 2 instances, 'Empty' and 'Empty\.001': make the instance to drive"):
        check_target(armature, scene)
    layer.objects.active = second
    check_target(armature, scene)
    second.hide_viewport = True
    with pytest.raises(RigError, match=r"'Empty\.001' is excluded from this view layer or disabled"):
        check_target(armature, scene)
    for empty in (bpy.data.objects["Empty"], second):
        empty.instance_type = "NONE"
    with pytest.raises(RigError, match="is not in this scene"):
        check_target(armature, scene)


def test_an_override_keeps_a_mapping_that_its_library_has_no_place_for(tmp_path: Path) -> None:
    with editable(linked(tmp_path, "collection"), bpy.context.scene, bpy.context.view_layer) as own:
        bones = dict(find_hand(own, "right").bones)
    del bones["thumb-tip"]
    save_mapping(own, Mapping("right", bones))
    for forgotten in (False, True):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
        again = bpy.context.scene.objects["Rig"]
        assert find_hand(again, "right").corrected != forgotten
        assert ("thumb-tip" in find_hand(again, "right").bones) == forgotten
        forget_mapping(again, "right")
        assert not find_hand(again, "right").corrected


def test_each_override_finds_its_own_mapping_whichever_scenes_others_are_in(tmp_path: Path) -> None:
    armature = linked(tmp_path, "object")
    first, second = bpy.context.scene, bpy.data.scenes.new("Second")
    overrides = {}
    for name, scenes in {"Both": (first, second), "Second alone": (second,), "First alone": (first,)}.items():
        own = armature.override_create(remap_local_usages=False)
        own.name, own.override_library.is_system_override = name, False
        for scene in scenes:
            scene.collection.objects.link(own)
        overrides[name] = own
    bones = find_hand(armature, "right").bones
    for turn, own in enumerate(reversed(overrides.values())):
        save_mapping(own, Mapping("right", bones, curl_angles={"thumb": 10.0 + turn}))
    turns = {name: find_hand(own, "right").curl_angles for name, own in overrides.items()}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    again = {obj.name: find_hand(obj, "right").curl_angles for obj in bpy.data.objects if obj.override_library}
    assert again == turns
    assert len({str(turn) for turn in turns.values()}) == 3


def character_path() -> str:
    """The path under which a scene knows the character's file."""
    return next(library.filepath for library in bpy.data.libraries if library.name == "character.blend")
