"""Long work with progress and cancel: one generator of steps, two drivers.

Scripts and tests exhaust it in `execute`; a person's click runs it in slices between redraws, until it is done or
ESC is pressed. The scene is written to after the last step only, so a cancelled job leaves nothing behind.
"""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import bpy

from ..errors import KnuckleError
from ..pipeline import Progress

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event

SLICE = 0.25
"""s of work between two redraws: shorter slices give most of the time to drawing."""


class JobOperator:
    """What an operator with long work is made of, beside bpy.types.Operator; it defines `steps` and `finish`."""

    def steps(self, context: "Context") -> Iterator[Progress]:
        """The work, step by step, without touching the scene. Raises KnuckleError."""
        raise NotImplementedError

    def finish(self, context: "Context") -> None:
        """Writes what the steps found to the scene: all of it, or nothing if it raises KnuckleError."""
        raise NotImplementedError

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Runs to the end at once."""
        try:
            for _ in self.steps(context):
                pass
            self.finish(context)
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Runs in slices, with progress."""
        if bpy.app.background:
            return self.execute(context)
        self._work = self.steps(context)
        self._timer = context.window_manager.event_timer_add(0.01, window=context.window)
        self._show(context, Progress(0.0, "Starting"))
        context.window_manager.modal_handler_add(self)  # type: ignore[arg-type]  # an Operator where it is used
        return {"RUNNING_MODAL"}

    def modal(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """One slice, or the end."""
        if event.type == "ESC":
            self.cancel(context)
            self.report({"INFO"}, "Cancelled, nothing was changed")
            return {"CANCELLED"}
        if event.type != "TIMER":
            # Between the slices the person may look around, but must not change what is being worked on.
            return {"PASS_THROUGH"} if event.type in LOOKING else {"RUNNING_MODAL"}
        try:
            if self._slice(context):
                return {"RUNNING_MODAL"}
            self._tidy(context)
            self.finish(context)
        except KnuckleError as error:
            self._tidy(context)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except Exception:
            self._tidy(context)
            raise
        return {"FINISHED"}

    def _slice(self, context: "Context") -> bool:
        """Works for a while; whether there is more to do."""
        end = time.perf_counter() + SLICE
        for progress in self._work:
            if time.perf_counter() >= end:
                self._show(context, progress)
                return True
        return False

    def cancel(self, context: "Context") -> None:
        """Also called by Blender, when a file is loaded over the job."""
        self._work.close()
        self._tidy(context)

    def _show(self, context: "Context", progress: Progress) -> None:
        status = context.window_manager.knuckle
        status.running, status.fraction, status.doing = True, progress.fraction, progress.doing
        context.workspace.status_text_set(f"Knuckle: {progress.doing}, {progress.fraction:.0%}    ESC: cancel")
        _redraw(context)

    def _tidy(self, context: "Context") -> None:
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.knuckle.running = False
        if context.workspace:
            context.workspace.status_text_set(None)
        _redraw(context)


LOOKING = {"MOUSEMOVE", "INBETWEEN_MOUSEMOVE", "MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE"} | {
    "TRACKPADPAN",
    "TRACKPADZOOM",
}
"""The events by which a person turns and zooms a view."""


def _redraw(context: "Context") -> None:
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def nothing_runs(operator: type, context: "Context") -> bool:
    """For poll: only one job at a time."""
    if context.window_manager.knuckle.running:
        operator.poll_message_set("Another job of Knuckle is running, press ESC to cancel it")
        return False
    return True
