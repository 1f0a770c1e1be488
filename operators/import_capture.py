"""File > Import > Hand Capture, and dropping a capture on a 3D view."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import bpy
from bpy.props import StringProperty

from ..capture.formats import SUFFIXES
from ..capture.scene_files import SCENE_SUFFIXES
from ..hand.generators import Progress, part_of
from ..rig.sources.reading import read_capture
from .job import JobOperator, no_job_runs
from .load_capture import found_hands, relative, show_capture
from .scene_recipe import recipe_for

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event


class CaptureJob(JobOperator):
    """Mixin of operators that read a capture and show its markers."""

    def read(self, context: "Context", path: str) -> Iterator[Progress]:
        """Read a capture, see `read_capture`, and find its hands."""
        self._path = path
        self._recipe = recipe_for(context.scene, bpy.path.abspath(path))
        self._markers = yield from part_of(0.0, 0.5, "", read_capture(self._recipe))
        self._found = yield from part_of(0.5, 1.0, "Finding hands", found_hands(self._recipe, self._markers))

    def finish(self, context: "Context") -> None:
        """Show the markers, and the facts in the panel."""
        chosen = context.scene.knuckle
        chosen.capture = self._path
        if not chosen.use_range:
            chosen.first, chosen.last = 1, len(self._markers.times)
        select_only(context, show_capture(context, self._markers, self._recipe.capture, self._found))


class KNUCKLE_OT_import_capture(CaptureJob, bpy.types.Operator):
    """Read the recording of a hand and show its markers in the scene"""

    bl_idname = "knuckle.import_capture"
    bl_label = "Import Hand Capture"
    bl_options = {"REGISTER", "UNDO"}

    filepath: StringProperty(
        name="File", description="The recording of a hand", subtype="FILE_PATH", options={"SKIP_SAVE", "HIDDEN"}
    )
    filter_glob: StringProperty(
        default=";".join(f"*{suffix}" for suffix in SUFFIXES + SCENE_SUFFIXES), options={"HIDDEN"}
    )

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available while no job is running."""
        return no_job_runs(cls, context)

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Read a dropped file; otherwise open the file browser first."""
        if self.filepath:
            return super().invoke(context, event)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Read the capture at once in a script, or as a job if a person chose it in the file browser."""
        chosen_by_hand = self.options.is_invoke and not self.options.is_repeat
        return self.begin(context) if chosen_by_hand else super().execute(context)

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Read the capture and find its hands."""
        yield from self.read(context, relative(self.filepath))


def select_only(context: "Context", *objects: bpy.types.Object) -> None:
    """Select these objects only and make the first the active one. Objects outside the view layer are skipped."""
    shown = [obj for obj in objects if context.view_layer.objects.get(obj.name) == obj]
    if not shown:
        return
    for obj in context.selected_objects:
        obj.select_set(False)
    for obj in shown:
        obj.select_set(True)
    context.view_layer.objects.active = shown[0]


class KNUCKLE_FH_capture(bpy.types.FileHandler):
    """Imports captures that are dropped on a 3D view."""

    bl_idname = "KNUCKLE_FH_capture"
    bl_label = "Hand Capture"
    bl_import_operator = "knuckle.import_capture"
    bl_file_extensions = ";".join(SUFFIXES)

    @classmethod
    def poll_drop(cls, context: "Context") -> bool:
        """Accept drops on 3D views only."""
        return context.area is not None and context.area.type == "VIEW_3D"


class KNUCKLE_FH_scene(bpy.types.FileHandler):
    """Offers scenes that are dropped on a 3D view as captures: Blender asks which of its importers is meant."""

    bl_idname = "KNUCKLE_FH_scene"
    bl_label = "Hand Capture"
    bl_import_operator = "knuckle.import_capture"
    bl_file_extensions = ";".join(SCENE_SUFFIXES)

    @classmethod
    def poll_drop(cls, context: "Context") -> bool:
        """Accept drops on 3D views only."""
        return context.area is not None and context.area.type == "VIEW_3D"


def draw_import(self: bpy.types.Menu, _context: "Context") -> None:
    """Draw the entry in File > Import."""
    shown = "/".join(suffix for suffix in (".c3d", ".trc", ".csv", ".tsv", ".bvh", ".fbx", ".glb", ".usd"))
    self.layout.operator(KNUCKLE_OT_import_capture.bl_idname, text=f"Hand Capture ({shown})")


CLASSES = (
    KNUCKLE_OT_import_capture,
    KNUCKLE_FH_capture,
    KNUCKLE_FH_scene,
)
MENUS = ((bpy.types.TOPBAR_MT_file_import, draw_import),)
