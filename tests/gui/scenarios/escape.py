"""A capture is solved and cancelled half-way: nothing is left of it, and the button works again.

Each step of the job is a slice of its own, and Escape is pressed in the first that has half of the work behind it: so
it comes half-way however fast a hand is solved.
"""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

FRAMES = 20_000
LONG = Path("/tmp/long_take.csv")


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 1000)
    write_long_take(screen.repository / "data" / "leap_finger_tap.json")
    status = bpy.context.window_manager.knuckle
    job: Any = __import__("bl_ext.user_default.knuckle.operators.job", fromlist=["SLICE_SECONDS"])
    job.SLICE_SECONDS = 0.0
    seen: list[tuple[float, str]] = []
    pressed: list[float] = []

    def press_half_way(_text: str) -> None:
        seen.append((status.fraction, status.description))
        if status.running and status.fraction >= 0.5 and not pressed:
            pressed.append(status.fraction)
            screen.picture("escape_running")
            screen.key("Escape")

    yield from screen.show_sidebar("Knuckle")
    yield from screen.drop(LONG, *screen.view_middle())
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers, 120)
    texts = screen.reported(press_half_way)  # an import has progress, too
    screen.frame_selected()
    yield 1.0
    place = yield from screen.button("knuckle.solve")
    timer = bpy.context.window_manager.event_timer_add(0.01, window=screen.window)
    of_a_timer = yield from timer_events(screen)
    bpy.context.window_manager.event_timer_remove(timer)
    before = screen.dump()

    screen.click(*place)
    yield from screen.wait_until(lambda: pressed and not status.running, 60)
    reported = list(texts)
    yield 1.0
    screen.picture("escape_cancelled")
    after = screen.dump()
    after_escape = yield from timer_events(screen)
    modal = [operator.bl_idname for operator in screen.window.modal_operators]

    screen.click(*place)
    yield from screen.wait_until(lambda: screen.scene.knuckle.result and not status.running, 240)
    yield 1.0
    screen.picture("escape_solved_again")
    return {
        "seen": seen[: len(reported)],
        "pressed_at": pressed,
        "status_texts": reported,
        "before": before,
        "after": after,
        "timer_events": {"of_a_timer": of_a_timer, "after": after_escape},
        "modal": modal,
        "solved_again": bool(screen.scene.knuckle.result),
    }


def write_long_take(path: Path) -> None:
    """A table of the recording played forth and back, again and again."""
    captures: Any = __import__("bl_ext.user_default.knuckle.capture", fromlist=["read"])
    markers = captures.read(path)
    frames = len(markers.times)
    turn = np.concatenate([np.arange(frames), np.arange(frames)[::-1]])
    rows = markers.positions[np.resize(turn, FRAMES)].reshape(FRAMES, -1)
    names = ",".join(f"{name}.{axis}" for name in markers.names for axis in "xyz")
    table = np.column_stack([np.arange(FRAMES) / 60.0, rows])
    np.savetxt(LONG, table, fmt="%.5f", delimiter=",", header=f"time,{names}", comments="")


class KNUCKLE_OT_test_listen(bpy.types.Operator):  # noqa: N801  # Blender's own way
    bl_idname = "knuckle.test_listen"
    bl_label = "Note the events of timers"

    listening, heard = False, 0

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Any:
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> Any:
        if not KNUCKLE_OT_test_listen.listening:
            return {"FINISHED", "PASS_THROUGH"}
        KNUCKLE_OT_test_listen.heard += event.type == "TIMER"
        return {"PASS_THROUGH"}


def timer_events(screen: "Screen") -> Generator[float, None, int]:
    """How many events the timers of the window manager send in a second."""
    listener = KNUCKLE_OT_test_listen
    if not hasattr(bpy.types, listener.__name__):
        bpy.utils.register_class(listener)
    listener.listening, listener.heard = True, 0
    with screen.in_view():
        bpy.ops.knuckle.test_listen("INVOKE_DEFAULT")
    yield 1.0
    listener.listening = False
    x, y = screen.view_middle()
    for step in range(4):  # events, for the operator to end on
        screen.move(x + step, y)
        yield 0.1
    return listener.heard
