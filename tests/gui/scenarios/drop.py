"""A recording is dropped on the viewport from outside; its markers appear, and one undo takes them away."""

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 800)
    capture = screen.repository / "data" / "leap_finger_tap.json"
    x, y = screen.middle(screen.region(screen.area()))
    before = set(bpy.data.objects.keys())
    yield from screen.show_sidebar("Knuckle")
    yield from screen.drop(capture, x, y)
    yield 1.0
    screen.picture("drop")
    shown = sorted(set(bpy.data.objects.keys()) - before)
    screen.key("ctrl+z")
    yield 1.0
    left = sorted(set(bpy.data.objects.keys()) - before)
    return {"shown": shown, "left_after_undo": left}
