"""A recording of two hands, put beside the pictures by the test, is dropped and solved."""

from pathlib import Path
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 1000)
    bpy.context.preferences.view.ui_scale = 0.85  # for Solve to be in the sidebar below the facts about two hands
    status = bpy.context.window_manager.knuckle
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.ops.ed.undo_push()
    yield from screen.show_sidebar("Knuckle")
    yield from screen.drop(Path("/tmp/out/two_hands.c3d"), *screen.view_middle())
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers, 60)
    place = yield from screen.button("knuckle.solve")
    screen.click(*place)
    yield from screen.wait_until(lambda: screen.scene.knuckle.result and not status.running, 200)
    screen.scene.frame_set(60)
    place = yield from screen.button("view3d.view_selected", across=0.83)
    view = screen.area().spaces.active.region_3d
    distance = view.view_distance
    screen.click(*place)
    yield from screen.wait_until(lambda: view.view_distance != distance, 60)
    yield 1.0
    screen.picture("two_hands")
    screen.turn_wheel(30)
    yield 3.0
    screen.picture("two_hands_result")
    return {"hands": sorted(obj.name for obj in screen.scene.objects if obj.type == "ARMATURE")}
