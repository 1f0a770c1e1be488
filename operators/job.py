"""Long-running operators with progress and cancel: one generator of steps, two ways to run it.

Scripts and tests run it to its end in `execute`. A click runs it in slices between redraws, until it is done or Escape
is pressed. The scene is written after the last step only, so a cancelled job changes nothing.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy

from ..errors import KnuckleError, RigError
from ..hand.generators import Progress
from .reports import report_message

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Scene

SLICE_SECONDS = 0.25
"""s of work between two redraws. With shorter slices drawing would take most of the time."""


class JobOperator:
    """Mixin of operators with long work. The operator defines `steps` and `finish`."""

    cancelled = "Cancelled, nothing was changed"
    """The message after Escape."""

    def steps(self, context: "Context") -> Iterator[Progress]:
        """Work step by step without changing the scene. Raises KnuckleError."""
        raise NotImplementedError

    def finish(self, context: "Context") -> None:
        """Write the result to the scene: all of it, or nothing if it raises KnuckleError.

        The context has the scene, view layer and collection in which the job started.
        """
        raise NotImplementedError

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Run to the end without interruption."""
        try:
            self._start_context = _JobContext.of(context)
            for _ in self.steps(context):
                pass
            self._finish(context)
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        finally:
            release(self)
        return {"FINISHED"}

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Run in slices, with progress."""
        return self.begin(context)

    def begin(self, context: "Context") -> "set[OperatorReturnItems]":
        """Begin to run in slices, or run to the end without a window."""
        if bpy.app.background:
            return JobOperator.execute(self, context)
        self._start_context = _JobContext.of(context)
        self._work = self.steps(context)
        self._timer = context.window_manager.event_timer_add(0.01, window=context.window)
        self._show_progress(context, Progress(0.0, "Starting"))
        context.window_manager.modal_handler_add(self)  # type: ignore[arg-type]  # an Operator where it is used
        return {"RUNNING_MODAL"}

    def modal(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Run one slice, finish, or cancel."""
        if event.type == "ESC":
            cancelled = self.cancelled
            self.cancel(context)
            report_message(self, "INFO", cancelled)
            return {"CANCELLED"}
        if event.type != "TIMER":
            # Between the slices the user may navigate, but not change the data that the job works on.
            return {"PASS_THROUGH"} if navigates(event) else {"RUNNING_MODAL"}
        running = False
        try:
            running = self._slice(context)
            if running:
                return {"RUNNING_MODAL"}
            self._clean_up(context)
            self._finish(context)
        except KnuckleError as error:
            self._clean_up(context)
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        except Exception:
            self._clean_up(context)
            raise
        finally:
            if not running:
                release(self)
        return {"FINISHED"}

    def _finish(self, context: "Context") -> None:
        with context.temp_override(**self._start_context.overrides()):
            self.finish(context)

    def _slice(self, context: "Context") -> bool:
        """Work for a while. Returns whether there is more to do."""
        end = time.perf_counter() + SLICE_SECONDS
        for progress in self._work:
            if time.perf_counter() >= end:
                self._show_progress(context, progress)
                return True
        return False

    def cancel(self, context: "Context") -> None:
        """Stop the job, if it has started.

        Blender calls this, too, when a file is loaded while the job runs, and when its file browser is cancelled.
        """
        if "_work" in vars(self):
            self._work.close()
            self._clean_up(context)
        release(self)

    def _show_progress(self, context: "Context", progress: Progress) -> None:
        status = context.window_manager.knuckle
        status.running, status.fraction, status.description = True, progress.fraction, progress.description
        context.workspace.status_text_set(f"Knuckle: {progress.description}, {progress.fraction:.0%}    ESC: cancel")
        redraw_views(context)

    def _clean_up(self, context: "Context") -> None:
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.knuckle.running = False
        if context.workspace:
            context.workspace.status_text_set(None)
        redraw_views(context)


class ConfirmedJob(JobOperator):
    """Mixin of jobs that the user confirms in a dialog."""

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Run to the end in a script, or in slices if the user confirmed a dialog."""
        operator: Any = self
        confirmed = operator.options.is_invoke and not operator.options.is_repeat
        return self.begin(context) if confirmed else super().execute(context)


@dataclass(frozen=True, slots=True)
class _JobContext:
    """Where a job started, by name: while it runs, the user may open another scene or delete this one."""

    scene: str
    view_layer: str
    collection: str

    @classmethod
    def of(cls, context: "Context") -> "_JobContext":
        # The context has no collection right after the active one was deleted.
        collection = context.collection if context.collection else context.scene.collection
        return cls(context.scene.name, context.view_layer.name, collection.name)

    def overrides(self) -> dict[str, Any]:
        """Return overrides for the context. Raises RigError if the scene is gone.

        If the view layer is gone, the scene's first one is used; if the collection is gone, the scene's own.
        """
        scene: Scene | None = bpy.data.scenes.get(self.scene)
        if scene is None:
            raise RigError(f"scene '{self.scene}', in which the job was started, no longer exists: nothing was changed")
        layer = next((layer for layer in scene.view_layers if layer.name == self.view_layer), scene.view_layers[0])
        collections = [scene.collection, *scene.collection.children_recursive]
        collection = next((c for c in collections if c.name == self.collection), scene.collection)
        return {"scene": scene, "view_layer": layer, "collection": collection}


def release(operator: object) -> None:
    """Forget the job of an operator that has ended.

    Blender keeps ended operators in its history until 32 others have followed.
    """
    vars(operator).clear()


NAVIGATION_EVENTS = {"MOUSEMOVE", "INBETWEEN_MOUSEMOVE", "MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE"} | {
    "TRACKPADPAN",
    "TRACKPADZOOM",
    "NDOF_MOTION",
    "NUMPAD_PERIOD",
    "NUMPAD_PLUS",
    "NUMPAD_MINUS",
    *(f"NUMPAD_{digit}" for digit in range(10)),
    *(f"NDOF_BUTTON_{view}" for view in ("FIT", "TOP", "BOTTOM", "LEFT", "RIGHT", "FRONT", "BACK", "ISO1", "ISO2")),
    *(f"NDOF_BUTTON_{rotation}" for rotation in ("ROLL_CW", "ROLL_CCW", "SPIN_CW", "SPIN_CCW", "TILT_CW", "TILT_CCW")),
}
"""Event types that navigate a view."""


def navigates(event: "Event") -> bool:
    """Return whether an event only navigates a view. Ctrl Numpad 0 does not: it makes the active object the camera."""
    return event.type in NAVIGATION_EVENTS and not (event.type == "NUMPAD_0" and event.ctrl)


def redraw_views(context: "Context", kind: str = "VIEW_3D") -> None:
    """Redraw all 3D views, or all editors of another kind."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == kind:
                area.tag_redraw()


def no_job_runs(operator: type, context: "Context") -> bool:
    """Return whether no job is running. For `poll` methods."""
    if context.window_manager.knuckle.running:
        operator.poll_message_set("Another job of Knuckle is running, press ESC to cancel it")
        return False
    return True
