"""A person's own mapping: kept on the armature, before what is found, through files and library overrides."""

from pathlib import Path

import bpy
import pytest

from knuckle.errors import RigError
from knuckle.hand.joints import SIDES
from knuckle.rig.detect import detected_hands, find_hand, find_hands
from knuckle.rig.mapping import PROPERTIES, Mapping, forget_mapping, picked, save_mapping, saved_mapping
from knuckle.tests.blender.making import rig


def own(armature: bpy.types.Object) -> Mapping:
    """What is found, with the bones of two digits' ends swapped and a tip without a bone."""
    found = detected_hands(armature)[0]
    mapping = Mapping(found.side, found.bones)
    mapping = picked(mapping, "ring-finger-tip", None)
    return picked(mapping, "pinky-finger-tip", found.bones["ring-finger-tip"])


def test_a_mapping_that_is_kept_comes_before_what_is_found() -> None:
    armature = rig("left")
    mapping = own(armature)
    save_mapping(armature, mapping)
    (found,) = find_hands(armature)
    assert found.corrected
    assert found.bones == mapping.bones != detected_hands(armature)[0].bones
    assert set(found.confidence.values()) == {1.0}
    forget_mapping(armature, "left")
    assert not find_hand(armature, "left").corrected


def test_a_side_that_is_told_is_believed() -> None:
    armature = rig("left")
    mapping = Mapping("right", detected_hands(armature)[0].bones)
    save_mapping(armature, mapping)
    assert find_hand(armature, "right").bones == mapping.bones


def test_a_mapping_is_saved_and_loaded_with_the_file(tmp_path: Path) -> None:
    armature = rig("right")
    mapping = own(armature)
    save_mapping(armature, mapping)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    assert saved_mapping(bpy.data.objects["Rig"]) == {"right": mapping}


def test_a_library_override_keeps_its_own_mapping(tmp_path: Path) -> None:
    bpy.context.scene.collection.objects.unlink(armature := rig("left"))
    shared = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(shared)
    shared.objects.link(armature)
    save_mapping(armature, Mapping("left", detected_hands(armature)[0].bones))
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    over = wanted.objects[0].override_create(remap_local_usages=True)
    bpy.context.scene.collection.objects.link(over)
    assert not find_hands(over)[0].bones.keys() ^ saved_mapping(over)["left"].bones.keys()
    mapping = own(over)
    save_mapping(over, mapping)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    again = next(obj for obj in bpy.data.objects if obj.override_library)
    assert saved_mapping(again) == {"left": mapping}


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ("{", "own mapping of the left hand: not JSON, forget it"),
        ("7", "its version is 'int', expected 1"),
        (7, "own mapping of the left hand: int of another size"),
        ('{"version": 1, "side": "left", "bones": {"wrist": "wrist", "thumb-tip": "gone"}}', "has no bone 'gone' for"),
    ],
)
def test_a_damaged_mapping_is_told_in_one_sentence(kept: object, told: str) -> None:
    armature = rig("left")
    armature[PROPERTIES["left"]] = kept
    with pytest.raises(RigError, match=told):
        find_hands(armature)
    forget_mapping(armature, "left")
    assert find_hands(armature)


def test_a_mapping_with_a_bone_that_is_not_there_is_not_kept() -> None:
    armature = rig("left")
    with pytest.raises(RigError, match="armature 'Rig' has no bone 'Hand' for wrist, pick another bone"):
        save_mapping(armature, Mapping("left", {"wrist": "Hand", "thumb-tip": "thumb-tip"}))
    assert saved_mapping(armature) == {}
    assert all(armature.get(PROPERTIES[side]) is None for side in SIDES)
