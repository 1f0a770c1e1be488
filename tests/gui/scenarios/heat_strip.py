"""A take of many frames is scrolled and zoomed in a high Dope Sheet: how long its heat strips take to draw.

What is measured is the processor time of the draw handler, and how long the region's whole drawing lasts, with strips
and without.
"""

import importlib
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

STEPS = 30
"""Notches of the wheel for each way to move."""
MOVES: tuple[tuple[str, Callable[[], object]], ...] = (
    ("zoom in", bpy.ops.view2d.zoom_in),
    ("scroll", lambda: bpy.ops.view2d.scroll_right(deltax=300)),
    ("zoom out", bpy.ops.view2d.zoom_out),
)


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1300, 900)
    bpy.ops.wm.open_mainfile(filepath="/tmp/out/heat_strip.blend", load_ui=False)
    yield 1.0
    screen.scene.frame_end = round(screen.scene.objects[0].animation_data.action.frame_range[1])
    timeline = screen.area("DOPESHEET_EDITOR")
    timeline.spaces.active.mode = "DOPESHEET"
    edge = timeline.x + timeline.width // 2, screen.window.height - timeline.y - timeline.height
    yield from screen.drag(edge, (edge[0], edge[1] - 350))
    yield 1.0
    strips, taken = importlib.import_module("bl_ext.user_default.knuckle.panels.heat_strip"), list[float]()
    measured = measured_by(strips, taken)
    started = time.perf_counter()
    yield from drawn_whole(screen, timeline)
    opened = {"handler": taken[:], "wait": time.perf_counter() - started}
    found = {}
    for shown in (True, False):
        screen.scene.knuckle_review.show_heat = shown
        yield from drawn_whole(screen, timeline)
        for name, move in MOVES:
            taken.clear()
            redraws = list[float]()
            for _ in range(STEPS):
                redraws.append((yield from redrawn(screen, timeline, move)))
            found[f"{name}, {'with' if shown else 'without'}"] = {"handler": taken[:], "redraw": redraws}
            if shown:
                screen.picture(f"heat_strip_{name.replace(' ', '_')}")
    screen.scene.knuckle_review.show_heat = True
    measured()
    rows = len(strips.heat_rows(bpy.context).names)
    return {"opened": opened, "moves": found, "rows": rows}


def measured_by(strips: Any, taken: list[float]) -> Callable[[], None]:
    """Let the handler note the processor time of each of its calls, in s.

    What is returned lets it be again.
    """
    draw = strips.draw

    def timed() -> None:
        started = time.thread_time()
        draw()
        taken.append(time.thread_time() - started)

    def replaced(by: Callable[[], None]) -> None:
        strips.unregister()
        strips.draw = by
        strips.register()

    replaced(timed)
    return lambda: replaced(draw)


def drawn_whole(screen: "Screen", area: bpy.types.Area) -> Iterator[float]:
    """Show all frames."""
    with bpy.context.temp_override(window=screen.window, area=area, region=screen.region(area)):
        bpy.ops.action.view_all()
    area.tag_redraw()
    yield 1.5


def redrawn(screen: "Screen", area: bpy.types.Area, move: Callable[[], object]) -> Generator[float, None, float]:
    """Move the view and draw its region until it is on the screen; how long the drawing took, in s."""
    with bpy.context.temp_override(window=screen.window, area=area, region=screen.region(area)):
        move()
        started = time.perf_counter()
        bpy.ops.wm.redraw_timer(type="DRAW_SWAP", iterations=1)
        took = time.perf_counter() - started
    yield 0.05
    return took
