"""Pictures and short videos of the scene, on machines with and without a display."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import bpy
import numpy as np

from ..files import written_whole
from ..hand import poses, proportions
from ..hand.joints import Side
from ..hand.kinematics import Pose, joint_frames
from ..pipeline.take import Take
from .blend_file import blender_file_errors, open_empty_file, suppressed_output
from .camera_framing import add_camera, add_sun, add_surroundings, back_view, hand_points, view_along
from .keys.frame_times import scene_rate
from .keys.hand_motion import KeyedHand
from .keys.keyframes import key_hands
from .keys.take_scene import TakeTiming, new_hand, take_frames
from .markers_object import is_markers

if TYPE_CHECKING:
    from bpy.types import Scene

Engine = Literal["BLENDER_WORKBENCH", "CYCLES"]
Still = Literal["PNG", "JPEG"]


@dataclass(frozen=True, slots=True)
class RenderSettings:
    """Size, engine and quality of pictures."""

    width: int = 960
    height: int = 540
    engine: Engine = "BLENDER_WORKBENCH"
    samples: int = 16
    """Samples per pixel, for Cycles."""


_WORKBENCH_SCRIPT = """
import bpy
scene = bpy.context.scene
scene.render.engine = "BLENDER_WORKBENCH"
scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
scene.collection.objects.link(scene.camera)
scene.render.resolution_x = scene.render.resolution_y = 8
scene.render.filepath = {path!r}
bpy.ops.render.render(write_still=True)
"""


def usable_engine() -> Engine:
    """Return Workbench if an OpenGL context can be created, else Cycles, which needs none.

    Without a context Blender ends the whole process, so a separate one tries.
    """
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "try.png"
        code = _WORKBENCH_SCRIPT.format(path=str(picture))
        if bpy.app.binary_path:
            command = [bpy.app.binary_path, "--background", "--factory-startup", "--python-expr", code]
        else:
            command = [sys.executable, "-c", code]
        try:
            subprocess.run(command, capture_output=True, timeout=120, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return "CYCLES"
        return "BLENDER_WORKBENCH" if picture.is_file() else "CYCLES"


def usable_settings() -> RenderSettings:
    """Return settings that this machine renders in a reasonable time: smaller pictures for Cycles on the CPU."""
    engine = usable_engine()
    return RenderSettings() if engine == "BLENDER_WORKBENCH" else RenderSettings(480, 270, engine, samples=4)


def render_still(path: Path, picture: RenderSettings, frame: int | None = None, file_format: Still = "PNG") -> None:
    """Render a picture of the scene from its camera. Raises FileError if it cannot be written."""
    scene = bpy.context.scene
    with _render_settings(scene, picture), written_whole(path) as half, suppressed_output():
        if frame is not None:
            scene.frame_set(frame)
        _write_as(scene, "IMAGE", file_format)
        scene.render.filepath = str(half)
        with blender_file_errors(path):
            bpy.ops.render.render(write_still=True)


def render_video(path: Path, picture: RenderSettings, first: int, last: int) -> None:
    """Render an MP4 of the frames first..last at the scene's rate, or PNGs if this Blender cannot write video.

    Raises FileError if it cannot be written.
    """
    scene = bpy.context.scene
    if not bpy.app.build_options.codec_ffmpeg:
        for frame in range(first, last + 1):
            render_still(path.with_name(f"{path.stem}-{frame:04d}.png"), picture, frame)
        return
    with _render_settings(scene, picture), written_whole(path) as half, suppressed_output():
        _as_mp4(scene)
        scene.render.filepath = str(half)
        scene.frame_start, scene.frame_end = first, last
        with blender_file_errors(path):
            bpy.ops.render.render(animation=True)


def _write_as(scene: "Scene", media: str, file_format: Still | Literal["FFMPEG"]) -> None:
    image = scene.render.image_settings
    # Since Blender 5.0, the media type must be set before the format.
    if hasattr(image, "media_type"):
        image.media_type = media
    image.file_format = file_format


def _as_mp4(scene: "Scene") -> None:
    _write_as(scene, "VIDEO", "FFMPEG")
    ffmpeg = scene.render.ffmpeg
    ffmpeg.format, ffmpeg.codec, ffmpeg.constant_rate_factor = "MPEG4", "H264", "HIGH"
    ffmpeg.gopsize, ffmpeg.audio_codec = 15, "NONE"


def take_video(path: Path, take: Take, picture: RenderSettings, seconds: float = 6.0) -> None:
    """Render a video of the first seconds of the take in the open file: the hand, and its markers beside it.

    Adds a camera and a second view of the markers to the open file. Raises FileError if it cannot be written.
    """
    scene = bpy.context.scene
    last = min(scene.frame_end, scene.frame_start + round(seconds * scene_rate(scene)) - 1)
    frames = take_frames(take, scene, TakeTiming())
    in_video = frames <= last + 1
    points, rotation = hand_points(take)[in_video], back_view(take)
    extent = np.ptp(points @ rotation[:, 0], axis=1).max()
    offset = rotation[:, 0] * 1.2 * extent
    for markers in [obj for obj in scene.objects if is_markers(obj)]:
        displaced = markers.copy()
        displaced.location = offset
        scene.collection.objects.link(displaced)
    scene.render.resolution_x, scene.render.resolution_y = picture.width, picture.height
    both = np.concatenate([points, points + offset], axis=1)
    add_camera(scene, scene.collection, both, rotation, times=take.times[in_video], frames=frames[in_video])
    render_video(path, picture, scene.frame_start, last)


def pose_pictures(
    folder: Path, picture: RenderSettings, names: Sequence[str] = poses.names_in_group("everyday"), side: Side = "right"
) -> list[Path]:
    """Render a PNG of Knuckle's own hand in each named pose, from the back; replaces the open file.

    Raises FileError if they cannot be written.
    """
    open_empty_file()
    scene = bpy.context.scene
    adult_hand = proportions.adult(side)
    hand = proportions.build(adult_hand)
    armature, binding = new_hand(adult_hand, hand, scene.collection)
    armature.hide_render = True
    angles = np.stack([poses.angles(hand, name) for name in names])
    upright = np.tile(np.eye(4), (len(names), 1, 1))
    pose = Pose(hand, upright, angles)
    key_hands(armature, [KeyedHand(binding, hand, pose)], np.arange(1.0, len(names) + 1), "Poses")
    points = joint_frames(hand, pose)[:1, :, :3, 3]
    below_wrist = points[:, :1] - [0.0, 0.25 * adult_hand.size, 0.0]
    add_surroundings(scene)
    scene.render.resolution_x, scene.render.resolution_y = picture.width, picture.height
    # The hand's fingers are along Y: seen from above, they point upwards; from the thumb's side, the thumb is visible.
    aside = 0.8 if side == "right" else -0.8
    rotation = view_along(np.array([aside, 0.3, -1.0]), up=np.array([0.0, 1.0, 0.0]))
    all_points = np.concatenate([points, below_wrist], axis=1)
    add_camera(scene, scene.collection, all_points, rotation, times=np.zeros(1), frames=np.ones(1))
    add_sun(scene.collection, rotation)
    paths = [folder / f"{name}.png" for name in names]
    for frame, path in enumerate(paths, 1):
        render_still(path, picture, frame)
    return paths


@contextmanager
def _render_settings(scene: "Scene", picture: RenderSettings) -> Iterator[None]:
    """Set the render settings of a picture; afterwards, restore the scene's settings, frame range and frame."""
    settings: list[tuple[Any, str, Any]] = [
        (scene.render, "engine", picture.engine),
        (scene.render, "resolution_x", picture.width),
        (scene.render, "resolution_y", picture.height),
        (scene.render, "resolution_percentage", 100),
        (scene.render, "use_file_extension", False),
        # In a user's scene, render only objects that the camera sees.
        (scene.render, "use_sequencer", False),
        (scene.render, "use_compositing", False),
        (scene.render, "use_border", False),
        (scene.render, "filepath", scene.render.filepath),
        (scene.view_settings, "view_transform", "Standard"),
        (scene.display, "render_aa", "8"),
        (scene.display.shading, "light", "STUDIO"),
        (scene.display.shading, "color_type", "MATERIAL"),
        (scene.display.shading, "show_cavity", True),
        (scene.display.shading, "cavity_type", "BOTH"),
        (scene.display.shading, "show_specular_highlight", False),
    ]
    # Pictures hold nothing about the machine, such as the file's path.
    settings += [(scene.render, name, False) for name in dir(scene.render) if name.startswith("use_stamp")]
    if picture.engine == "CYCLES":
        settings += [(scene.cycles, "samples", picture.samples), (scene.cycles, "device", "CPU")]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in settings]
    # The valid formats depend on the media type and the valid codecs on the format, so they are restored in this order.
    before += [*_writable_settings(scene.render.image_settings), *_writable_settings(scene.render.ffmpeg)]
    frames = scene.frame_start, scene.frame_end
    current, part = scene.frame_current, scene.frame_subframe
    try:
        for owner, name, value in settings:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        scene.frame_start, scene.frame_end = frames
        scene.frame_set(current, subframe=part)


def _writable_settings(settings: Any) -> list[tuple[Any, str, Any]]:
    """Return every writable plain setting as owner, name and value; those on which others depend come first."""
    first = ["media_type", "file_format", "format", "codec"]
    names = [
        prop.identifier
        for prop in settings.bl_rna.properties
        if not prop.is_readonly and prop.type in {"BOOLEAN", "INT", "FLOAT", "ENUM", "STRING"}
    ]
    names.sort(key=lambda name: first.index(name) if name in first else len(first))
    return [(settings, name, getattr(settings, name)) for name in names]
