"""`knuckle solve`, measured in the file that it saves: the armature as Blender evaluates it against the recording."""

import json
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle import capture as captures
from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.cli.main import main
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS
from knuckle.pipeline.evidence.packing import unpack
from knuckle.rig.keys.take_report import EVIDENCE_PROPERTY
from knuckle.tests.blender.making import find_hand


def evaluated_heads(armature_name, bones, frames):
    """(F, B, 3) m in the world, where Blender puts the heads of bones."""
    scene, armature = bpy.context.scene, bpy.data.objects[armature_name]
    places = np.empty((len(frames), len(bones), 3))
    for row, frame in enumerate(frames):
        scene.frame_set(int(frame))
        evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for column, bone in enumerate(bones):
            places[row, column] = evaluated.matrix_world @ evaluated.pose.bones[bone].head
    return places


def test_fingertips_in_the_saved_file_are_where_the_recording_has_them(shared, tmp_path):
    """The recording is read by another library; the file is opened afresh. 50 frames are looked at."""
    ezc3d = pytest.importorskip("ezc3d")
    capture, out = shared / "data/captures/two_hands_glove.c3d", tmp_path / "take.blend"
    report = tmp_path / "report.json"
    exact = ["--markers-on", "joints"]
    assert main(["solve", str(capture), "--out", str(out), "--report", str(report), *exact]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    file = ezc3d.c3d(str(capture))
    labels = [label.split(":")[-1] for label in file["parameters"]["POINT"]["LABELS"]["value"]]
    recorded = file["data"]["points"][:3].transpose(2, 1, 0) / 1000
    rows = np.linspace(0, len(recorded) - 1, 50).astype(int)
    for side in ("Left", "Right"):
        tips = evaluated_heads(f"{side} Hand", [f"{digit}-tip" for digit in DIGITS], rows + 1)
        for column, end in enumerate(("TTI", "IFT", "MFT", "RFT", "PTI")):
            marker = recorded[rows, labels.index(side[0] + end)]
            apart = 1000 * np.linalg.norm(tips[:, column] - marker, axis=1)
            assert apart.max() < 2.0, f"{side} {DIGITS[column]}: {apart.max():.2f} mm > 2 mm"
    figures = json.loads(report.read_text())
    assert set(figures["seconds"]) == {"read", "solve", "key"}
    assert figures["hands"]["left"]["limit_violations"] == 0


@pytest.mark.always
def test_joints_for_researchers_are_those_of_the_armature(shared, tmp_path):
    capture, out, joints = shared / "data/captures/leap_finger_tap.json", tmp_path / "take.blend", tmp_path / "j.npz"
    assert main(["solve", str(capture), "--out", str(out), "--joints", str(joints), "--fps", "30"]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    arrays = np.load(joints, allow_pickle=False)
    count = len(arrays["times"])
    assert arrays["right_positions"].shape == (count, 25, 3)
    assert arrays["right_rotations"].shape == (count, 25, 4)
    assert arrays["right_predicted"].shape == (count, 25)
    assert bpy.context.scene.render.fps == 30
    heads = evaluated_heads("Right Hand", JOINTS, range(1, count + 1))
    assert np.abs(heads - arrays["right_positions"]).max() < 5e-5


@pytest.mark.parametrize("name", ["makehuman_default.blend", "makehuman_game_engine.blend", "generic_hand_right.glb"])
def test_rigs_of_others_are_keyed_and_saved(shared, tmp_path, name):
    """Without the elbow, against which the wrist would bend, the hand points as it was captured."""
    recording, rig, out = (
        shared / "data/captures/leap_finger_tap.json",
        shared / "data/rigs" / name,
        tmp_path / "take.blend",
    )
    capture = tmp_path / recording.name
    capture.write_text(recording.read_text().replace('"elbow"', '"unseen"'))
    before = rig.read_bytes()
    assert main(["solve", str(capture), "--out", str(out), "--rig", str(rig), "--drive", "wrist"]) == 0
    assert rig.read_bytes() == before
    markers = captures.read(capture)
    recorded = markers.positions[:, [markers.names.index(f"right:{joint}") for joint in JOINTS]]
    bpy.ops.wm.open_mainfile(filepath=str(out))
    armature = next(obj for obj in bpy.context.scene.objects if obj.animation_data and obj.type == "ARMATURE")
    assert armature.animation_data.action.name.startswith("leap_finger_tap")
    rows = np.linspace(0, len(recorded) - 1, 12).astype(int)
    bones = find_hand(armature, "right").bones
    begins, ends = np.array(armature.animation_data.action.frame_range)
    frames = begins + (ends - begins) * (markers.times[rows] - markers.times[0]) / markers.duration
    for digit in DIGITS:
        chain = [JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]]
        seen = chain_places(armature, bones, digit, frames)
        # A rig keeps its own lengths: the recorded finger with those is what its own has to be.
        lengths = np.linalg.norm(np.diff(seen, axis=1), axis=-1, keepdims=True)
        wanted = (unit(np.diff(recorded[rows][:, chain], axis=1)) * lengths).sum(axis=1)
        pointing = seen[:, -1] - seen[:, 0]
        apart = between(pointing, wanted)
        assert apart.max() < 5.0, f"{digit}: {apart.max():.2f} degrees > 5 from knuckle to tip"
        swings = [between(fingers[:, None], fingers[None]).max() for fingers in (pointing, wanted)]
        assert swings[0] > 0.8 * swings[1] > 0.0, f"{digit} moves by {swings[0]:.1f} of {swings[1]:.1f} degrees"
        assert digit != "index-finger" or swings[0] > 15.0, "the index finger taps"
    # Where bones have no parents, heads are where they belong whichever way the bones are turned.
    joints = [joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][:-1]]
    starts = [JOINT_INDEX[joint] for joint in joints]
    along = unit(recorded[rows][:, [start + 1 for start in starts]] - recorded[rows][:, starts])
    seen = bone_turns(armature, [bones[joint] for joint in joints], frames)
    carried = np.einsum("fjab,jcb,jc->fja", seen, seen[0], along[0])
    apart = between(carried, along).max(axis=0)
    assert apart.max() < 8.0, f"{joints[apart.argmax()]} turns otherwise than recorded, by {apart.max():.1f} degrees"


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def between(a, b):
    """Degrees between vectors."""
    return np.degrees(np.arccos(np.clip((unit(a) * unit(b)).sum(axis=-1), -1, 1)))


def chain_places(armature, bones, digit, frames):
    """(F, 4, 3) from knuckle to tip of a digit, as Blender evaluates it; the last tail where a tip has no bone."""
    places = np.empty((len(frames), len(CHAIN_JOINTS[digit]), 3))
    for row, frame in enumerate(frames):
        bpy.context.scene.frame_set(int(frame), subframe=float(frame % 1))
        armature_now = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        posed = armature_now.pose.bones
        for column, joint in enumerate(CHAIN_JOINTS[digit]):
            before = CHAIN_JOINTS[digit][column - 1]
            places[row, column] = posed[bones[joint]].head if joint in bones else posed[bones[before]].tail
        places[row] = places[row] @ np.array(armature_now.matrix_world.to_3x3()).T
    return places


def bone_turns(armature, bones, frames):
    """(F, B, 3, 3) how bones are turned in the world, as Blender evaluates them."""
    turns = np.empty((len(frames), len(bones), 3, 3))
    for row, frame in enumerate(frames):
        bpy.context.scene.frame_set(int(frame), subframe=float(frame % 1))
        armature_now = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for column, bone in enumerate(bones):
            turn = armature_now.matrix_world.to_3x3() @ armature_now.pose.bones[bone].matrix.to_3x3()
            turns[row, column] = np.array(turn.normalized())
    return turns


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rig", "nothing.blend"], "nothing.blend: there is no such file"),
        (["--rig", "rig.obj"], "rig.obj: a rig is 'default' or a .blend, .glb, .vrm or .fbx file"),
        (["--out", "take.txt"], "take.txt: expected a name that ends in .blend"),
        (["--out", "nowhere/take.blend"], "there is no folder nowhere"),
        (["--report", "nowhere/r.json"], "there is no folder nowhere"),
        (["--hand", "left"], "has a right hand, not the requested left one"),
    ],
)
def test_a_solve_that_cannot_be_done_writes_nothing(arguments, sentence, tmp_path, monkeypatch, capfd):
    from knuckle.cli.commands import DEMO_CAPTURE

    monkeypatch.chdir(tmp_path)
    assert main(["solve", str(DEMO_CAPTURE), "--out", "take.blend", *arguments]) == 1
    reported = capfd.readouterr().err
    assert reported.count("\n") == 1 and sentence in reported
    assert list(tmp_path.iterdir()) == []


def test_a_rigs_own_scene_is_kept_and_a_hand_that_it_lacks_is_reported(shared, tmp_path, capsys):
    bpy.ops.wm.open_mainfile(filepath=str(shared / "data/rigs/makehuman_default.blend"))
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 25, 3, 77
    rig, out = tmp_path / "mine.blend", tmp_path / "take.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(rig))
    before = {obj.name for obj in scene.objects}
    capture = shared / "data/captures/leap_finger_tap.json"
    assert main(["solve", str(capture), "--out", str(out), "--rig", str(rig)]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    scene = bpy.context.scene
    assert (scene.render.fps, scene.frame_start, scene.frame_end) == (25, 3, 77)
    assert {obj.name for obj in scene.objects} - before == {"leap_finger_tap markers"}
    capsys.readouterr()
    glove, left = shared / "data/captures/two_hands_glove.c3d", shared / "data/rigs/generic_hand_left.glb"
    assert main(["solve", str(glove), "--out", str(out), "--rig", str(left), "--end", "100", "--force"]) == 0
    assert "the rig has no right hand: it was solved and is not keyed" in capsys.readouterr().out


def test_fingertips_kept_in_the_world_are_as_far_from_each_other_as_the_recordings_markers(shared, tmp_path, capsys):
    """The recording is read by another library, and neither wrist nor scale of ours is asked."""
    ezc3d = pytest.importorskip("ezc3d")
    capture, out, report = shared / "data/captures/two_hands_glove.c3d", tmp_path / "a.blend", tmp_path / "r.json"
    rig = shared / "data/rigs/makehuman_default.blend"
    found = {}
    for keep in ("directions", "fingertips"):
        choice = ["--keep", keep, "--keep-scale", "world", "--start", "200", "--end", "260", "--markers-on", "joints"]
        files = ["--rig", str(rig), "--out", str(out), "--report", str(report), "--force"]
        assert main(["solve", str(capture), *files, *choice]) == 0
        assert f"on the rig {keep} are kept: fingertips" in capsys.readouterr().out
        assert json.loads(report.read_text())["hands"]["left"]["rig"]["scale"] == 1
        bpy.ops.wm.open_mainfile(filepath=str(out))
        armature = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
        file = ezc3d.c3d(str(capture))
        labels = [label.split(":")[-1] for label in file["parameters"]["POINT"]["LABELS"]["value"]]
        recorded = file["data"]["points"][:3].transpose(2, 1, 0)[199:260]
        # The scene keeps its own rate.
        step = bpy.context.scene.render.fps / 60
        off = []
        for row in range(0, 61, 10):
            frame = 1 + row * step
            bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
            posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
            bones = find_hand(armature, "left").bones
            ends = [posed.pose.bones[bones[CHAIN_JOINTS[digit][2]]].tail for digit in DIGITS]
            tips = 1000 * np.array([posed.matrix_world @ end for end in ends])
            markers = recorded[row, [labels.index(name) for name in ("LTTI", "LIFT", "LMFT", "LRFT", "LPTI")]]
            between, wanted = (np.linalg.norm(places[:, None] - places, axis=-1) for places in (tips, markers))
            off.append(np.abs(between - wanted)[np.triu_indices(5, 1)])
        found[keep] = np.array(off)
    assert np.median(found["fingertips"]) < 2, f"{np.median(found['fingertips']):.2f} mm > 2 mm"
    assert np.mean(found["fingertips"]) < 0.4 * np.mean(found["directions"])


def test_a_take_that_meets_a_condition_is_saved_and_fails(tmp_path, capsys):
    out, evidence = tmp_path / "take.blend", tmp_path / "e.npz"
    command = ["solve", str(DEMO_CAPTURE), "--out", str(out), "--evidence", str(evidence), "--force"]
    assert main([*command, "--fail-on", "tip_error_mm.p99>3, leaps>0"]) == 0
    assert main([*command, "--fail-on", "tip_error_mm.max>=0"]) == 3
    reported = capsys.readouterr().err
    assert reported.startswith("knuckle: the take was saved, but fails: tip_error_mm.max>=0 (it is ")
    assert main([*command, "--fail-on", "tips>0"]) == 1
    assert main([*command, "--joints", str(evidence)]) == 1
    arrays = np.load(evidence, allow_pickle=False)
    assert arrays["right_evidence"].shape == (len(arrays["times"]), len(arrays["parts"]), len(arrays["measures"]))


def test_evidence_is_kept_in_the_file_with_the_take(tmp_path):
    out, evidence = tmp_path / "take.blend", tmp_path / "e.npz"
    assert main(["solve", str(DEMO_CAPTURE), "--out", str(out), "--evidence", str(evidence)]) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    action = bpy.data.objects["Right Hand"].animation_data.action
    kept = unpack(action[EVIDENCE_PROPERTY])
    written = np.load(evidence, allow_pickle=False)
    assert np.array_equal(kept.times, written["times"])
    assert np.allclose(kept.hands[0].values, written["right_evidence"], rtol=1e-3, atol=1e-3, equal_nan=True)
    assert unpack(b"damaged") is None


def test_the_installed_command_ends_when_it_has_keyed(tmp_path):
    """Blender 4.5 waits forever for a thread of its own where Python ends as usual."""
    out = tmp_path / "take.blend"
    command = Path(sys.executable).with_name("knuckle")
    words = [command, "solve", DEMO_CAPTURE, "--end", "2", "--out", out]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert out.exists()
    words[-1] = tmp_path / "folder" / "take.blend"
    refused = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode == 1 and "Traceback" not in refused.stderr
