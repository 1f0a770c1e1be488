"""The keys of the pie menu and of the review. The preferences show them, and there they can be changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import bpy


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A key with an operator, in all KEYMAPS."""

    title: str
    operator: str
    menu: str = ""
    """The operator's property `name`, if it has one."""
    alt: bool = False
    shift: bool = False


KEYMAPS = ("Pose", "Object Mode")
KEY: Literal["J"] = "J"
"""A key that Blender's keymap leaves free in both modes, also with Alt, and with Shift and Alt."""
SHORTCUTS = (
    Shortcut("Hand Pie Menu", "wm.call_menu_pie", "KNUCKLE_MT_hand_pie"),
    Shortcut("Next Problem", "knuckle.next_problem", alt=True),
    Shortcut("Previous Problem", "knuckle.previous_problem", alt=True, shift=True),
)


def items(keyconfig: Any) -> Iterator[tuple[Any, Any, str]]:
    """Yield the keymaps of a key configuration that have a shortcut, each with its item and its title."""
    for shortcut in SHORTCUTS:
        for name in KEYMAPS:
            keymap = keyconfig.keymaps.get(name)
            for item in list(keymap.keymap_items) if keymap else ():
                is_shortcut = item.idname == shortcut.operator
                if is_shortcut and (not shortcut.menu or item.properties.name == shortcut.menu):
                    yield keymap, item, shortcut.title


def register() -> None:
    """Add the keys."""
    keyconfig = bpy.context.window_manager.keyconfigs.addon
    for name in KEYMAPS if keyconfig else ():
        added = keyconfig.keymaps.new(name=name).keymap_items
        for shortcut in SHORTCUTS:
            item = added.new(shortcut.operator, KEY, "PRESS", alt=shortcut.alt, shift=shortcut.shift)
            if shortcut.menu:
                item.properties.name = shortcut.menu


def unregister() -> None:
    """Remove the keys."""
    keyconfig = bpy.context.window_manager.keyconfigs.addon
    for keymap, item, _ in list(items(keyconfig)) if keyconfig else ():
        keymap.keymap_items.remove(item)
