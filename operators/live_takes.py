"""Record takes of a device, list and key them."""

from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ..errors import KnuckleError
from ..pipeline.live.take_buffer import MAX_FRAMES
from .live_device import WhileFollowing, end_take, unkeyed
from .live_loop import EndedTake
from .session import SESSION

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


class KNUCKLE_OT_live_record(WhileFollowing, bpy.types.Operator):
    """Begin or end a take: the device's data are saved to a file, and the displayed motion is keyed"""

    bl_idname = "knuckle.live_record"
    bl_label = "Record"
    bl_options = {"UNDO"}

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Begin or end a take."""
        assert SESSION.live.run is not None
        if SESSION.live.run.receiver.recording is not None:
            taken = end_take(SESSION.live.run)
            if taken is not None:
                key_taken(self, taken)
            return {"FINISHED"}
        try:
            SESSION.live.run.record(folder_of(context), context.scene.knuckle_live.take_name or "Take")
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


def key_taken(operator: bpy.types.Operator, taken: EndedTake) -> None:
    """Key a take that has ended, and report where it is."""
    recorder = taken.recorder
    operator.report({"WARNING" if recorder.problem else "INFO"}, recorder.problem or f"Recorded {recorder.path}")
    if taken.kept.full:
        operator.report({"WARNING"}, f"Keys were made of its first {MAX_FRAMES} frames; the raw take holds all")
    try:
        taken.key()
    except KnuckleError as error:
        operator.report({"WARNING"}, unkeyed(error))


class KNUCKLE_OT_live_forget_take(bpy.types.Operator):
    """Remove the selected take from the list. Its file and its keys are kept"""

    bl_idname = "knuckle.live_forget_take"
    bl_label = "Remove from List"
    bl_options = {"UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if a take is selected."""
        chosen = context.scene.knuckle_live
        if 0 <= chosen.take < len(chosen.takes):
            return True
        cls.poll_message_set("No take is chosen")
        return False

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Remove the take from the list, and select the next one."""
        chosen = context.scene.knuckle_live
        chosen.takes.remove(chosen.take)
        chosen.take = max(min(chosen.take, len(chosen.takes) - 1), 0)
        return {"FINISHED"}


def folder_of(context: "Context") -> Path:
    """Return the folder of raw takes: the chosen one, the .blend file's, or the extension's user directory."""
    chosen = context.scene.knuckle_live.folder
    if chosen or bpy.data.filepath:
        return Path(bpy.path.abspath(chosen or "//"))
    home = bpy.utils.user_resource("EXTENSIONS", path=".user/knuckle", create=True)
    return Path(home) / "takes"


CLASSES = (
    KNUCKLE_OT_live_record,
    KNUCKLE_OT_live_forget_take,
)
