"""A person's own mapping: kept on the armature, before what is found, through files and library overrides."""

from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.errors import RigError
from knuckle.hand import proportions
from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX, JOINTS, SIDES, Side
from knuckle.rig.armature_hands import detected_hands, find_hands
from knuckle.rig.bound_hand import bound_hand
from knuckle.rig.mapping import (
    PROPERTIES,
    Mapping,
    forget_mapping,
    read_preset,
    save_mapping,
    saved_mappings,
    with_bone,
)
from knuckle.tests.blender.making import find_hand, rig


def own(armature: bpy.types.Object) -> Mapping:
    """What is found, with the bones of two digits' ends swapped and a tip without a bone."""
    found = detected_hands(armature)[0]
    mapping = Mapping(found.side, found.bones)
    mapping = with_bone(mapping, "ring-finger-tip", None)
    return with_bone(mapping, "pinky-finger-tip", found.bones["ring-finger-tip"])


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


def test_a_side_that_is_reported_is_believed() -> None:
    armature = rig("left")
    mapping = Mapping("right", detected_hands(armature)[0].bones)
    save_mapping(armature, mapping)
    (found,) = find_hands(armature)
    assert (found.side, found.bones) == ("right", mapping.bones), "its bones make one hand and not two"


def test_a_mapping_is_saved_and_loaded_with_the_file(tmp_path: Path) -> None:
    armature = rig("right")
    mapping = own(armature)
    save_mapping(armature, mapping)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rig.blend"))
    assert saved_mappings(bpy.data.objects["Rig"]) == {"right": mapping}


def overridden(folder: Path) -> bpy.types.Object:
    """The library override of an armature that keeps a mapping, in a file of its own."""
    bpy.context.scene.collection.objects.unlink(armature := rig("left"))
    shared = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(shared)
    shared.objects.link(armature)
    save_mapping(armature, Mapping("left", detected_hands(armature)[0].bones))
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "library.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(folder / "library.blend"), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    over: bpy.types.Object = wanted.objects[0].override_create(remap_local_usages=True)
    bpy.context.scene.collection.objects.link(over)
    return over


def loaded_again(folder: Path) -> bpy.types.Object:
    """The override after its file was saved and loaded."""
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(folder / "shot.blend"))
    return next(obj for obj in bpy.data.objects if obj.override_library)


def test_a_library_override_keeps_its_own_mapping(tmp_path: Path) -> None:
    over = overridden(tmp_path)
    assert not find_hands(over)[0].bones.keys() ^ saved_mappings(over)["left"].bones.keys()
    mapping = own(over)
    save_mapping(over, mapping)
    assert saved_mappings(loaded_again(tmp_path)) == {"left": mapping}


def test_an_override_forgets_the_mapping_of_its_library_for_good(tmp_path: Path) -> None:
    over = overridden(tmp_path)
    assert saved_mappings(over)
    forget_mapping(over, "left")
    assert saved_mappings(over) == {}
    again = loaded_again(tmp_path)
    assert saved_mappings(again) == {}
    assert not find_hand(again, "left").corrected
    forget_mapping(again, "left")
    save_mapping(again, own(again))
    assert saved_mappings(loaded_again(tmp_path))["left"].bones


@pytest.mark.parametrize(
    ("kept", "reported"),
    [
        ("{", "own mapping of the left hand: not JSON, forget it"),
        ("7", "it is a number, expected an object"),
        (7, "own mapping of the left hand: int of another size"),
        ('{"version": 1, "side": "left", "bones": {"wrist": "wrist", "thumb-tip": "gone"}}', "has no bone 'gone' for"),
        ('{"version": 1, "side": "right", "bones": {"wrist": "wrist"}}', "the left hand: its side is right, forget it"),
        ('{"version": true, "side": "left", "bones": {"wrist": "wrist"}}', "its version is True, expected 1 or 2"),
        (r'{"version": 2, "side": "left", "bones": {"wrist": "\ud800"}}', r"the bone of wrist is '\\ud800', expected"),
        (
            r'{"version": 2, "side": "left", "bones": {"wrist": "w\u0000"}}',
            r"the bone of wrist is 'w\\x00', expected",
        ),
        (r'{"version": 2, "side": "left", "bones": {"\ud800": "wrist"}}', r"there is no joint '\\ud800', expected"),
    ],
)
def test_a_damaged_mapping_is_reported_in_one_sentence(kept: object, reported: str) -> None:
    armature = rig("left")
    armature[PROPERTIES["left"]] = kept
    with pytest.raises(RigError, match=reported) as raised:
        find_hands(armature)
    assert str(raised.value).encode("utf-8"), "what Blender cannot show is spelled out"
    forget_mapping(armature, "left")
    assert find_hands(armature)


def test_a_preset_that_is_no_mapping_is_not_to_be_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text("{")
    with pytest.raises(RigError, match=r"own\.json: not JSON, expected a mapping saved by Knuckle$"):
        read_preset(path)


def test_a_mapping_with_a_bone_that_is_not_there_is_not_kept() -> None:
    armature = rig("left")
    with pytest.raises(RigError, match="armature 'Rig' has no bone 'Hand' for wrist, pick another bone"):
        save_mapping(armature, Mapping("left", {"wrist": "Hand", "thumb-tip": "thumb-tip"}))
    assert saved_mappings(armature) == {}
    assert all(armature.get(PROPERTIES[side]) is None for side in SIDES)


@pytest.mark.parametrize("side", SIDES)
def test_a_digit_that_is_turned_curls_in_another_plane_and_no_other_digit_does(side: Side) -> None:
    armature = rig(side)
    found = find_hand(armature, side)
    hand = proportions.build(proportions.adult(side))
    before = bound_hand(armature, found, hand).rest
    save_mapping(armature, Mapping(side, found.bones, curl_angles={"thumb": 90.0, "ring-finger": 180.0}))
    after = bound_hand(armature, find_hand(armature, side), hand).rest
    turned = {*CHAIN_JOINTS["thumb"], *CHAIN_JOINTS["ring-finger"]}
    same = [JOINT_INDEX[joint] for joint in JOINTS if joint not in turned]
    np.testing.assert_array_equal(after[same], before[same])
    ring, thumb = ([JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]] for digit in ("ring-finger", "thumb"))
    np.testing.assert_allclose(after[ring, :3, 0], -before[ring, :3, 0], atol=1e-9, err_msg="flexed the other way")
    np.testing.assert_allclose(after[[*ring, *thumb], :3, 1], before[[*ring, *thumb], :3, 1], atol=1e-9)
    # HandModel's twist is about +Y on a right hand and -Y on a left one: Y x Z = X.
    sense = 1 if side == "right" else -1
    np.testing.assert_allclose(after[thumb, :3, 2], sense * before[thumb, :3, 0], atol=1e-9)
