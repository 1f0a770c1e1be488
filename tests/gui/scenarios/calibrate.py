"""A recording is dropped, the panel is opened, the hand calibrated by its button and undone."""

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 800)
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.ops.ed.undo_push()
    # A person opens it by its header; what is registered open is drawn open.
    panel = next(kind for kind in bpy.types.Panel.__subclasses__() if kind.__name__ == "KNUCKLE_PT_calibrate")
    bpy.utils.unregister_class(panel)
    panel.bl_options = set()
    bpy.utils.register_class(panel)
    status = bpy.context.window_manager.knuckle
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(80)
    yield from screen.drop(screen.repository / "data" / "leap_finger_tap.json", *screen.view_middle())
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers, 60)
    screen.frame_selected()
    screen.scene.knuckle_calibration.radii_from = "TYPED"
    yield 1.0
    screen.picture("calibrate_before")
    screen.scene.knuckle_calibration.radii_from = "ESTIMATE"
    bpy.ops.ed.undo_push()
    place = yield from screen.button("knuckle.calibrate", across=0.2)
    screen.click(*place)
    yield from screen.wait_until(lambda: screen.scene.knuckle.performer and not status.running, 60)
    yield 1.0
    kept = screen.scene.knuckle.performer
    screen.move(20, screen.window.height - 20)
    yield 1.0
    screen.picture("calibrate_after")
    yield from screen.fill_window(alone=True)
    yield from screen.show_sidebar("Knuckle")
    screen.move(*screen.middle(screen.region(screen.area(), "UI")))
    yield 0.5
    screen.turn_wheel(6)
    yield 1.0
    screen.picture("calibrate_panel")
    yield from screen.fill_window(alone=True)
    screen.move(*screen.view_middle())
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: not screen.scene.knuckle.performer, 60)
    return {"kept": kept, "undone": screen.scene.knuckle.performer}
