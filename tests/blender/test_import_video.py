"""Hands from a video in Blender: the capture, and the video behind it in step. What finds the hands is played."""

import json
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.capture.protocols.camera_video import CameraVideo
from knuckle.errors import CaptureError
from knuckle.hand.generators import Progress, Steps
from knuckle.operators import import_video, take_folder
from knuckle.rig.video_camera import VideoTiming

POINTS = np.random.default_rng(5).normal(0.0, 0.05, (21, 3))
HAND = {"handedness": "Left", "score": 0.9, "landmarks": (0.5 + POINTS).tolist(), "world_landmarks": POINTS.tolist()}


def landmarks(times: list[float], rate: float | None) -> CameraVideo:
    frames = tuple(json.dumps({"time_s": time, "hands": [HAND]}).encode() for time in times)
    return CameraVideo("wave.mp4", 640, 360, rate, frames, len(frames))


@pytest.fixture
def video(extension, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a file in which these frames are found."""

    def made(times: list[float], rate: float | None = None, problem: str = "") -> str:
        def track(path: Path) -> Steps[CameraVideo]:
            yield Progress(0.5, "Frame 1 of 2")
            if problem:
                raise CaptureError(problem)
            return landmarks(times, rate)

        monkeypatch.setattr(import_video, "track_video", track)
        path = tmp_path / "wave.mp4"
        path.write_bytes(b"a video")
        return str(path)

    return made


def shown(times: list[float], start: int) -> list[int]:
    """The frames of the video behind the scene's frames, from 0, as Blender counts: one a frame, and the offset."""
    scene, user = bpy.context.scene, bpy.context.scene.camera.data.background_images[0].image_user
    numbers = []
    for frame in range(start, scene.frame_end + 1):
        scene.frame_set(frame)
        numbers.append(min(frame - user.frame_start + 1, user.frame_duration) + user.frame_offset - 1)
    return numbers


def test_a_video_gives_the_scene_its_rate_range_and_picture(video: Any, tmp_path: Path) -> None:
    times = [round(index / 29.97, 6) for index in range(30)]
    assert bpy.ops.knuckle.import_video(filepath=video(times, 29.97), start=5) == {"FINISHED"}
    scene = bpy.context.scene
    assert scene.render.fps / scene.render.fps_base == pytest.approx(29.97, rel=1e-4)
    assert (scene.frame_start, scene.frame_end) == (5, 34)
    assert (scene.render.resolution_x, scene.render.resolution_y) == (640, 360)
    assert Path(scene.knuckle.capture) == tmp_path / "wave 001.json"
    assert shown(times, 5) == list(range(30))
    camera = scene.camera
    assert np.degrees(camera.data.angle_x) == pytest.approx(60.0)
    assert np.array(camera.matrix_world)[:3, 2] == pytest.approx([0, -1, 0], abs=1e-6), "it looks along +Y"


@pytest.mark.parametrize(
    "times",
    [
        [round(index / 60, 6) for index in range(61)],
        [round(index / 10, 6) for index in range(11)],
        [0.0, 0.03, 0.2, 0.21, 0.5, 0.9, 1.0],
    ],
    ids=["faster", "slower", "varied"],
)
def test_at_another_rate_each_frame_shows_what_the_video_showed_then(video: Any, times: list[float]) -> None:
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = 24, 1.0
    scene.frame_end = 24
    assert bpy.ops.knuckle.import_video(filepath=video(times), match_scene=False) == {"FINISHED"}
    scene.camera = next(obj for obj in scene.objects if obj.type == "CAMERA" and obj.name.startswith("Video"))
    wanted = [max(i for i, time in enumerate(times) if time <= frame / 24 + 5e-4) for frame in range(24)]
    assert shown(times, 1) == wanted


def test_what_goes_wrong_leaves_neither_file_nor_camera(video: Any, tmp_path: Path) -> None:
    path = video([0.0], problem="wave.mp4: no hand is seen in any of its 3 frames")
    with pytest.raises(RuntimeError, match="no hand is seen"):
        bpy.ops.knuckle.import_video(filepath=path)
    assert [each.name for each in tmp_path.iterdir()] == ["wave.mp4"]
    assert not [obj for obj in bpy.context.scene.objects if obj.name.startswith("Video")]


def test_a_second_import_keeps_the_first_ones_file(video: Any, tmp_path: Path) -> None:
    for _ in range(2):
        bpy.ops.knuckle.import_video(filepath=video([0.0, 0.1, 0.2], 10.0))
    assert sorted(each.name for each in tmp_path.glob("*.json")) == ["wave 001.json", "wave 002.json"]


def test_the_first_frame_is_shown_before_and_the_last_after() -> None:
    timing = VideoTiming(10, [0.0, 0.5, 1.0])
    assert [timing.video_frame(frame, 10.0) for frame in (1, 10, 15, 20, 99)] == [0, 0, 1, 2, 2]


def test_a_video_that_the_page_went_through_is_listed_with_the_takes(extension, tmp_path: Path) -> None:
    scene = bpy.context.scene
    scene.knuckle_live.folder = str(tmp_path / "takes")
    take_folder.keep_capture(scene, "wave", landmarks([0.0, 0.1, 0.2], 10.0).as_json())
    (row,) = scene.knuckle_live.takes
    assert row.name == "wave 001"
    assert bpy.ops.knuckle.import_capture(filepath=row.filepath) == {"FINISHED"}
