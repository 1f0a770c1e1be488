"""Rigs that no take can go to: one sentence that says what to do, in the shell and in the panel; nothing is written."""

from collections.abc import Callable
from pathlib import Path

import bpy
import pytest

from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.cli.main import main
from knuckle.hand.joints import CHAIN_JOINTS
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.keying_notes import keying_notes
from knuckle.rig.keys.take_report import report_of
from knuckle.rig.mapping import Mapping, write_preset
from knuckle.tests.blender.bad_rigs import BAD, Object, one_finger, without
from knuckle.tests.blender.making import rig, take
from knuckle.tests.blender.snapshot import differences, snapshot

TAP = str(DEMO_CAPTURE)


@pytest.mark.parametrize(("make", "options", "sentence"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_the_shell_tells_of_a_bad_rig_in_one_sentence(
    make: Callable[[], Object | None],
    options: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make()
    file, out = tmp_path / "rig.blend", tmp_path / "out.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    capsys.readouterr()
    assert main(["solve", TAP, "--rig", str(file), "--out", str(out), "--end", "5", *options]) == 1
    reported = capsys.readouterr().err
    assert sentence in reported
    assert reported.startswith("knuckle: ") and reported.count("\n") == 1
    assert not out.exists()


@pytest.mark.usefixtures("extension")
@pytest.mark.parametrize(("make", "options", "sentence"), [row[1:] for row in BAD[1:]], ids=[row[0] for row in BAD[1:]])
def test_the_panel_tells_of_a_bad_rig_in_one_sentence_and_changes_nothing(
    make: Callable[[], Object | None], options: tuple[str, ...], sentence: str
) -> None:
    chosen = bpy.context.scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=TAP)
    chosen.use_range, chosen.last = True, 5
    chosen.rig, chosen.armature, chosen.drive = "ARMATURE", make(), options[1] if options else "auto"
    bpy.context.view_layer.update()
    before = snapshot()
    with pytest.raises(RuntimeError) as reported:
        bpy.ops.knuckle.solve()
    assert sentence[1:] in str(reported.value)  # the first letter of a report is large
    assert str(reported.value).strip().count("\n") == 0
    assert differences(before, snapshot()) == {}


@pytest.mark.usefixtures("extension")
def test_an_arm_that_is_not_there_is_reported_before_the_capture_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = bpy.context.scene.knuckle
    chosen.rig, chosen.armature, chosen.drive, chosen.capture = "ARMATURE", rig("right"), "arm", "/nowhere/hand.c3d"
    with pytest.raises(RuntimeError, match="has no arm above its right wrist"):
        bpy.ops.knuckle.solve()
    file = tmp_path / "rig.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    command = ["solve", "/nowhere/hand.c3d", "--rig", str(file), "--out", str(tmp_path / "out.blend"), "--drive", "arm"]
    assert main(command) == 1
    assert "has no arm above its right wrist" in capsys.readouterr().err


def test_of_several_armatures_with_hands_the_active_one_is_driven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = rig("right"), rig("right")
    first.name, second.name = "First", "Second"
    file, out = tmp_path / "rig.blend", tmp_path / "out.blend"
    command = ["solve", TAP, "--rig", str(file), "--out", str(out), "--end", "5", "--force"]
    bpy.context.view_layer.objects.active = None
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    assert main(command) == 1
    assert "2 armatures have hands, 'First' and 'Second': name the one to drive by" in capsys.readouterr().err
    bpy.ops.wm.open_mainfile(filepath=str(file))
    bpy.context.view_layer.objects.active = bpy.data.objects["Second"]
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    for options, driven, other in (
        ((), "Second", "First"),
        (("--armature", "First"), "First", "Second"),
    ):
        assert main([*command, *options]) == 0
        reported = capsys.readouterr().out
        assert ("have hands, 'First' and 'Second': 'Second' is driven, the active one" in reported) is not bool(options)
        bpy.ops.wm.open_mainfile(filepath=str(out))
        assert bpy.data.objects[other].animation_data is None
        assert bpy.data.objects[driven].animation_data.action.name == "leap_finger_tap"
    assert main([*command, "--armature", "Third"]) == 1
    assert "there is no armature 'Third' in it, only 'First' and 'Second'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lacking", "note"),
    [
        (("index", "ring", "pinky"), "has one digit for all four fingers, like a mitten: it follows their mean"),
        (
            ("middle", "ring", "pinky"),
            "has no middle finger and no ring finger and no little finger: it was solved and is not",
        ),
        (("thumb",), "has no thumb: it was solved and is not keyed"),
    ],
)
def test_fingers_that_a_rig_lacks_are_reported(lacking: tuple[str, ...], note: str) -> None:
    armature = without(rig("right"), *lacking)
    reported = [
        each for each in keying_notes(armature, take(("right",), frames=5)) if "solved" in each or "mean" in each
    ]
    assert len(reported) == 1
    assert note in reported[0]


def test_a_preset_tells_the_shell_which_bones_are_a_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finger and no thumb: nothing is found by itself."""
    one_finger()
    file, out, preset = tmp_path / "rig.blend", tmp_path / "out.blend", tmp_path / "preset.json"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    bones = {joint: joint for joint in ("wrist", *CHAIN_JOINTS["index-finger"])}
    write_preset(preset, Mapping("right", bones))
    command = ["solve", TAP, "--rig", str(file), "--out", str(out), "--end", "5", "--force"]
    assert main(command) == 1
    assert "--mapping" in capsys.readouterr().err
    assert main([*command, "--mapping", str(preset)]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    (kept,) = find_hands(bpy.data.objects["Rig"])
    assert kept.bones == bones
    assert kept.corrected
    write_preset(preset, Mapping("right", bones | {"thumb-phalanx-proximal": "nowhere"}))
    assert main([*command, "--mapping", str(preset)]) == 1
    assert "has no bone 'nowhere' for thumb-phalanx-proximal" in capsys.readouterr().err


@pytest.mark.usefixtures("extension")
def test_what_a_rig_lacks_and_plays_below_is_reported_with_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    armature = rig("right", metacarpals=False)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in [bone for bone in armature.data.edit_bones if bone.name.startswith("pinky")]:
        armature.data.edit_bones.remove(bone)
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.pose.bones[0].keyframe_insert("location", frame=1)
    notes = [
        "the rig's right hand has no little finger: it was solved and is not keyed",
        "'RigAction' was pushed down to the NLA",
    ]
    file, out = tmp_path / "rig.blend", tmp_path / "out.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    assert main(["solve", TAP, "--rig", str(file), "--out", str(out), "--end", "5"]) == 0
    shown = capsys.readouterr().out
    bpy.ops.wm.open_mainfile(filepath=str(file))
    armature = bpy.data.objects["Rig"]
    chosen = bpy.context.scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=TAP)
    chosen.rig, chosen.armature = "ARMATURE", armature
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    report = report_of(armature)
    assert report is not None
    for note in notes:
        assert note in shown
        assert any(note in warning for warning in report["warnings"])
