"""Files of every release open in this version, with what was put into them: tools/release_files.py wrote them."""

import json
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle import capture
from knuckle.cli.main import main
from knuckle.hand.joints import JOINT_INDEX, JOINTS
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.pipeline import performer
from knuckle.pipeline.recipe import read_json
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.mapping import read_preset
from knuckle.rig.markers_object import is_markers
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tools.panel_drawing import draw_panels
from knuckle.tools.release_files import CAPTURE, FRAMES, RATE

RELEASES = sorted((Path(__file__).parents[1] / "data" / "releases").iterdir())


@pytest.fixture(params=RELEASES, ids=lambda path: path.name)
def release(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture
def opened(extension: None, release: Path) -> Any:
    """The scene of a release."""
    bpy.ops.wm.open_mainfile(filepath=str(release / "scene.blend"))
    return bpy.context.scene


def test_a_raw_take_has_the_hands_that_were_sent(release: Path) -> None:
    markers = capture.read(release / "closing.rawtake")
    sent = moments(FRAMES, RATE)
    assert len(markers.times) == FRAMES and markers.rate == pytest.approx(RATE)
    for side in ("left", "right"):
        tip = next(column for column, name in enumerate(markers.names) if side in name and "index-finger-tip" in name)
        expected = [moment.hands[side][JOINT_INDEX["index-finger-tip"], :3, 3] for moment in sent]
        # A headset sends its hands one after the other: the first frame has one of them.
        np.testing.assert_allclose(markers.positions[1:, tip], expected[1:], atol=1e-6)


def test_a_performer_and_a_marker_map_solve_the_capture_that_they_were_made_of(release: Path, tmp_path: Path) -> None:
    data = read_json(str(release / "performer.json"))
    hand = performer.from_dict(data, "performer").hands["right"].model
    places = joint_frames(hand, Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs))))[0, :, :3, 3]
    for bone, length in data["hands"]["right"]["bones_mm"].items():
        begin = JOINT_INDEX[bone]
        assert np.linalg.norm(places[begin + 1] - places[begin]) == pytest.approx(length / 1000, abs=1e-6), bone
    joints = tmp_path / "joints.npz"
    files = ["--performer", str(release / "performer.json"), "--markers", str(release / "markers.json")]
    solver = ["--solver", "dynamical", "--end", "30", "--joints", str(joints), "--out", str(tmp_path / "o.blend")]
    assert main(["solve", str(CAPTURE), *files, *solver]) == 0
    with np.load(joints) as now, np.load(release / "joints.npz") as then:
        # Solvers may become better from release to release, not different.
        assert np.abs(now["right_positions"] - then["right_positions"]).max() < 5e-3


def test_a_recipe_has_its_settings(release: Path, tmp_path: Path) -> None:
    files = ["--recipe", str(release / "recipe.json"), "--report", str(tmp_path / "r.json")]
    assert main(["solve", str(CAPTURE), *files, "--out", str(tmp_path / "o.blend")]) == 0
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert report["solver"] == "dynamical" and report["marker_set"]["name"] == "marker map"
    size = read_json(str(release / "performer.json"))["hands"]["right"]["size_mm"]
    assert report["hands"]["right"]["hand_length_mm"] == pytest.approx(size, abs=0.06), "printed with one decimal"


def test_a_preset_has_its_bones(release: Path) -> None:
    mapping = read_preset(release / "mapping.json")
    assert mapping.side == "left" and len(mapping.bones) == len(JOINTS)
    assert mapping.curl_angles == {"index-finger": 180.0}


def test_a_scene_plays_what_was_solved(opened: Any, release: Path) -> None:
    hand = opened.knuckle.result
    with np.load(release / "joints.npz") as solved:
        times, positions = solved["times"], solved["right_positions"]
    rate = opened.render.fps / opened.render.fps_base
    for time in np.linspace(times[0], times[-1], 5):
        frame = 1 + rate * (time - times[0])
        opened.frame_set(int(frame), subframe=frame % 1)
        posed = hand.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for joint in ("wrist", "thumb-tip", "index-finger-tip", "pinky-finger-phalanx-distal"):
            expected = [np.interp(time, times, positions[:, JOINT_INDEX[joint], axis]) for axis in range(3)]
            seen = posed.matrix_world @ posed.pose.bones[joint].head
            assert np.linalg.norm(np.array(seen) - expected) < 2e-3, f"{joint} at {time:.2f} s"


def test_a_scene_is_worked_on(opened: Any) -> None:
    assert not draw_panels()
    assert is_markers(opened.knuckle.markers)
    pinned = bpy.data.objects["Pinned"]
    bpy.context.view_layer.objects.active = pinned
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.knuckle.unpin_fingertip(side="left", digit="index-finger") == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    (found,) = find_hands(bpy.data.objects["Rig"])
    assert found.corrected
    opened.knuckle.rig, opened.knuckle.capture = "NEW", str(CAPTURE)
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    assert [(take.name, take.seconds) for take in opened.knuckle_live.takes] == [
        ("Closing", pytest.approx(FRAMES / RATE))
    ]
