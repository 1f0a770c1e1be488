"""Load and save JSON files: performers, marker maps, recipes and reports."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from ..errors import KnuckleError, RecipeError
from ..files import write_json
from ..hand import marker_sets
from ..pipeline import performer
from ..pipeline.recipe import decode_json, from_dict, read_json, to_dict
from ..rig.keys.corrections.written_take import corrections_report
from ..rig.keys.take_report import report_of
from ..rig.keys.take_scene import armatures_of_take
from .reports import report_message
from .scene_recipe import apply_recipe, recipe_of

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


class LoadJson(ImportHelper):
    """Mixin that reads a JSON file and passes it to `store`."""

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Read the file and store its content."""
        try:
            self.store(context, read_json(self.filepath), Path(self.filepath).name)
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def store(self, context: "Context", data: Any, where: str) -> None:
        """Store decoded JSON. Raises KnuckleError, and then nothing has changed."""
        raise NotImplementedError


class SaveJson(ExportHelper):
    """Mixin that writes the result of `content` to a JSON file."""

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Write the file."""
        try:
            write_json(Path(self.filepath), self.content(context))
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def content(self, context: "Context") -> Any:
        """Return the content of the file. Raises KnuckleError."""
        raise NotImplementedError


class KNUCKLE_OT_load_performer(LoadJson, bpy.types.Operator):
    """Load a performer's measurements from a file, instead of measuring the performer on this capture"""

    bl_idname = "knuckle.load_performer"
    bl_label = "Load Performer"
    bl_options = {"REGISTER", "UNDO"}

    def store(self, context: "Context", data: Any, where: str) -> None:
        """Store the performer in the scene."""
        performer.from_dict(data, where)
        context.scene.knuckle.performer = json.dumps(data)


class KNUCKLE_OT_save_performer(SaveJson, bpy.types.Operator):
    """Save the performer's measurements to a file, for other captures of the same person"""

    bl_idname = "knuckle.save_performer"
    bl_label = "Save Performer"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a performer."""
        if not context.scene.knuckle.performer:
            cls.poll_message_set("There are no measurements to save, calibrate the performer first")
            return False
        return True

    def content(self, context: "Context") -> Any:
        """Return the scene's performer."""
        return decode_json(context.scene.knuckle.performer, "the performer of this scene")


class KNUCKLE_OT_load_markers(LoadJson, bpy.types.Operator):
    """Load a file that assigns marker labels to joints, for unknown marker sets"""

    bl_idname = "knuckle.load_markers"
    bl_label = "Load Marker Map"
    bl_options = {"REGISTER", "UNDO"}

    def store(self, context: "Context", data: Any, where: str) -> None:
        """Store the marker map in the scene."""
        marker_sets.from_json(data, where)
        context.scene.knuckle.marker_map = json.dumps(data)


class KNUCKLE_OT_save_markers(SaveJson, bpy.types.Operator):
    """Save which label is which joint, for other captures with the same labels and for the knuckle command"""

    bl_idname = "knuckle.save_markers"
    bl_label = "Save Marker Map"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a marker map."""
        if not context.scene.knuckle.marker_map:
            cls.poll_message_set("There is no marker map to save, assign the markers first")
            return False
        return True

    def content(self, context: "Context") -> Any:
        """Return the scene's marker map."""
        return decode_json(context.scene.knuckle.marker_map, "the marker map of this scene")


class KNUCKLE_OT_load_recipe(LoadJson, bpy.types.Operator):
    """Load all settings from a recipe file of the knuckle command or of another scene"""

    bl_idname = "knuckle.load_recipe"
    bl_label = "Load Recipe"
    bl_options = {"REGISTER", "UNDO"}

    def store(self, context: "Context", data: Any, where: str) -> None:
        """Apply the recipe to the scene."""
        apply_recipe(from_dict(data, where), context.scene, where)


class KNUCKLE_OT_save_recipe(SaveJson, bpy.types.Operator):
    """Save all settings as a recipe file, for the knuckle command or another scene"""

    bl_idname = "knuckle.save_recipe"
    bl_label = "Save Recipe"

    def content(self, context: "Context") -> Any:
        """Return the scene's recipe."""
        return to_dict(recipe_of(context.scene))


class KNUCKLE_OT_export_report(SaveJson, bpy.types.Operator):
    """Export the errors and notes of the last take to a JSON file"""

    bl_idname = "knuckle.export_report"
    bl_label = "Export Report"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a result."""
        if report_of(result_armature(context)) is None:
            cls.poll_message_set("There is no result yet, solve a capture")
            return False
        return True

    def content(self, context: "Context") -> Any:
        """Return the report of the take that the panel shows."""
        report = report_of(result_armature(context))
        if report is None:
            raise RecipeError("there is no result yet, solve a capture")
        armature = result_armature(context)
        assert armature is not None, "it has the report"
        report_now = corrections_report(armatures_of_take(armature, context.scene), context.scene)
        return report | {"corrections": report_now}


def result_armature(context: "Context") -> bpy.types.Object | None:
    """Return the armature whose result is shown: the active one if it has a take, else the one solved last."""
    active = context.active_object
    return active if report_of(active) is not None else context.scene.knuckle.result


CLASSES = (
    KNUCKLE_OT_load_performer,
    KNUCKLE_OT_save_performer,
    KNUCKLE_OT_load_markers,
    KNUCKLE_OT_save_markers,
    KNUCKLE_OT_load_recipe,
    KNUCKLE_OT_save_recipe,
    KNUCKLE_OT_export_report,
)
