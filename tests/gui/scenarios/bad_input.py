"""Without a capture the Solve button is grey and says why; a broken file is reported once, and changes nothing."""

from pathlib import Path
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 800)
    yield from screen.show_sidebar("Knuckle")
    with screen.in_view():
        ready = bpy.ops.knuckle.solve.poll()
    x, y = yield from screen.button("knuckle.solve")
    screen.move(x - 20, y)
    yield 0.2
    screen.move(x, y)
    yield 2.0
    screen.picture("bad_input_tooltip")
    broken = Path("/tmp/broken.c3d")
    broken.write_bytes(bytes([2, 80]) + b"\xff" * 900)
    before = screen.dump()
    told_before = yield from screen.reports()
    yield from screen.drop(broken, *screen.view_middle())
    yield 2.0
    screen.picture("bad_input")
    screen.move(20, screen.window.height - 20)  # away from what popped up
    yield 1.0
    after = screen.dump()
    reported = yield from screen.reports()
    return {
        "solve_ready": ready,
        "reported": reported[len(told_before) :],
        "before": before,
        "after": after,
    }
