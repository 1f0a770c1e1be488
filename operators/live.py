"""Following a device: begun, ended, recentred, measured again, recorded."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.handlers import persistent

from ..errors import KnuckleError
from ..rig.detect import find_hands
from ..rig.keyframes import check_keyable
from .live_run import EVERY, LiveRun, Plan
from .live_settings import address_of
from .scene_recipe import recipe_for
from .solve import target

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context


class Live:
    """The one run there may be. Not Blender's data: a socket and a thread outlive undo."""

    run: LiveRun | None = None


def plan_of(context: "Context") -> Plan:
    """What the scene's settings ask for. Raises KnuckleError for an armature that cannot be posed or has no hand."""
    chosen = context.scene.knuckle_live
    armature = target(context)
    people = {person.name: person.armature.name for person in chosen.people if person.armature}
    for driven in filter(None, [armature, *(person.armature for person in chosen.people)]):
        check_keyable(driven)
        find_hands(driven)
    return Plan(
        device=chosen.device,
        address=address_of(chosen),
        recipe=recipe_for(context.scene, chosen.device),
        drive=chosen.drive,
        pre_roll=chosen.pre_roll,
        armature=armature.name if armature else None,
        people=people,
    )


class KNUCKLE_OT_live_start(bpy.types.Operator):
    """Follow the device: the performer's hands move the rig's as they move, without keys"""

    bl_idname = "knuckle.live_start"
    bl_label = "Start"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """With nothing followed yet."""
        if Live.run is not None:
            cls.poll_message_set("A device is followed already, stop that first")
            return False
        return True

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Opens the device and looks for what comes until it is stopped."""
        try:
            Live.run = LiveRun(plan_of(context), context.scene)
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        bpy.app.timers.register(_tick)
        return {"FINISHED"}


def _tick() -> float | None:
    """What Blender calls between two pictures, on its main thread."""
    if Live.run is None:
        return None
    if Live.run.step():
        redraw()
    return EVERY


def redraw() -> None:
    """Has the views and the panels drawn anew."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def end(put_back: bool) -> None:
    """Hangs up, where anything is followed."""
    run, Live.run = Live.run, None
    if run is not None:
        run.stop(put_back)
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def end_before_load(*_: Any) -> None:
    """A file that is opened takes away all that is posed."""
    end(put_back=False)


class _WhileFollowing:
    """What operators are made of that work while a device is followed."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """While a device is followed."""
        return Live.run is not None


class KNUCKLE_OT_live_stop(_WhileFollowing, bpy.types.Operator):
    """Follow the device no more"""

    bl_idname = "knuckle.live_stop"
    bl_label = "Stop"

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Hangs up, and puts the bones back where that is asked for."""
        end(context.scene.knuckle_live.put_back)
        redraw()
        return {"FINISHED"}


class KNUCKLE_OT_live_recentre(_WhileFollowing, bpy.types.Operator):
    """Bring the performer's hands, as they are now, to where the rig's are at rest; turned about the vertical only"""

    bl_idname = "knuckle.live_recentre"
    bl_label = "Recentre"

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """From now on."""
        assert Live.run is not None
        Live.run.recentre()
        return {"FINISHED"}


class KNUCKLE_OT_live_measure(_WhileFollowing, bpy.types.Operator):
    """Measure the performer's hands again, on what comes next"""

    bl_idname = "knuckle.live_measure"
    bl_label = "Measure Again"

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Within a second."""
        assert Live.run is not None
        Live.run.session.measure_again()
        return {"FINISHED"}


class KNUCKLE_OT_live_record(_WhileFollowing, bpy.types.Operator):
    """Begin a take, or end it: what the device sends goes to a file as it comes, and what is shown to keys"""

    bl_idname = "knuckle.live_record"
    bl_label = "Record"
    bl_options = {"UNDO"}

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Begins or ends."""
        assert Live.run is not None
        try:
            if Live.run.receiver.recording is None:
                Live.run.record(folder_of(context), context.scene.knuckle_live.take_name or "Take")
                return {"CANCELLED"}
            recorder = Live.run.end_recording(context.scene.knuckle.start)
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if recorder is not None:
            self.report({"WARNING" if recorder.problem else "INFO"}, recorder.problem or f"Took {recorder.path}")
        return {"FINISHED"}


def folder_of(context: "Context") -> Path:
    """Where raw takes go: where the person says, beside the file, or where extensions may write."""
    chosen = context.scene.knuckle_live.folder
    if chosen or bpy.data.filepath:
        return Path(bpy.path.abspath(chosen or "//"))
    home = bpy.utils.user_resource("EXTENSIONS", path=".user/knuckle", create=True)
    return Path(home) / "takes"
