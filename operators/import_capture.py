"""File > Import > Hand Capture, and dropping a capture on a 3D view."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, IntProperty, StringProperty

from ..capture.formats import SUFFIXES
from ..capture.markers import Markers
from ..capture.scene_files import SCENE_SUFFIXES
from ..hand.generators import Progress, Steps, part_of
from ..pipeline.report import key_rate_warning
from ..rig.keys.frame_times import scene_frames, scene_rate, set_scene_rate
from ..rig.sources.reading import read_capture
from .job import JobOperator, no_job_runs
from .load_capture import describe_capture, describe_hands, relative_path, show_capture
from .reading_properties import (
    CAMERA_PROPERTIES,
    angle_of_view_property,
    camera_reading,
    hand_length_property,
    landmarks_property,
    rate_property,
    unit_property,
    up_property,
)
from .reports import report_message
from .scene_recipe import kept_transform, recipe_for
from .setting_properties import plain

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Scene


FROM_SCENE = ("unit", "up", "rate", "start", *CAMERA_PROPERTIES)
"""Options that are stored in the scene."""


class CaptureJob(JobOperator):
    """Mixin of operators that read a capture and show its markers."""

    def read(self, context: "Context", path: str, **reading: Any) -> Steps[None]:
        """Read a capture, see `read_capture`, and find its hands; `reading` replaces fields of the recipe."""
        self._path = path
        self._recipe = replace(recipe_for(context.scene, bpy.path.abspath(path)), **reading)
        kept_transform(context.scene)  # raises for invalid options before anything is shown
        self._markers = yield from part_of(0.0, 0.5, "", read_capture(self._recipe))
        self._found = yield from part_of(0.5, 1.0, "Finding hands", describe_hands(self._recipe, self._markers))

    def finish(self, context: "Context") -> None:
        """Show the markers, selected and in view, and the facts in the panel."""
        scene, settings, markers = context.scene, context.scene.knuckle, self._markers
        settings.capture = self._path
        if not settings.use_range:
            settings.first, settings.last = 1, len(markers.times)
        if not settings.start <= scene.frame_current <= last_frame(scene, markers):
            # Outside of these frames nothing is shown.
            scene.frame_set(settings.start)
        select_only(context, show_capture(context, markers, self._recipe.capture, self._found))
        frame_selected(context)
        keyed_at = {"SCENE": scene_rate(scene), "CAPTURE": None, "OTHER": settings.fps}[settings.keys]
        sentences = [describe_capture(markers, self._found), key_rate_warning(markers.rate, keyed_at)]
        report_message(self, "INFO", ". ".join(filter(None, sentences)))


def last_frame(scene: "Scene", markers: Markers) -> float:
    """Return the frame of the scene on which a capture ends."""
    return float(scene.knuckle.start + markers.duration * scene_rate(scene))


class CaptureFileJob(CaptureJob):
    """Mixin of operators that read the file `filepath`, which is dropped or chosen in the file browser."""

    filepath: str

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available while no job is running."""
        return no_job_runs(cls, context)

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Read a dropped file; otherwise open the file browser first."""
        if self.filepath:
            return super().invoke(context, event)
        context.window_manager.fileselect_add(self)  # type: ignore[arg-type]  # a mixin of operators
        return {"RUNNING_MODAL"}

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Read the file immediately in a script, or as a job if the user chose it in the file browser."""
        is_from_file_browser = self.options.is_invoke and not self.options.is_repeat
        return self.begin(context) if is_from_file_browser else super().execute(context)


class KNUCKLE_OT_import_capture(CaptureFileJob, bpy.types.Operator):
    """Read the recording of a hand and show its markers in the scene"""

    bl_idname = "knuckle.import_capture"
    bl_label = "Import Hand Capture"
    bl_options = {"REGISTER", "UNDO"}

    filepath: StringProperty(
        name="File",
        description="The recording of a hand",
        subtype="FILE_PATH",
        options={"SKIP_SAVE", "HIDDEN", "PATH_SUPPORTS_BLEND_RELATIVE"},
    )
    filter_glob: StringProperty(
        default=";".join(f"*{suffix}" for suffix in SUFFIXES + SCENE_SUFFIXES), options={"HIDDEN"}
    )
    unit: unit_property()
    up: up_property()
    rate: rate_property()
    landmarks: landmarks_property()
    angle_of_view: angle_of_view_property()
    hand_length: hand_length_property()
    start: IntProperty(name="Start Frame", description="Frame of the scene on which the capture starts", default=1)
    set_rate: BoolProperty(
        name="Set Scene Frame Rate", description="Give the scene the capture's frame rate", default=False
    )
    set_range: BoolProperty(
        name="Set Scene Range", description="Make the scene's frame range that of the capture", default=False
    )

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Start with the options that are stored in the scene."""
        for name in FROM_SCENE:
            if not self.properties.is_property_set(name):
                setattr(self, name, getattr(context.scene.knuckle, name))
        return super().invoke(context, event)

    def draw(self, _context: "Context") -> None:
        """Draw the options beside the file browser."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(heading="File")
        for name in ("unit", "up", "rate"):
            column.prop(self, name)
        column = layout.column(heading="Camera")
        for name in CAMERA_PROPERTIES:
            column.prop(self, name)
        column = layout.column(heading="Scene")
        for name in ("start", "set_rate", "set_range"):
            column.prop(self, name)

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Read the capture and find its hands."""
        self._chosen = {name: self._choice(context, name) for name in FROM_SCENE}
        rate = plain(self._chosen["rate"]) or None
        camera = camera_reading(*(self._chosen[name] for name in CAMERA_PROPERTIES))
        yield from self.read(
            context, relative_path(self.filepath), unit=self._chosen["unit"], up=self._chosen["up"], rate=rate, **camera
        )
        frame_rate = self._markers.rate if self.set_rate else scene_rate(context.scene)
        # Raises RigError before anything is changed.
        scene_frames([0.0, self._markers.duration], 0.0, self._chosen["start"], frame_rate)

    def _choice(self, context: "Context", name: str) -> Any:
        """Return an option as chosen in the operator, or else in the scene."""
        source = self if self.properties.is_property_set(name) else context.scene.knuckle
        return getattr(source, name)

    def finish(self, context: "Context") -> None:
        """Store the options in the scene, and show the markers."""
        scene = context.scene
        if self.set_rate:
            set_scene_rate(scene, self._markers.rate)
        for name, value in self._chosen.items():
            setattr(scene.knuckle, name, value)
        super().finish(context)
        if self.set_range:
            scene.frame_start = max(scene.knuckle.start, 0)
            scene.frame_end = max(ceil(last_frame(scene, self._markers) - 1e-4), 1)


def select_only(context: "Context", *objects: bpy.types.Object) -> None:
    """Select these objects only and make the first the active one. Objects outside the view layer are skipped."""
    # The view layer does not include objects that were just linked.
    context.view_layer.update()
    selectable = [obj for obj in objects if context.view_layer.objects.get(obj.name) == obj]
    if not selectable:
        return
    for obj in context.selected_objects:
        obj.select_set(False)
    for obj in selectable:
        obj.select_set(True)
    context.view_layer.objects.active = selectable[0]


def frame_selected(context: "Context") -> None:
    """Frame the selected objects in the 3D views of the window, if there is one."""
    window = context.window_manager.windows[0] if context.window is None else context.window
    for area in window.screen.areas if not bpy.app.background else ():
        region = next((region for region in area.regions if region.type == "WINDOW"), None)
        if area.type == "VIEW_3D" and region is not None:
            with context.temp_override(window=window, area=area, region=region):
                bpy.ops.view3d.view_selected()


class _DropOnView:
    """Mixin of file handlers that import captures."""

    bl_label = "Hand Capture"
    bl_import_operator = "knuckle.import_capture"

    @classmethod
    def poll_drop(cls, context: "Context") -> bool:
        """Accept drops on 3D views only."""
        return context.area is not None and context.area.type == "VIEW_3D"


class KNUCKLE_FH_capture(_DropOnView, bpy.types.FileHandler):
    """Imports captures that are dropped on a 3D view."""

    bl_idname = "KNUCKLE_FH_capture"
    bl_file_extensions = ";".join(SUFFIXES)


class KNUCKLE_FH_scene(_DropOnView, bpy.types.FileHandler):
    """Offers scenes that are dropped on a 3D view as captures: Blender asks which of its importers is meant."""

    bl_idname = "KNUCKLE_FH_scene"
    bl_file_extensions = ";".join(SCENE_SUFFIXES)


def draw_import(self: bpy.types.Menu, _context: "Context") -> None:
    """Draw the entry in File > Import."""
    suffixes = "/".join(suffix for suffix in (".c3d", ".trc", ".csv", ".tsv", ".bvh", ".fbx", ".glb", ".usd"))
    self.layout.operator(KNUCKLE_OT_import_capture.bl_idname, text=f"Hand Capture ({suffixes})")


CLASSES = (
    KNUCKLE_OT_import_capture,
    KNUCKLE_FH_capture,
    KNUCKLE_FH_scene,
)
MENUS = ((bpy.types.TOPBAR_MT_file_import, draw_import),)
