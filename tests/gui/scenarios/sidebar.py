"""The extension is switched on, and its tab of the sidebar is drawn."""

from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    panels = [panel for panel in bpy.types.Panel.__subclasses__() if getattr(panel, "bl_category", "") == "Knuckle"]
    drawn: list[str] = []
    for panel in panels:
        watch(panel, drawn)
    yield from screen.show_sidebar("Knuckle")
    yield 1.0
    screen.picture("sidebar")
    return {
        "enabled": [addon.module for addon in bpy.context.preferences.addons if addon.module.endswith(".knuckle")],
        "panels": [panel.bl_label for panel in panels],
        "drawn": sorted(set(drawn)),
    }


def watch(panel: Any, drawn: list[str]) -> None:
    """Note the label of the panel whenever Blender calls its draw."""
    draw = panel.draw

    def draw_and_note(self: bpy.types.Panel, context: bpy.types.Context) -> None:
        draw(self, context)
        drawn.append(panel.bl_label)

    panel.draw = draw_and_note
