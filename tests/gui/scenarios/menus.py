"""F3 finds Knuckle's operators, J opens the pie menu, F1 opens a page, presets are added and applied, and the
preferences are drawn.
"""

import importlib
import subprocess
import sys
import webbrowser
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import bpy
import numpy as np

sys.path.append("/tmp/knuckle/tests/gui")
if TYPE_CHECKING:
    from knuckle.tests.gui import walking
    from knuckle.tests.gui.driver import Screen, Steps
else:
    walking = importlib.import_module("walking")

F1, F3 = "67", "69"
"""Keys by their codes: by their names, xdotool presses Alt with them."""
PRESETS = 79, 31
"""Pixels from the sidebar's right edge, and up from the panel's first row, at which the icon of presets is."""
PRESET = "Stage"
SOLVER = 1
"""Which of the words that read as Solver is the setting: the panel's title, Solve, is above it."""
SOUGHT = ("solve hand", "grasp", "relax hand", "knuckle")


def play(screen: "Screen") -> "Steps":
    opened: list[str] = []
    webbrowser.open = lambda url, *_: bool(opened.append(url)) or True
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    bpy.ops.knuckle.import_capture(filepath=str(screen.repository / "data" / "leap_finger_tap.json"))
    yield 0.5
    yield from search(screen, "solve hand", "menus_object_")
    screen.key("Return")
    yield from screen.wait_until(lambda: screen.scene.knuckle.result is not None, 60)
    armature = screen.scene.knuckle.result
    bpy.ops.object.mode_set(mode="POSE")
    for sought in SOUGHT:
        yield from search(screen, sought, "menus_")
        screen.key("Escape", "Escape")
        yield 0.3
    before = pose_of(armature)
    yield from search(screen, "relax hand", "menus_again_")
    screen.key("Return")
    yield 1.0
    relaxed, relaxed_from_rest = float(np.abs(pose_of(armature) - before).max()), off_rest(armature)
    walk = walking.Walk(screen, "menus", 1)
    screen.key("j")
    yield from walk.settled("Reset Hand")
    screen.picture("menus_pie")
    yield from walk.press("Reset Hand")
    yield 0.5
    away_from_rest = off_rest(armature)
    yield from open_menu(screen)
    yield from screen.show_sidebar("Knuckle")
    yield 1.0
    screen.picture("menus_sidebar")
    place = yield from screen.button("knuckle.solve", 0.4)
    screen.move(*place)
    yield 0.3
    screen.key(F1)
    yield 1.0
    help_page = yield from screen.button("wm.url_open", 0.4)
    screen.click(*help_page)
    yield 0.5
    presets = yield from use_presets(screen, walk)
    yield from show_panels(screen)
    yield from show_preferences(screen)
    return {
        "relaxed": relaxed,
        "away from rest": {"relaxed": relaxed_from_rest, "reset": away_from_rest},
        "presets": presets,
        "opened": opened,
        "exist": [Path(urlparse(url).path).is_file() for url in opened],
        "solved": bool(screen.scene.knuckle.result),
    }


def search(screen: "Screen", sought: str, name: str) -> "Any":
    """Press F3 and type."""
    x, y = screen.view_middle()
    screen.move(x - 3, y)
    yield 0.3
    screen.move(x, y)
    yield 0.5
    before = screen.pixels()
    screen.key(F3)
    # Blender opens the field of a search while it draws: what is typed earlier goes to the view.
    yield from screen.wait_until(lambda: (screen.pixels() != before).any(axis=-1).sum() > 2000, 10)
    yield 0.5
    for character in sought:
        screen.key(character if character != " " else "space")
        yield 0.05
    yield 1.5
    screen.picture(f"{name}{sought.replace(' ', '_')}")


def open_menu(screen: "Screen") -> "Any":
    with screen.in_view():
        bpy.ops.wm.call_menu(name="KNUCKLE_MT_hand")
    yield 1.0
    screen.picture("menus_hand")
    screen.key("Escape")
    yield 0.5


def use_presets(screen: "Screen", walk: "walking.Walk") -> "Any":
    """Add a preset of the settings, change these, and apply the preset; what is chosen before and after each step."""
    found = [chosen(screen)]
    yield from walk.choose("Solver", "Best", SOLVER)
    found.append(chosen(screen))
    yield from open_presets(screen, walk)
    x, y = (yield from walk.read("New Preset")).middle
    screen.move(x - 2, y)
    yield 0.3
    subprocess.run(["xdotool", "click", "--repeat", "2", "--delay", "60", "1"], check=True)
    yield 0.5
    screen.key("ctrl+a")
    subprocess.run(["xdotool", "type", PRESET], check=True)
    yield 0.3
    screen.key("Return")
    yield 0.5
    screen.picture("menus_preset_named")
    add = yield from add_button(screen, x, y)
    screen.click(*add)
    yield 0.5
    screen.move(*walking.beside_hand(screen))
    yield 0.5
    yield from walk.choose("Solver", "Fast", SOLVER)
    yield from walk.choose("Drive", "Fingers")
    found.append(chosen(screen))
    yield from open_presets(screen, walk)
    screen.picture("menus_presets")
    yield from walk.press(PRESET)
    yield 0.5
    screen.move(*walking.beside_hand(screen))
    return [*found, chosen(screen)]


def add_button(screen: "Screen", x: int, y: int) -> Generator[float, None, tuple[int, int]]:
    """Where the button that adds a preset is, right of the field for its name."""
    for right in range(x + 40, x + 200, 8):
        command = yield from screen.copied(right, y)
        if command.startswith("bpy.ops.knuckle.add_preset("):
            return right + 4, y
    raise LookupError("no button adds a preset")


def open_presets(screen: "Screen", walk: "walking.Walk") -> "Any":
    """Press the icon of presets in the title of the panel Solve."""
    y = (yield from walk.settled("Drive")).middle[1]
    region = screen.region(screen.area(), "UI")
    place = region.x + region.width - PRESETS[0], y - PRESETS[1]
    screen.move(place[0] - 2, place[1])
    yield 0.3
    screen.click(*place)
    yield 0.7


def chosen(screen: "Screen") -> list[str]:
    return [screen.scene.knuckle.purpose, screen.scene.knuckle.drive]


def show_panels(screen: "Screen") -> "Any":
    """The pictures of poses, and the end of the other tab."""
    yield from screen.show_sidebar("Knuckle Pose")
    yield 2.0
    screen.picture("menus_poses")
    bpy.context.window_manager.knuckle_pose_search = "sign y"
    screen.area().tag_redraw()
    yield 1.0
    screen.picture("menus_poses_found")
    screen.open_panels("KNUCKLE_PT_live")
    yield from screen.show_sidebar("Knuckle")
    screen.move(*screen.middle(screen.region(screen.area(), "UI")))
    yield 0.5
    screen.turn_wheel(30)
    yield 1.0
    screen.picture("menus_live")


def show_preferences(screen: "Screen") -> "Any":
    """Show the preferences in the main window."""
    area = screen.area()
    area.type = "PREFERENCES"
    yield 0.5
    package = next(addon.module for addon in bpy.context.preferences.addons if addon.module.endswith(".knuckle"))
    with bpy.context.temp_override(window=screen.window, area=area):
        bpy.ops.preferences.addon_show(module=package)
    bpy.context.preferences.active_section = "ADDONS"
    bpy.context.window_manager.addon_search = "knuckle"
    yield 1.0
    for window in bpy.context.window_manager.windows:
        for shown in window.screen.areas:
            shown.tag_redraw()
    yield 1.0
    screen.picture("menus_preferences")


def pose_of(armature: Any) -> Any:
    return np.array([np.array(bone.matrix_basis) for bone in armature.pose.bones])


def off_rest(armature: Any) -> float:
    """How far the digits' bones are from their rest pose: the largest entry of what moves them."""
    digits = [index for index, bone in enumerate(armature.pose.bones) if "finger" in bone.name or "thumb" in bone.name]
    return float(np.abs(pose_of(armature)[digits] - np.eye(4)).max())
