"""A recording is dropped and solved by the panel's button; one undo takes the hand away, one redo brings it back."""

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    bpy.data.objects.remove(bpy.data.objects["Cube"])  # it stands in front of the hand in all pictures
    bpy.ops.ed.undo_push()
    status, texts = bpy.context.window_manager.knuckle, screen.reported()
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(50)
    yield from screen.drop(screen.repository / "data" / "leap_finger_tap.json", *screen.view_middle())
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers, 60)
    screen.frame_selected()
    yield 1.0
    screen.picture("solve_before")
    dumps = {"before": screen.dump()}

    place = yield from screen.button("knuckle.solve")
    screen.click(*place)
    yield from screen.wait_until(lambda: screen.scene.knuckle.result and not status.running, 60)
    yield 1.0
    dumps["solved"] = screen.dump()
    reported = list(texts)
    hand = screen.scene.knuckle.result
    action = hand.animation_data.action
    bags = [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]
    found = {
        "type": hand.type,
        "bones": len(hand.data.bones),
        "keyed_bones": sorted({curve.data_path.split('"')[1] for bag in bags for curve in bag.fcurves}),
        "keys": sorted({len(curve.keyframe_points) for bag in bags for curve in bag.fcurves}),
        "skins": len([child for child in hand.children if child.type == "MESH"]),
    }
    found |= yield from pictures(screen)

    screen.move(*screen.view_middle())
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: not screen.scene.knuckle.result, 60)
    yield 1.0
    dumps["undone"] = screen.dump()
    screen.picture("solve_undone")
    screen.key("ctrl+shift+z")
    yield from screen.wait_until(lambda: screen.scene.knuckle.result, 60)
    yield 1.0
    dumps["redone"] = screen.dump()
    screen.picture("solve_redone")
    return {"status_texts": reported, **found, "dumps": dumps}


def pictures(screen: "Screen") -> "Steps":
    """The hand and its result, beside the timeline and over the whole window; leaves all as it was."""
    screen.frame_selected()
    screen.scene.frame_set(20)
    screen.move(*screen.middle(screen.region(screen.area(), "UI")))
    screen.turn_wheel(20)
    yield 1.0
    screen.move(20, screen.window.height - 20)
    yield 1.0
    screen.picture("solve_after")
    bpy.context.preferences.view.ui_scale = 0.85  # for the panels to stand below each other
    yield from screen.fill_window(alone=True)
    yield from screen.show_sidebar("Knuckle")
    screen.move(20, screen.window.height - 20)
    yield 1.0
    screen.picture("solve_panels")
    region = screen.region(screen.area(), "UI")
    frame = [region.x, screen.window.height - region.y - region.height, region.width, region.height]
    yield from screen.fill_window(alone=True)
    bpy.context.preferences.view.ui_scale = 1.0
    screen.scene.frame_set(1)
    yield 0.5
    return {"sidebar": frame}
