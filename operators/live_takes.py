"""Record takes of a device, list and key them."""

from typing import TYPE_CHECKING

import bpy

from ..errors import KnuckleError
from ..hand.generators import Steps
from ..pipeline.live.take_buffer import MAX_FRAMES
from .job import JobOperator
from .live_device import WhileFollowing, end_take, unkeyed
from .live_loop import EndedTake
from .reports import report_message
from .session import SESSION
from .take_folder import folder_of

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event


class KeyingOperator(JobOperator):
    """Mixin of operators that may end a take, whose keys are then made in slices. Escape leaves it without keys."""

    def end(self, context: "Context") -> EndedTake | None:
        """Run the operator; return the take that was being recorded, if it ends."""
        raise NotImplementedError

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """End the take, and key it in slices."""
        self._take = self.end(context)
        return {"FINISHED"} if self._take is None else self.begin(context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """End the take and key it immediately."""
        self._take = self.end(context)
        return {"FINISHED"} if self._take is None else JobOperator.execute(self, context)

    def steps(self, context: "Context") -> Steps[None]:
        """Report where the take is, and key it."""
        assert self._take is not None
        recorder = self._take.recorder
        self.cancelled = f"No keys were made, the raw take was kept: {recorder.path}"
        report_message(self, "WARNING" if recorder.problem else "INFO", recorder.problem or f"Recorded {recorder.path}")
        try:
            yield from self._take.keying()
        except KnuckleError as error:
            report_message(self, "WARNING", unkeyed(error))

    def cancel(self, context: "Context") -> None:
        """Leave the take without keys."""
        take = self._take
        super().cancel(context)
        if take is not None:
            take.drop()

    def finish(self, context: "Context") -> None:
        """Report which frames have no keys."""
        assert self._take is not None
        if self._take.buffer.full:
            report_message(self, "WARNING", f"Keys were made of its first {MAX_FRAMES} frames; the raw take holds all")
        if self._take.missed:
            report_message(
                self, "WARNING", f"{self._take.missed} frames came too fast to be keyed; the raw take holds them"
            )


class KNUCKLE_OT_live_record(WhileFollowing, KeyingOperator, bpy.types.Operator):
    """Start or stop recording a take: the device's data are saved to a file, and the displayed motion is keyed"""

    bl_idname = "knuckle.live_record"
    bl_label = "Record"
    bl_options = {"UNDO"}

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Begin a take, or end it and key it in slices."""
        return KeyingOperator.invoke(self, context, event) if _records() else self._start_take(context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Begin a take, or end it and key it immediately."""
        return KeyingOperator.execute(self, context) if _records() else self._start_take(context)

    def end(self, context: "Context") -> EndedTake | None:
        """End the take."""
        assert SESSION.live.run is not None
        return end_take(SESSION.live.run)

    def _start_take(self, context: "Context") -> "set[OperatorReturnItems]":
        assert SESSION.live.run is not None
        try:
            SESSION.live.run.record(folder_of(context.scene), context.scene.knuckle_live.take_name or "Take")
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


def _records() -> bool:
    """Return whether a take is being recorded."""
    return SESSION.live.run is not None and SESSION.live.run.receiver.recording is not None


class KNUCKLE_OT_live_forget_take(bpy.types.Operator):
    """Remove the selected take from the list. Its file and its keys are kept"""

    bl_idname = "knuckle.live_forget_take"
    bl_label = "Remove Take"
    bl_options = {"UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available if a take is selected."""
        settings = context.scene.knuckle_live
        if 0 <= settings.take < len(settings.takes):
            return True
        cls.poll_message_set("No take is selected")
        return False

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Remove the take from the list, and select the next one."""
        settings = context.scene.knuckle_live
        settings.takes.remove(settings.take)
        settings.take = max(min(settings.take, len(settings.takes) - 1), 0)
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_live_record,
    KNUCKLE_OT_live_forget_take,
)
