"""Following a device: begun, ended, recentred, measured again, recorded."""

import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.handlers import persistent

from ..errors import KnuckleError
from ..rig.binding import is_armature
from ..rig.detect import find_hands
from ..rig.keyframes import check_keyable
from .live_run import EVERY, LiveRun, Plan, Taken
from .live_settings import address_of
from .scene_recipe import recipe_for
from .solve import target

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Scene

TELL = 0.2
"""s between two drawings of the panel: figures that change faster cannot be read."""


class Live:
    """The one run there may be. Not Blender's data: a socket and a thread outlive undo."""

    run: LiveRun | None = None
    told = 0.0
    """When the panel was drawn last, s on time.monotonic's clock."""


def plan_of(context: "Context") -> Plan:
    """What the scene's settings ask for. Raises KnuckleError for an armature that cannot be posed or has no hand."""
    chosen = context.scene.knuckle_live
    armature = target(context)
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
        people=people_of(chosen),
    )


def people_of(chosen: Any) -> dict[str, str]:
    """Performer -> the name of the armature that is chosen for theirs."""
    return {person.name: person.armature.name for person in chosen.people if person.armature}


class KNUCKLE_OT_live_start(bpy.types.Operator):
    """Follow the device: the performer's hands move the rig's as they move, without keys"""

    bl_idname = "knuckle.live_start"
    bl_label = "Start"

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """With nothing followed yet, and an armature if one is to be driven."""
        chosen = context.scene.knuckle
        if Live.run is not None:
            cls.poll_message_set("A device is followed already, stop that first")
        elif chosen.rig == "ARMATURE" and not is_armature(chosen.armature):
            cls.poll_message_set("Choose the armature that the hands drive, or new hands")
        else:
            return True
        return False

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
    run = Live.run
    if run is None:
        return None
    # What is rendered must not move meanwhile; a scene that is gone has nothing to be posed in.
    scene: Scene | None = bpy.data.scenes.get(run.scene)
    if scene is not None and not bpy.app.is_job_running("RENDER"):
        with _window():
            if run.step():
                redraw("WINDOW")
            if run.rigs.made:
                run.rigs.made = False
                if not bpy.app.background:
                    bpy.ops.ed.undo_push(message="New Live Hands")
    if time.monotonic() - Live.told >= TELL:
        Live.told = time.monotonic()
        if scene is not None:
            heed_people(run, scene)
        redraw("UI")
    return EVERY


def _window() -> Any:
    """A timer has no window, and some of Blender's operators want one."""
    windows = bpy.context.window_manager.windows
    return bpy.context.temp_override(window=windows[0]) if len(windows) and not bpy.context.window else nullcontext()


def heed_people(run: LiveRun, scene: "Scene") -> None:
    """A row for each performer that has a name, and what the rows say is driven."""
    people = scene.knuckle_live.people
    for name in filter(None, run.rigs.performers):
        if name not in people:
            people.add().name = name
    run.rigs.drive(people_of(scene.knuckle_live))


def redraw(kind: str) -> None:
    """Has one kind of region of the 3D views drawn anew: WINDOW for what moves, UI for the panels beside it."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type != "VIEW_3D" or (kind == "UI" and not area.spaces.active.show_region_ui):
                continue
            for region in area.regions:
                if region.type == kind:
                    region.tag_redraw()


def end(put_back: bool) -> Taken | None:
    """Hangs up, where anything is followed; the raw take that was being recorded."""
    run, Live.run = Live.run, None
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    if run is None:
        return None
    taken = run.end_recording()
    run.stop(put_back)
    return taken


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def end_before_load(*_: Any) -> None:
    """A file that is opened takes away all that is posed."""
    end(put_back=False)


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def pose_after_undo(*_: Any) -> None:
    """Undo and redo bring bones back as they stood: the next tick poses them again."""
    if Live.run is not None:
        Live.run.rigs.again()


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def pose_after_frame(scene: "Scene", *_: Any) -> None:
    """Another frame plays what is keyed: the hands are posed over it before it is drawn."""
    # A render's frames are changed by a thread of its own, and other scenes are played while a take is keyed.
    if Live.run is not None and scene.name == Live.run.scene and threading.current_thread() is threading.main_thread():
        Live.run.rigs.again()
        Live.run.pose(time.perf_counter())


HANDLERS = (
    (bpy.app.handlers.load_pre, end_before_load),
    (bpy.app.handlers.undo_post, pose_after_undo),
    (bpy.app.handlers.redo_post, pose_after_undo),
    (bpy.app.handlers.frame_change_post, pose_after_frame),
)


class _WhileFollowing:
    """What operators are made of that work while a device is followed."""

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """While a device is followed."""
        if Live.run is None:
            cls.poll_message_set("Nothing is followed, press Start")
            return False
        return True


class KNUCKLE_OT_live_stop(_WhileFollowing, bpy.types.Operator):
    """Follow the device no more"""

    bl_idname = "knuckle.live_stop"
    bl_label = "Stop"
    bl_options = {"UNDO"}

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Ends and keys a take that is being recorded, hangs up, and puts the bones back where that is asked for."""
        if Live.run is not None and Live.run.receiver.recording is not None:
            _end_take(self, context)
        end(context.scene.knuckle_live.put_back)
        redraw("WINDOW")
        redraw("UI")
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
        if Live.run.receiver.recording is not None:
            return {"FINISHED"} if _end_take(self, context) else {"CANCELLED"}
        try:
            Live.run.record(folder_of(context), context.scene.knuckle_live.take_name or "Take")
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
        return {"CANCELLED"}


def _end_take(operator: bpy.types.Operator, context: "Context") -> bool:
    """Ends the raw take, lists it and keys what was shown; whether there was one."""
    assert Live.run is not None
    taken = Live.run.end_recording()
    if taken is None:
        return False
    chosen, recorder = context.scene.knuckle_live, taken.recorder
    row = chosen.takes.add()
    row.name, row.filepath = recorder.path.stem, str(recorder.path)
    row.seconds, row.timecode = taken.seconds, taken.timecode
    chosen.take = len(chosen.takes) - 1
    operator.report({"WARNING" if recorder.problem else "INFO"}, recorder.problem or f"Recorded {recorder.path}")
    try:
        Live.run.key_taken(taken, context.scene.knuckle.start)
    except KnuckleError as error:
        operator.report({"WARNING"}, f"The raw take was kept and no keys were made: {error}")
    return True


class KNUCKLE_OT_live_forget_take(bpy.types.Operator):
    """Take the chosen take off the list. Its file and its keys stay"""

    bl_idname = "knuckle.live_forget_take"
    bl_label = "Take off the List"
    bl_options = {"UNDO"}

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """With a take chosen."""
        chosen = context.scene.knuckle_live
        if 0 <= chosen.take < len(chosen.takes):
            return True
        cls.poll_message_set("No take is chosen")
        return False

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """The one after it is chosen then, or the last."""
        chosen = context.scene.knuckle_live
        chosen.takes.remove(chosen.take)
        chosen.take = max(min(chosen.take, len(chosen.takes) - 1), 0)
        return {"FINISHED"}


class KNUCKLE_OT_live_forget_performer(bpy.types.Operator):
    """Forget what this performer drives"""

    bl_idname = "knuckle.live_forget_performer"
    bl_label = "Forget Performer"
    bl_options = {"UNDO"}

    performer: bpy.props.StringProperty(name="Performer", options={"SKIP_SAVE", "HIDDEN"})

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """While nothing is followed: who comes gets a row again."""
        if Live.run is not None:
            cls.poll_message_set("Stop first: whoever comes has a row")
            return False
        return True

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """The row goes."""
        people = context.scene.knuckle_live.people
        row = people.find(self.performer)
        if row < 0:
            return {"CANCELLED"}
        people.remove(row)
        return {"FINISHED"}


def folder_of(context: "Context") -> Path:
    """Where raw takes go: where the person says, beside the file, or where extensions may write."""
    chosen = context.scene.knuckle_live.folder
    if chosen or bpy.data.filepath:
        return Path(bpy.path.abspath(chosen or "//"))
    home = bpy.utils.user_resource("EXTENSIONS", path=".user/knuckle", create=True)
    return Path(home) / "takes"
