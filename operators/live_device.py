"""The device that is followed, from Start to Stop, through undo, saving, loading and changes of frame."""

import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.handlers import persistent

from ..errors import KnuckleError
from ..hand.generators import run_to_end
from ..rig.data_reference import DataReference
from .live_loop import TIMER_INTERVAL, EndedTake, LiveRun
from .session import SESSION, LiveState
from .take_folder import keep_capture

if TYPE_CHECKING:
    from bpy.types import Scene

PANEL_INTERVAL = 0.2
"""s between two redraws of the panel: figures that change faster cannot be read."""


def begin(run: LiveRun) -> None:
    """Follow a device until `end`."""
    SESSION.live.run, SESSION.live.problem = run, ""
    bpy.app.timers.register(_tick)


def _tick() -> float | None:
    """Return the timer that Blender calls on its main thread; s to the next call, None to end."""
    run = SESSION.live.run
    if run is None:
        return None
    try:
        scene: Scene | None = run.scene.find_in(bpy.data.scenes)
        if scene is None:
            _end_by_itself(f"Scene '{run.scene.name}', in which the device was followed, is gone")
            return None
        _follow(run, scene)
    except Exception as error:
        # Blender drops a timer that raises: the bones would stop, while the panel would go on counting.
        _end_by_itself(f"Following stopped because of an error, see the system console ({error})")
        raise
    return TIMER_INTERVAL


def _follow(run: LiveRun, scene: "Scene") -> None:
    # A scene must not change while it is rendered.
    if not bpy.app.is_job_running("RENDER"):
        with _window():
            if run.step():
                redraw("WINDOW")
            if run.rigs.added_hands:
                run.rigs.added_hands = False
                if not bpy.app.background:
                    bpy.ops.ed.undo_push(message="New Live Hands")
    if time.monotonic() - SESSION.live.drawn_at >= PANEL_INTERVAL:
        SESSION.live.drawn_at = time.monotonic()
        update_people(run, scene)
        _keep_captures(run, scene)
        redraw("UI")


def _keep_captures(run: LiveRun, scene: "Scene") -> None:
    """Store captures that arrived as a whole, such as those of a video."""
    for name, content in run.receiver.take_captures():
        try:
            keep_capture(scene, name, content)
        except KnuckleError as error:
            run.rigs.problems[name] = str(error)


def _window() -> Any:
    """Return a context with a window: a timer has none, and some of Blender's operators need one."""
    windows = bpy.context.window_manager.windows
    return bpy.context.temp_override(window=windows[0]) if len(windows) and not bpy.context.window else nullcontext()


def _end_by_itself(reason: str) -> None:
    SESSION.live.problem = reason
    take = _close(None)
    redraw("UI")
    if take is not None:
        SESSION.live.problem = f"{reason}. The raw take was kept: {take.recorder.path}"
        _key(take)


def update_people(run: LiveRun, scene: "Scene") -> None:
    """Add a row for each new performer with a name, and drive the armatures that the rows name."""
    people = scene.knuckle_live.people
    for name in filter(None, run.rigs.performers):
        if name not in people:
            people.add().name = name
    run.rigs.assign_armatures(people_of(scene.knuckle_live))


def people_of(settings: Any) -> dict[str, DataReference]:
    """Return performer -> the armature that was chosen for them."""
    return {person.name: DataReference.of(person.armature) for person in settings.people if person.armature}


def redraw(kind: str) -> None:
    """Redraw one kind of region of the 3D views: WINDOW for the scene, UI for the panels."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type != "VIEW_3D" or (kind == "UI" and not area.spaces.active.show_region_ui):
                continue
            for region in area.regions:
                if region.type == kind:
                    region.tag_redraw()


def end(put_back: bool | None = None) -> EndedTake | None:
    """Stop following; return the recorded take, which is listed but not keyed yet.

    put_back: whether bones return to their pose before; None for the scene's setting.
    """
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    return _close(put_back)


def _close(put_back: bool | None) -> EndedTake | None:
    run, SESSION.live.run = SESSION.live.run, None
    if run is None:
        return None
    take = end_take(run)
    run.stop(puts_back(run) if put_back is None else put_back)
    return take


def puts_back(run: LiveRun) -> bool:
    """Return whether bones return to their previous pose, by the scene's setting."""
    scene: Scene | None = run.scene.find_in(bpy.data.scenes)
    return scene is None or bool(scene.knuckle_live.put_back)


def end_take(run: LiveRun) -> EndedTake | None:
    """End the raw take and list it in its scene; None where none is recorded."""
    take = run.end_recording()
    scene: Scene | None = run.scene.find_in(bpy.data.scenes)
    if take is not None and scene is not None:
        settings, path = scene.knuckle_live, take.recorder.path
        row = settings.takes.add()
        row.name, row.filepath = path.stem, str(path)
        row.seconds, row.timecode = take.seconds, take.timecode
        settings.take = len(settings.takes) - 1
    return take


def end_and_key() -> None:
    """Stop following, key the take that was being recorded, and forget the device."""
    take = end()
    if take is not None:
        _key(take)
    forget_after_load()


def _key(take: EndedTake) -> None:
    try:
        run_to_end(take.keying())
    except KnuckleError as error:
        SESSION.live.problem = unkeyed(error)


def unkeyed(error: KnuckleError) -> str:
    """Return the message for a take that cannot be keyed."""
    return f"The raw take was kept and no keys were made: {error}"


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def end_before_load(*_: Any) -> None:
    """Stop before a file is opened, which removes the posed armatures. The take is keyed if opening fails."""
    SESSION.live.unkeyed = end()


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def forget_after_load(*_: Any) -> None:
    """Forget the data of the previous file."""
    SESSION.live = LiveState(run=SESSION.live.run, drawn_at=SESSION.live.drawn_at)


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def key_after_failed_load(*_: Any) -> None:
    """Key the take of the file that is still open."""
    take, SESSION.live.unkeyed = SESSION.live.unkeyed, None
    if take is not None:
        _key(take)


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def put_back_before_save(*_: Any) -> None:
    """Before saving, restore the bones' previous pose, if the setting says so."""
    run = SESSION.live.run
    if run is not None and puts_back(run):
        run.rigs.restore_pose()


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def pose_again(*_: Any) -> None:
    """Pose the hands again at the next tick, after undo, redo and saving have changed them."""
    if SESSION.live.run is not None:
        SESSION.live.run.rigs.invalidate()


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def pose_after_frame(scene: "Scene", *_: Any) -> None:
    """Pose the hands over the keys of another frame before it is drawn."""
    run = SESSION.live.run
    # A render changes frames in its own thread, and keying a take plays another scene.
    if run is None or scene.session_uid != run.scene.uid or threading.current_thread() is not threading.main_thread():
        return
    run.rigs.invalidate()
    run.pose(time.perf_counter())


HANDLERS = (
    (bpy.app.handlers.load_pre, end_before_load),
    (bpy.app.handlers.load_post, forget_after_load),
    (bpy.app.handlers.load_post_fail, key_after_failed_load),
    (bpy.app.handlers.save_pre, put_back_before_save),
    (bpy.app.handlers.save_post, pose_again),
    (bpy.app.handlers.save_post_fail, pose_again),
    (bpy.app.handlers.undo_post, pose_again),
    (bpy.app.handlers.redo_post, pose_again),
    (bpy.app.handlers.frame_change_post, pose_after_frame),
)


class WhileFollowing:
    """A mixin of operators that work while a device is followed."""

    @classmethod
    def poll(cls, context: Any) -> bool:
        """Available while a device is followed."""
        if SESSION.live.run is None:
            cls.poll_message_set("No device is followed, press Start")
            return False
        return True
