"""The device that is followed, from Start to Stop, through whatever Blender does meanwhile."""

import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.handlers import persistent

from ..errors import KnuckleError
from ..rig.data_reference import DataReference
from .live_loop import EVERY, EndedTake, LiveRun

if TYPE_CHECKING:
    import numpy as np
    from bpy.types import Scene
    from numpy.typing import NDArray

TELL = 0.2
"""s between two drawings of the panel: figures that change faster cannot be read."""


class Live:
    """The one run there may be. Not Blender's data: a socket and a thread outlive undo."""

    run: LiveRun | None = None
    told = 0.0
    """When the panel was drawn last, s on time.monotonic's clock."""
    problem = ""
    """Why the last run ended by itself, a sentence."""
    places: "dict[str, dict[str, NDArray[np.float64]]]" = {}  # one for all, as the class is
    """Device -> LiveRun.places: who stops and starts again in this file stands where they stood."""
    unkeyed: EndedTake | None = None
    """The take that was recorded when a file was opened: keyed if that fails."""


def begin(run: LiveRun) -> None:
    """Follows a device until it is ended."""
    Live.run, Live.problem = run, ""
    bpy.app.timers.register(_tick)


def _tick() -> float | None:
    """What Blender calls between two pictures, on its main thread."""
    run = Live.run
    if run is None:
        return None
    try:
        scene: Scene | None = run.scene.among(bpy.data.scenes)
        if scene is None:
            _end_by_itself(f"Scene '{run.scene.name}', in which the device was followed, is gone")
            return None
        _follow(run, scene)
    except Exception as error:
        # Blender calls a timer that raises no more: the bones would stand still, and the panel go on counting.
        _end_by_itself(f"Following ended by an error, of which the system console tells more ({error})")
        raise
    return EVERY


def _follow(run: LiveRun, scene: "Scene") -> None:
    # What is rendered must not move meanwhile.
    if not bpy.app.is_job_running("RENDER"):
        with _window():
            if run.step():
                redraw("WINDOW")
            if run.rigs.made:
                run.rigs.made = False
                if not bpy.app.background:
                    bpy.ops.ed.undo_push(message="New Live Hands")
    if time.monotonic() - Live.told >= TELL:
        Live.told = time.monotonic()
        heed_people(run, scene)
        redraw("UI")


def _window() -> Any:
    """A timer has no window, and some of Blender's operators want one."""
    windows = bpy.context.window_manager.windows
    return bpy.context.temp_override(window=windows[0]) if len(windows) and not bpy.context.window else nullcontext()


def _end_by_itself(why: str) -> None:
    Live.problem = why
    taken = _close(None)
    redraw("UI")
    if taken is not None:
        Live.problem = f"{why}. The raw take was kept: {taken.recorder.path}"
        _key(taken)


def heed_people(run: LiveRun, scene: "Scene") -> None:
    """A row for each performer that has a name, and what the rows say is driven."""
    people = scene.knuckle_live.people
    for name in filter(None, run.rigs.performers):
        if name not in people:
            people.add().name = name
    run.rigs.drive(people_of(scene.knuckle_live))


def people_of(chosen: Any) -> dict[str, DataReference]:
    """Performer -> the armature that is chosen for theirs."""
    return {person.name: DataReference.of(person.armature) for person in chosen.people if person.armature}


def redraw(kind: str) -> None:
    """Has one kind of region of the 3D views drawn anew: WINDOW for what moves, UI for the panels beside it."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type != "VIEW_3D" or (kind == "UI" and not area.spaces.active.show_region_ui):
                continue
            for region in area.regions:
                if region.type == kind:
                    region.tag_redraw()


def end(put_back: bool | None = None) -> EndedTake | None:
    """Hangs up, where anything is followed; the take that was being recorded, listed and not keyed yet.

    put_back: whether bones stand as they did before, None for what the scene says.
    """
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    return _close(put_back)


def _close(put_back: bool | None) -> EndedTake | None:
    run, Live.run = Live.run, None
    if run is None:
        return None
    taken = end_take(run)
    run.stop(puts_back(run) if put_back is None else put_back)
    return taken


def puts_back(run: LiveRun) -> bool:
    """Whether the scene says that bones are only lent."""
    scene: Scene | None = run.scene.among(bpy.data.scenes)
    return scene is None or bool(scene.knuckle_live.put_back)


def end_take(run: LiveRun) -> EndedTake | None:
    """Ends the raw take and lists it in its scene; None where none is recorded."""
    taken = run.end_recording()
    scene: Scene | None = run.scene.among(bpy.data.scenes)
    if taken is not None and scene is not None:
        chosen, path = scene.knuckle_live, taken.recorder.path
        row = chosen.takes.add()
        row.name, row.filepath = path.stem, str(path)
        row.seconds, row.timecode = taken.kept.seconds, taken.timecode
        chosen.take = len(chosen.takes) - 1
    return taken


def end_and_key() -> None:
    """Ends what is followed where nobody is there to be told, and forgets it."""
    taken = end()
    if taken is not None:
        _key(taken)
    forget_after_load()


def _key(taken: EndedTake) -> None:
    try:
        taken.key()
    except KnuckleError as error:
        Live.problem = unkeyed(error)


def unkeyed(error: KnuckleError) -> str:
    """What is told of a take that cannot be keyed."""
    return f"The raw take was kept and no keys were made: {error}"


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def end_before_load(*_: Any) -> None:
    """A file that is opened takes away all that is posed; if it cannot be opened, all stays."""
    Live.unkeyed = end()


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def forget_after_load(*_: Any) -> None:
    """Another file is there: what was kept for the one before is of no use."""
    Live.unkeyed, Live.places, Live.problem = None, {}, ""


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def key_after_failed_load(*_: Any) -> None:
    """The file is still the one before."""
    taken, Live.unkeyed = Live.unkeyed, None
    if taken is not None:
        _key(taken)


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def put_back_before_save(*_: Any) -> None:
    """Bones that are only lent are saved as they stood before."""
    if Live.run is not None and puts_back(Live.run):
        Live.run.rigs.put_back()


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def pose_again(*_: Any) -> None:
    """Undo and redo bring bones back as they stood, saving puts them back: the next tick poses them again."""
    if Live.run is not None:
        Live.run.rigs.again()


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def pose_after_frame(scene: "Scene", *_: Any) -> None:
    """Another frame plays what is keyed: the hands are posed over it before it is drawn."""
    run = Live.run
    # A render's frames are changed by a thread of its own, and other scenes are played while a take is keyed.
    if run is None or scene.session_uid != run.scene.uid or threading.current_thread() is not threading.main_thread():
        return
    run.rigs.again()
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
    """What operators are made of that work while a device is followed."""

    @classmethod
    def poll(cls, context: Any) -> bool:
        """While a device is followed."""
        if Live.run is None:
            cls.poll_message_set("Nothing is followed, press Start")
            return False
        return True
