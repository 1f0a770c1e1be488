"""The calibration in the panel: its settings, its errors, what it keeps in the scene."""

import json
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle import capture
from knuckle.operators.calibration_settings import choices_of
from knuckle.panels.calibration_panel import performer_of
from knuckle.pipeline import performer
from knuckle.pipeline.calibration_choices import FrameRange, MotionClip
from knuckle.tests.blender.making import everything

pytestmark = pytest.mark.usefixtures("extension")

TAP = str(Path(__file__).parents[2] / "data" / "leap_finger_tap.json")


@pytest.fixture
def calm(tmp_path: Path) -> str:
    """The bundled recording, its first frame held for 40 frames before it."""
    markers = capture.read(TAP)
    names = [name.removeprefix("right:") for name in markers.names]
    held = np.concatenate([np.repeat(markers.positions[:1], 40, axis=0), markers.positions])
    path = tmp_path / "calm.json"
    rows = [
        {"t": k / 60, "hands": {"right": {n: [x, z, -y] for n, (x, y, z) in zip(names, row.tolist(), strict=True)}}}
        for k, row in enumerate(held)
    ]
    path.write_text(json.dumps({"frames": rows}))
    return str(path)


def test_the_still_frames_are_found_and_the_measures_kept(calm: str) -> None:
    scene = bpy.context.scene
    bpy.ops.knuckle.import_capture(filepath=calm)
    assert bpy.ops.knuckle.calibrate() == {"FINISHED"}
    found = performer_of(scene.knuckle.performer)
    assert found is not None
    assert "frames 1 to 30" in found.clips["still"]
    hand = found.hands["right"]
    assert hand.rho[2] is not None
    assert np.abs(np.reshape(scene.knuckle_calibration.radii, (5, 3)) - 1000 * hand.radii).max() < 0.01
    assert bpy.ops.knuckle.solve() == {"FINISHED"}


def test_what_is_typed_is_what_is_kept(calm: str, tmp_path: Path) -> None:
    scene = bpy.context.scene
    bpy.ops.knuckle.import_capture(filepath=calm)
    chosen = scene.knuckle_calibration
    chosen.use_still, chosen.still_first, chosen.still_last = True, 5, 35
    chosen.motion_capture, chosen.use_motion, chosen.motion_first, chosen.motion_last = TAP, True, 3, 80
    chosen.radii_from, chosen.radii = "TYPED", [10.1, 9.2, 8.3, *[11.0, 8.0, 7.0] * 4]
    choices = choices_of(scene)
    assert choices.still == FrameRange(5, 35)
    assert choices.motions == (MotionClip(TAP, FrameRange(3, 80)),)
    bpy.ops.knuckle.calibrate()
    found = performer_of(scene.knuckle.performer)
    assert found is not None
    assert "frames 5 to 35" in found.clips["still"]
    assert "leap_finger_tap.json, frames 3 to 80" in found.clips["motion"]
    assert np.abs(1000 * found.hands["right"].radii[:2] - [[10.1, 9.2, 8.3], [11, 8, 7]]).max() < 1e-3
    path = str(tmp_path / "me.json")
    bpy.ops.knuckle.save_performer(filepath=path)
    assert json.loads(Path(path).read_text())["format"] == "knuckle performer 4"


def test_one_undo_takes_the_measures_away(calm: str) -> None:
    bpy.ops.knuckle.import_capture(filepath=calm)
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.knuckle.calibrate()
    bpy.ops.ed.undo_push(message="calibrate")
    assert bpy.context.scene.knuckle.performer
    bpy.ops.ed.undo()
    assert bpy.context.scene.knuckle.performer == ""


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"use_still": True, "still_first": 50, "still_last": 120}, "its markers move by"),
        ({"use_still": True, "still_first": 1, "still_last": 9}, "frames 1-9 are 9 of its 129, a clip needs 30"),
        ({"use_still": True, "still_first": 9, "still_last": 3}, "The frames are 9-3"),
        ({"use_motion": True, "motion_first": 120, "motion_last": 999}, "frames 120-999 are 10 of its 129"),
        ({"motion_capture": "/nowhere/rom.c3d"}, "rom.c3d"),
    ],
)
def test_clips_that_will_not_do_are_reported_and_change_nothing(
    calm: str, settings: dict[str, Any], sentence: str
) -> None:
    scene = bpy.context.scene
    bpy.ops.knuckle.import_capture(filepath=calm)
    for name, value in settings.items():
        setattr(scene.knuckle_calibration, name, value)
    scene.knuckle.hand = "right"
    before, radii = everything(scene), list(scene.knuckle_calibration.radii)
    with pytest.raises(RuntimeError, match=sentence):
        bpy.ops.knuckle.calibrate()
    assert everything(scene) == before
    assert list(scene.knuckle_calibration.radii) == radii
    assert scene.knuckle.performer == ""


def test_without_a_capture_there_is_nothing_to_calibrate() -> None:
    assert not bpy.ops.knuckle.calibrate.poll()


def test_limits_that_a_file_names_stay_when_the_hand_is_measured_again(calm: str) -> None:
    scene = bpy.context.scene
    bpy.ops.knuckle.import_capture(filepath=calm)
    bpy.ops.knuckle.calibrate()
    data = json.loads(scene.knuckle.performer)
    data["hands"]["right"]["limits_deg"] = {"index-finger-phalanx-distal flexion": [0, 33]}
    scene.knuckle.performer = json.dumps(data)
    bpy.ops.knuckle.calibrate()
    hand = performer.from_dict(json.loads(scene.knuckle.performer), "scene").hands["right"]
    assert hand.limits == {("index-finger-phalanx-distal", "flexion"): (0, 33)}


@pytest.mark.parametrize("text", ["", "{", "{}", '{"format": "knuckle performer 9", "hands": {}}'])
def test_a_performer_that_is_not_understood_is_not_drawn(text: str) -> None:
    assert performer_of(text) is None
