"""A camera that shows a video behind the scene, in step with it."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from .keys.fcurves import curves_on
from .keys.frame_times import scene_rate

if TYPE_CHECKING:
    from bpy.types import Collection, Object, Scene

SENSOR_MM = 36.0


@dataclass(frozen=True, slots=True)
class VideoTiming:
    """When the frames of a video are shown."""

    start: int
    """Frame of the scene on which the video starts."""
    times: Sequence[float]
    """(F,) s of the video's frames, ascending."""

    def video_frame(self, frame: int, rate: float) -> int:
        """Return the number of the video's frame, from 0, that is shown on a frame of a scene of `rate` Hz."""
        # Half a millisecond: times are rounded in the file.
        seconds = (frame - self.start) / rate + self.times[0] + 5e-4
        return min(max(bisect_right(self.times, seconds) - 1, 0), len(self.times) - 1)

    def last(self, rate: float) -> int:
        """Return the frame of a scene of `rate` Hz on which the video ends."""
        return self.start + round((self.times[-1] - self.times[0]) * rate)


def add_video_camera(
    scene: "Scene", collection: "Collection", video: Path, timing: VideoTiming, angle_of_view: float
) -> "Object":
    """Add a camera at the origin that looks along +Y, as the one did whose hands are captured, with its video behind.

    angle_of_view: rad, across the picture's longer side. The collection is one of the scene's.
    """
    data = bpy.data.cameras.new(f"Video {video.stem}")
    data.sensor_fit, data.sensor_width, data.angle = "AUTO", SENSOR_MM, angle_of_view
    data.clip_start = 0.01
    image = bpy.data.images.load(str(video), check_existing=True)
    background = data.background_images.new()
    background.image, background.alpha, background.display_depth = image, 1.0, "BACK"
    background.frame_method = "FIT"
    data.show_background_images = True
    _set_timing(scene, data, background.image_user, timing)
    camera = bpy.data.objects.new(data.name, data)
    camera.rotation_euler = (pi / 2, 0.0, 0.0)
    collection.objects.link(camera)
    return camera


def _set_timing(scene: "Scene", data: bpy.types.Camera, user: bpy.types.ImageUser, timing: VideoTiming) -> None:
    """Set which frames are shown: Blender shows one for each of the scene; if rates differ, the offset is keyed."""
    rate = scene_rate(scene)
    last = timing.last(rate)
    user.frame_start, user.frame_duration = timing.start, max(len(timing.times), last - timing.start + 1)
    user.use_auto_refresh = True
    offsets = [timing.video_frame(frame, rate) - (frame - timing.start) for frame in range(timing.start, last + 1)]
    user.frame_offset = offsets[0]
    if not any(offset != offsets[0] for offset in offsets):
        return
    for number, offset in enumerate(offsets):
        if number == 0 or offset != offsets[number - 1]:
            user.frame_offset = offset
            user.keyframe_insert("frame_offset", frame=timing.start + number)
    for curve in curves_on(data):
        for key in curve.keyframe_points:
            key.interpolation = "CONSTANT"
