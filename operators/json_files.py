"""Load and save JSON files: performers, marker maps, recipes and reports."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from ..errors import KnuckleError, RecipeError
from ..files import write_json
from ..hand import marker_sets
from ..pipeline import performer
from ..pipeline.recipe import decode_json, from_dict, read_json, to_dict
from ..rig.keys.take_report import report_of
from .scene_recipe import apply_recipe, recipe_of

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


class _LoadJson(ImportHelper):
    """Mixin that reads a JSON file and passes it to `take`."""

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Read the file and store its content."""
        try:
            self.take(context, read_json(self.filepath), Path(self.filepath).name)
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def take(self, context: "Context", data: Any, where: str) -> None:
        """Store decoded JSON. Raises KnuckleError, and then nothing has changed."""
        raise NotImplementedError


class _SaveJson(ExportHelper):
    """Mixin that writes what `give` returns to a JSON file."""

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Write the file."""
        try:
            write_json(Path(self.filepath), self.give(context))
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def give(self, context: "Context") -> Any:
        """Return what to write. Raises KnuckleError."""
        raise NotImplementedError


class KNUCKLE_OT_load_performer(_LoadJson, bpy.types.Operator):
    """Use the measures of a performer from a file, instead of measuring this capture"""

    bl_idname = "knuckle.load_performer"
    bl_label = "Load Performer"
    bl_options = {"REGISTER", "UNDO"}

    def take(self, context: "Context", data: Any, where: str) -> None:
        """Store the performer in the scene."""
        performer.from_dict(data, where)
        context.scene.knuckle.performer = json.dumps(data)


class KNUCKLE_OT_save_performer(_SaveJson, bpy.types.Operator):
    """Save the performer's measures, to solve other captures of the same person with them"""

    bl_idname = "knuckle.save_performer"
    bl_label = "Save Performer"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a performer."""
        if not context.scene.knuckle.performer:
            cls.poll_message_set("There are no measures to save, measure the performer first")
            return False
        return True

    def give(self, context: "Context") -> Any:
        """Return the scene's performer."""
        return decode_json(context.scene.knuckle.performer, "the performer of this scene")


class KNUCKLE_OT_load_markers(_LoadJson, bpy.types.Operator):
    """Use a file that says which label is which joint, for marker sets that are not known"""

    bl_idname = "knuckle.load_markers"
    bl_label = "Load Marker Map"
    bl_options = {"REGISTER", "UNDO"}

    def take(self, context: "Context", data: Any, where: str) -> None:
        """Store the marker map in the scene."""
        marker_sets.from_json(data, where)
        context.scene.knuckle.marker_map = json.dumps(data)


class KNUCKLE_OT_load_recipe(_LoadJson, bpy.types.Operator):
    """Take all settings from a recipe, as the knuckle command and other scenes save it"""

    bl_idname = "knuckle.load_recipe"
    bl_label = "Load Recipe"
    bl_options = {"REGISTER", "UNDO"}

    def take(self, context: "Context", data: Any, where: str) -> None:
        """Apply the recipe to the scene."""
        apply_recipe(from_dict(data, where), context.scene, where)


class KNUCKLE_OT_save_recipe(_SaveJson, bpy.types.Operator):
    """Save all settings as a recipe, to run the same with the knuckle command or in another scene"""

    bl_idname = "knuckle.save_recipe"
    bl_label = "Save Recipe"

    def give(self, context: "Context") -> Any:
        """Return the scene's recipe."""
        return to_dict(recipe_of(context.scene))


class KNUCKLE_OT_export_report(_SaveJson, bpy.types.Operator):
    """Save the figures of the last take as a file"""

    bl_idname = "knuckle.export_report"
    bl_label = "Export Report"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a result."""
        if report_of(result_armature(context)) is None:
            cls.poll_message_set("There is no result yet, solve a capture")
            return False
        return True

    def give(self, context: "Context") -> Any:
        """Return the report of the take that the panel shows."""
        report = report_of(result_armature(context))
        if report is None:
            raise RecipeError("there is no result yet, solve a capture")
        return report


def result_armature(context: "Context") -> bpy.types.Object | None:
    """Return the armature whose result is shown: the active one if it has a take, else the one solved last."""
    active = context.active_object
    return active if report_of(active) is not None else context.scene.knuckle.result


class KNUCKLE_OT_forget(bpy.types.Operator):
    """Go back to what Knuckle finds by itself"""

    bl_idname = "knuckle.forget"
    bl_label = "Forget"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    what: EnumProperty(
        name="What",
        items=[
            ("performer", "Performer", "Measure the performer on the capture"),
            ("marker_map", "Marker Map", "Find the marker set that fits"),
            ("rig_file", "Rig File", "Use the rig that is chosen here"),
        ],
        options={"SKIP_SAVE"},
    )

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Clear the setting."""
        setattr(context.scene.knuckle, self.what, "")
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_load_performer,
    KNUCKLE_OT_save_performer,
    KNUCKLE_OT_load_markers,
    KNUCKLE_OT_load_recipe,
    KNUCKLE_OT_save_recipe,
    KNUCKLE_OT_export_report,
    KNUCKLE_OT_forget,
)
