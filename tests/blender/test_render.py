"""Pictures and video, where this machine can draw."""

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.files import FileError
from knuckle.rig import render
from knuckle.rig.blend_file import new_scene_with_take
from knuckle.tests.blender.making import take


@pytest.fixture(scope="module")
def picture() -> render.RenderSettings:
    return render.RenderSettings(96, 64, render.usable_engine(), samples=1)


def pixels(path: Path) -> np.ndarray:
    image = bpy.data.images.load(str(path))
    width, height = image.size
    return np.array(image.pixels[:], np.float32).reshape(height, width, 4)  # type: ignore[index]  # the stubs: a float


def test_poses_are_drawn_and_differ(tmp_path: Path, picture: render.RenderSettings) -> None:
    paths = render.pose_pictures(tmp_path, picture, ("open", "fist"))
    opened, fist = (pixels(path) for path in paths)
    assert opened.shape == (64, 96, 4)
    assert np.abs(opened - fist).max() > 0.1
    assert opened[..., :3].std() > 0.02, "an empty picture"


@pytest.mark.parametrize(
    "chosen",
    [
        ("JPEG", {"color_mode": "BW", "quality": 33}),
        ("OPEN_EXR", {"color_mode": "RGBA", "color_depth": "16"}),
        ("FFMPEG", {"format": "MKV", "codec": "FFV1", "audio_codec": "FLAC", "gopsize": 3, "video_bitrate": 777}),
    ],
    ids=lambda chosen: chosen[0],
)
def test_a_take_is_drawn_and_the_scenes_settings_come_back(
    tmp_path: Path, picture: render.RenderSettings, chosen: tuple[str, dict[str, Any]]
) -> None:
    solved = take(("right",), frames=12)
    new_scene_with_take(solved)
    scene = bpy.context.scene
    scene.frame_set(7, subframe=0.5)
    output(scene, chosen[0], **chosen[1])
    before = settings(scene)
    render.render_still(tmp_path / "still.png", picture, 5)
    assert settings(scene) == before
    render.render_video(tmp_path / "video.mp4", picture, 1, 3)
    assert settings(scene) == before
    with pytest.raises(FileError, match="cannot be written"):
        render.render_still(tmp_path / "still.png" / "in a file.png", picture)
    assert settings(scene) == before
    render.take_video(tmp_path / "take.mp4", solved, picture, 0.1)
    assert (tmp_path / "take.mp4").read_bytes()[4:8] == b"ftyp"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["still.png", "take.mp4", "video.mp4"]


def output(scene: bpy.types.Scene, file_format: Any, **more: Any) -> None:
    """Has the scene write its pictures in a format of its own."""
    image = scene.render.image_settings
    if hasattr(image, "media_type"):
        image.media_type = "VIDEO" if file_format == "FFMPEG" else "IMAGE"
    image.file_format = file_format
    for name, value in more.items():
        setattr(scene.render.ffmpeg if hasattr(scene.render.ffmpeg, name) else image, name, value)


def settings(scene: bpy.types.Scene) -> dict[str, Any]:
    """All plain settings of the scene's render and its output, and its frames."""
    owners = [scene, scene.render, scene.render.image_settings, scene.render.ffmpeg, scene.view_settings, scene.display]
    plain = {"BOOLEAN", "INT", "FLOAT", "ENUM", "STRING"}
    return {
        f"{owner.bl_rna.identifier}.{prop.identifier}": str(getattr(owner, prop.identifier))
        for owner in owners
        for prop in owner.bl_rna.properties
        if prop.type in plain and not getattr(prop, "is_array", False) and prop.identifier != "use_nodes"
    }
