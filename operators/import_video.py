"""File > Import > Hands from Video, and dropping a video on a 3D view."""

import json
from collections.abc import Iterator
from math import ceil, radians
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, IntProperty, StringProperty

from ..capture.devices.raw_take_recorder import free_path
from ..capture.devices.video_tracking import VIDEO_SUFFIXES, track_video
from ..capture.protocols.camera_video import CameraVideo
from ..files import written_whole
from ..hand.generators import Progress, part_of
from ..pipeline.camera_hands import ANGLE_OF_VIEW
from ..rig.keys.frame_times import scene_frames, scene_rate, set_scene_rate
from ..rig.video_camera import VideoTiming, add_video_camera
from .import_capture import CaptureFileJob
from .load_capture import relative_path
from .reading_properties import (
    CAMERA_PROPERTIES,
    angle_of_view_property,
    camera_reading,
    hand_length_property,
    landmarks_property,
)

if TYPE_CHECKING:
    from bpy.types import Context


class KNUCKLE_OT_import_video(CaptureFileJob, bpy.types.Operator):
    """Find the hands in a video with an installed Chromium, Chrome or Edge, and show them as a capture"""

    bl_idname = "knuckle.import_video"
    bl_label = "Import Hands from Video"
    bl_options = {"UNDO"}  # Without REGISTER, since redoing it with another option would process the video again.

    filepath: StringProperty(name="File", description="The video", subtype="FILE_PATH", options={"SKIP_SAVE", "HIDDEN"})
    filter_glob: StringProperty(default=";".join(f"*{suffix}" for suffix in VIDEO_SUFFIXES), options={"HIDDEN"})
    start: IntProperty(name="Start Frame", description="Frame of the scene on which the video starts", default=1)
    match_scene: BoolProperty(
        name="Match Scene to Video",
        description="Give the scene the video's frame rate, range and resolution",
        default=True,
    )
    add_camera: BoolProperty(
        name="Video Behind the Hand", description="Add a camera that shows the video behind the hand", default=True
    )
    landmarks: landmarks_property()
    angle_of_view: angle_of_view_property()
    hand_length: hand_length_property()

    def draw(self, _context: "Context") -> None:
        """Draw the options beside the file browser."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        for name in ("start", "match_scene", "add_camera", *CAMERA_PROPERTIES):
            layout.prop(self, name)

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Find the hands, keep their landmarks beside the video, and read them."""
        video = Path(bpy.path.abspath(self.filepath))
        landmarks = free_path(video.parent, video.stem, ".json")
        with written_whole(landmarks) as temporary:
            temporary.touch()  # fails before the work if the folder cannot be written to
            self._video: CameraVideo = yield from part_of(0.0, 0.95, "", track_video(video))
            temporary.write_bytes(self._video.as_json())
        self._camera = camera_reading(self.landmarks, self.angle_of_view, self.hand_length)
        yield from part_of(0.95, 1.0, "Reading", self.read(context, relative_path(str(landmarks)), **self._camera))
        # Raises RigError before anything is changed.
        scene_frames([0.0, self._markers.duration], 0.0, self.start, self._rate(context))

    def _rate(self, context: "Context") -> float:
        return self._markers.rate if self.match_scene else scene_rate(context.scene)

    def finish(self, context: "Context") -> None:
        """Show the markers, and the video behind them."""
        scene = context.scene
        timing = VideoTiming(self.start, [json.loads(frame)["time_s"] for frame in self._video.frames])
        if self.match_scene:
            set_scene_rate(scene, self._rate(context))
            scene.frame_start = max(self.start, 0)
            scene.frame_end = max(ceil(timing.last(scene_rate(scene))), scene.frame_start)
            scene.render.resolution_x, scene.render.resolution_y = self._video.width, self._video.height
        scene.knuckle.start = self.start
        for name in CAMERA_PROPERTIES:
            setattr(scene.knuckle, name, getattr(self, name))
        super().finish(context)
        if self.add_camera:
            video = Path(bpy.path.abspath(self.filepath))
            angle = radians(self._camera["angle_of_view"] or ANGLE_OF_VIEW)
            camera = add_video_camera(scene, context.collection, video, timing, angle)
            if scene.camera is None or self.match_scene:
                scene.camera = camera


class KNUCKLE_FH_video(bpy.types.FileHandler):
    """Offers videos that are dropped on a 3D view: Blender asks which of its importers is meant."""

    bl_idname = "KNUCKLE_FH_video"
    bl_label = "Hands from Video"
    bl_import_operator = "knuckle.import_video"
    bl_file_extensions = ";".join(VIDEO_SUFFIXES)

    @classmethod
    def poll_drop(cls, context: "Context") -> bool:
        """Accept drops on 3D views only."""
        return context.area is not None and context.area.type == "VIEW_3D"


def draw_import(self: bpy.types.Menu, _context: "Context") -> None:
    """Draw the entry in File > Import."""
    suffixes = "/".join(VIDEO_SUFFIXES[i] for i in (0, 2, 3))
    self.layout.operator(KNUCKLE_OT_import_video.bl_idname, text=f"Hands from Video ({suffixes})")


CLASSES = (
    KNUCKLE_OT_import_video,
    KNUCKLE_FH_video,
)
MENUS = ((bpy.types.TOPBAR_MT_file_import, draw_import),)
