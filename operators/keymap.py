"""The key of the pie menu. The preferences show it, and there it can be changed."""

from collections.abc import Iterator
from typing import Any, Literal

import bpy

PIE = "KNUCKLE_MT_hand_pie"
KEYMAPS = ("Pose", "Object Mode")
KEY: Literal["J"] = "J"
"""A key that Blender's keymap leaves free in both modes."""


def items(keyconfig: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the keymaps of a key configuration that have the pie menu, each with its item."""
    for name in KEYMAPS:
        keymap = keyconfig.keymaps.get(name)
        for item in list(keymap.keymap_items) if keymap else ():
            if item.idname == "wm.call_menu_pie" and item.properties.name == PIE:
                yield keymap, item


def register() -> None:
    """Add the key."""
    keyconfig = bpy.context.window_manager.keyconfigs.addon
    for name in KEYMAPS if keyconfig else ():
        item = keyconfig.keymaps.new(name=name).keymap_items.new("wm.call_menu_pie", KEY, "PRESS")
        item.properties.name = PIE


def unregister() -> None:
    """Remove the key."""
    keyconfig = bpy.context.window_manager.keyconfigs.addon
    for keymap, item in list(items(keyconfig)) if keyconfig else ():
        keymap.keymap_items.remove(item)
