"""Export a report page of the take, or a comparison with another take."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, StringProperty
from bpy_extras.io_utils import ExportHelper

from ..errors import KnuckleError
from ..files import written_whole
from ..pipeline.report_page.content import NOT_REQUESTED
from ..pipeline.report_page.page import page
from ..rig.keys.corrections.take_base import composed_in
from ..rig.keys.corrections.take_marks import marked_take
from ..rig.keys.reviewed_takes import reviewed_take
from ..rig.keys.take_report import action_with_report, has_report
from ..rig.problem_pictures import problem_pictures
from .json_files import result_armature
from .reports import report_message

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


def _others(_operator: Any, context: "Context", _text: str) -> list[str]:
    """Return the names of the other takes of the file."""
    shown_action = action_with_report(result_armature(context))
    return [action.name for action in bpy.data.actions if action != shown_action and has_report(action)]


class KNUCKLE_OT_export_report_page(ExportHelper, bpy.types.Operator):
    """Export a report page of the take: what is wrong and where, plots, figures and pictures in one HTML file"""

    bl_idname = "knuckle.export_report_page"
    bl_label = "Export Report Page"

    filename_ext = ".html"
    filepath: StringProperty(
        name="File Path",
        description="The page's file",
        subtype="FILE_PATH",
        options={"PATH_SUPPORTS_BLEND_RELATIVE"},
    )
    filter_glob: StringProperty(default="*.html", options={"HIDDEN"})
    other: StringProperty(
        name="Compare With", description="Another take of this file to compare the take with", search=_others
    )
    pictures: BoolProperty(name="Pictures", description="Render the worst frames, up to 20 seconds", default=True)

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if there is a take, and no render or edit of it that pictures would disturb."""
        if action_with_report(result_armature(context)) is None:
            cls.poll_message_set("There is no result yet, solve a capture")
        elif context.mode not in ("OBJECT", "POSE"):
            cls.poll_message_set("Report pages are made in Object Mode and Pose Mode")
        elif bpy.app.is_job_running("RENDER"):
            cls.poll_message_set("Wait until the render has ended, because pictures are rendered")
        else:
            return True
        return False

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Write the page."""
        armature = result_armature(context)
        assert armature is not None, "poll"
        try:
            takes = [marked_take(action_with_report(armature), context.scene)]
            if self.other:
                other = self._other_action()
                # The base take has the corrections, but not their keys.
                is_corrected = composed_in(other) is not None
                takes.append(marked_take(other, context.scene) if is_corrected else reviewed_take(other))
            pictures = problem_pictures(takes[0], armature) if self.pictures else NOT_REQUESTED
            path = Path(bpy.path.abspath(self.filepath))
            with written_whole(path) as partial_file:
                partial_file.write_text(page(takes, pictures), encoding="utf-8")
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        report_message(self, "INFO", f"Saved {path.name}")
        return {"FINISHED"}

    def _other_action(self) -> "bpy.types.Action":
        """Return the action to compare with. Raises KnuckleError."""
        action: bpy.types.Action | None = bpy.data.actions.get(self.other)
        if action is None:
            raise KnuckleError(f"there is no action '{self.other}' in this file to compare with")
        return action


CLASSES = (KNUCKLE_OT_export_report_page,)
