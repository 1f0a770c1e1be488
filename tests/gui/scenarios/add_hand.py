"""A hand is added from the Add menu, its settings changed afterwards, and taken back by undo."""

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.ops.ed.undo_push()
    before = screen.dump()
    screen.move(*screen.view_middle())
    yield 0.5
    screen.key("shift+a")
    yield 1.0
    for letter in "knuckle":  # typed into a menu, this searches it
        screen.key(letter)
        yield 0.1
    yield 1.0
    screen.picture("add_hand_menu")
    screen.key("Return")
    yield from screen.wait_until(lambda: armatures(screen), 60)
    added = armatures(screen)
    screen.frame_selected()
    yield 1.0

    redo = screen.region(screen.area(), "HUD")
    screen.click(redo.x + 60, screen.window.height - redo.y - redo.height // 2)  # unfolds it
    yield 1.0
    screen.picture("add_hand")
    redo = screen.region(screen.area(), "HUD")
    side = (redo.x + redo.width * 3 // 4, screen.window.height - redo.y - redo.height + 46)
    screen.move(*side)
    yield 0.3
    screen.turn_wheel(1, "ctrl")  # over a menu, this takes its next entry
    yield from screen.wait_until(lambda: armatures(screen) != added, 60)
    yield 1.0
    changed = armatures(screen)
    screen.move(*screen.view_middle())
    yield 0.5
    screen.picture("add_hand_changed")

    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: not armatures(screen), 60)
    yield 1.0
    return {"added": added, "changed": changed, "before": before, "after": screen.dump()}


def armatures(screen: "Screen") -> list[str]:
    return sorted(obj.name for obj in screen.scene.objects if obj.type == "ARMATURE")
