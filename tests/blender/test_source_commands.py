"""Animated armatures as captures in the panel and in the shell."""

import json
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle import api
from knuckle.cli.main import main
from knuckle.rig.markers_object import CAPTURE_PROPERTY
from knuckle.tests.blender.curled import curl
from knuckle.tests.blender.exporting import exported
from knuckle.tests.blender.making import rig


def glove(folder: Path) -> Path:
    """A file of a right hand that curls, and the armature that it was exported from in the scene."""
    armature = rig("right", arm=True)
    curl(armature, [1, 30], [0.0, 1.0])
    return exported(armature, "glTF", folder)


def test_the_source_armature_is_captured_and_drives_another_hand(extension: None) -> None:
    armature = rig("right")
    curl(armature, [1, 30], [0.0, 1.0])
    settings = bpy.context.scene.knuckle
    settings.source = armature
    assert bpy.ops.knuckle.capture_armature() == {"FINISHED"}
    assert settings.capture == "armature:Rig"
    about = settings.markers[CAPTURE_PROPERTY]
    assert (about["format"], about["frames"], about["hands"]) == ("armature", 30, "right: 25 markers")
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    action = settings.result.animation_data.action
    assert tuple(action.frame_range) == (1, 30)
    assert [obj for obj in bpy.context.scene.objects if obj.get(CAPTURE_PROPERTY)] == [settings.markers]


def test_the_active_armature_is_captured_where_none_is_chosen(extension: None) -> None:
    armature = rig("left")
    curl(armature, [1, 5], [0.0, 1.0])
    bpy.ops.knuckle.capture_armature()
    assert bpy.context.scene.knuckle.source == armature


def test_the_source_is_not_keyed(extension: None) -> None:
    armature = rig("right")
    curl(armature, [1, 30], [0.0, 1.0])
    action = armature.animation_data.action
    bpy.ops.knuckle.capture_armature()
    settings = bpy.context.scene.knuckle
    settings.rig, settings.armature = "ARMATURE", armature
    with pytest.raises(RuntimeError, match="Armature 'Rig' is the capture's source, choose another as the target"):
        bpy.ops.knuckle.solve()
    assert armature.animation_data.action == action


def test_a_dropped_scene_is_read_and_only_its_markers_come(extension: None, tmp_path: Path) -> None:
    path = glove(tmp_path)
    kinds = ("objects", "armatures", "actions", "scenes")
    before = {kind: set(getattr(bpy.data, kind)) for kind in kinds}
    assert bpy.ops.knuckle.import_capture(filepath=str(path)) == {"FINISHED"}
    settings = bpy.context.scene.knuckle
    made = {kind: set(getattr(bpy.data, kind)) - before[kind] for kind in kinds}
    assert made == {"objects": {settings.markers}, "armatures": set(), "actions": set(), "scenes": set()}
    assert settings.markers[CAPTURE_PROPERTY]["format"] == "glTF"


def test_the_shell_tells_what_is_in_a_scenes_file_and_solves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = glove(tmp_path)
    capsys.readouterr()
    assert main(["info", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["markers"]["hands"] == {"right": 25}
    out, joints = tmp_path / "take.blend", tmp_path / "joints.npz"
    assert main(["solve", str(path), "--out", str(out), "--joints", str(joints)]) == 0
    assert out.is_file()
    with np.load(joints) as solved:
        assert solved["right_positions"].shape == (30, 25, 3)


def test_a_performer_is_measured_on_a_scenes_file(tmp_path: Path) -> None:
    out = tmp_path / "performer.json"
    assert main(["calibrate", str(glove(tmp_path)), "--out", str(out)]) == 0
    assert out.is_file()


def test_the_python_api_reads_and_solves_armatures_of_the_scene() -> None:
    armature = rig("left")
    curl(armature, [1, 10], [0.0, 0.5])
    assert len(api.read("armature:Rig").times) == 10
    assert [hand.side for hand in api.solve("armature:Rig").hands] == ["left"]
