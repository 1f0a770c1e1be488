"""Landmarks of rendered videos as Knuckle's own page finds them, in a browser: what `knuckle track` writes.

A video's pictures are encoded in H.264 without visible loss, and the page tracks that file.
"""

import json
from pathlib import Path
from typing import Any

import bpy
from camera_takes import HEIGHT, STEP, WIDTH
from skin_motions import RATE

from knuckle.capture.devices.video_tracking import track_video
from knuckle.hand.generators import run_to_end


def page_landmarks(folder: Path) -> dict[str, Any]:
    """Return the landmarks of a folder of pictures, kept there. Raises CaptureError if no hand is found."""
    file = folder / "landmarks-page.json"
    if not file.is_file():
        file.write_bytes(run_to_end(track_video(video_file(folder))).as_json())
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def video_file(folder: Path) -> Path:
    """Return the pictures of a folder as one MP4."""
    pictures = sorted(folder.glob("*.jpg"))
    path = folder / "video.mp4"
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = bpy.context.scene
    strips = scene.sequence_editor_create().strips
    strip = strips.new_image("pictures", str(pictures[0]), channel=1, frame_start=1)
    for picture in pictures[1:]:
        strip.elements.append(picture.name)
    strip.frame_final_duration = len(pictures)
    scene.frame_start, scene.frame_end = 1, len(pictures)
    scene.render.fps, scene.render.fps_base = round(RATE), STEP
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = WIDTH, HEIGHT, 100
    scene.view_settings.view_transform, scene.sequencer_colorspace_settings.name = "Standard", "sRGB"
    _as_mp4(scene)
    scene.render.filepath = str(path)
    bpy.ops.render.render(animation=True)
    return path


def _as_mp4(scene: bpy.types.Scene) -> None:
    if hasattr(scene.render.image_settings, "media_type"):  # since Blender 5.0
        scene.render.image_settings.media_type = "VIDEO"
    scene.render.image_settings.file_format = "FFMPEG"
    ffmpeg = scene.render.ffmpeg
    ffmpeg.format, ffmpeg.codec, ffmpeg.constant_rate_factor = "MPEG4", "H264", "PERC_LOSSLESS"
    ffmpeg.gopsize, ffmpeg.audio_codec = 15, "NONE"
