"""Pictures and video, where this machine can draw."""

from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle.rig import render
from knuckle.rig.blend_file import new_scene_with_take
from knuckle.tests.blender.making import take


@pytest.fixture(scope="module")
def picture() -> render.Picture:
    return render.Picture(96, 64, render.usable_engine(), samples=1)


def pixels(path: Path) -> np.ndarray:
    image = bpy.data.images.load(str(path))
    width, height = image.size
    return np.array(image.pixels[:], np.float32).reshape(height, width, 4)  # type: ignore[index]  # the stubs: a float


def test_poses_are_drawn_and_differ(tmp_path: Path, picture: render.Picture) -> None:
    paths = render.pose_pictures(tmp_path, picture, ("open", "fist"))
    opened, fist = (pixels(path) for path in paths)
    assert opened.shape == (64, 96, 4)
    assert np.abs(opened - fist).max() > 0.1
    assert opened[..., :3].std() > 0.02, "an empty picture"


def test_a_take_is_drawn_and_the_scenes_settings_come_back(tmp_path: Path, picture: render.Picture) -> None:
    solved = take(("right",), frames=12)
    new_scene_with_take(solved)
    scene = bpy.context.scene
    before = (scene.render.engine, scene.render.resolution_x, scene.render.filepath, scene.frame_end)
    render.still(tmp_path / "still.png", picture, 5)
    assert (scene.render.engine, scene.render.resolution_x, scene.render.filepath, scene.frame_end) == before
    render.take_video(tmp_path / "take.mp4", solved, picture, 0.1)
    assert (tmp_path / "take.mp4").read_bytes()[4:8] == b"ftyp"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["still.png", "take.mp4"]
