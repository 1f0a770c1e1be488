"""Two of Knuckle's hand poses are keyed, and Blender's own pose tools make what is between them, by keys and mouse."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))
POSES = {1: "spread", 21: "fist"}
TOOLS = {"breakdown": ("shift+e", 120), "blend to neighbor": ("shift+alt+e", -120), "relax": ("alt+e", 120)}
"""Blender's tool -> its keys, and how far the mouse goes."""


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1000, 720)
    reported: dict[str, Any] = {}
    for name in ("own", "makehuman"):
        yield from hands.opened(screen, name)
        reported[name] = yield from between(screen, name)
    return reported


def between(screen: "Screen", name: str) -> "Steps":
    built = hands.outside(screen)
    screen.scene.tool_settings.use_keyframe_insert_auto = True
    reported: dict[str, Any] = {"built": built}
    for frame, pose in POSES.items():
        screen.scene.frame_set(frame)
        with screen.in_view():
            bpy.ops.knuckle.apply_hand_pose(pose=pose, side="right")
        yield from hands.look(screen, "front")
        reported[pose] = angles(screen)
        screen.picture(f"between_{name}_{pose}")
    screen.scene.frame_set(11)
    with screen.in_view():
        bpy.ops.knuckle.pose_select(side="right")
        bpy.ops.ed.undo_push(message="Selected")
    reported["played"] = angles(screen)
    for tool, (keys, way) in TOOLS.items():
        before = hands.channels(screen)
        x, y = screen.view_middle()
        screen.move(x, y)
        yield 0.2
        screen.key(keys)
        yield from screen.wait_until(lambda: screen.window.modal_operators)
        for part in (0.3, 0.7, 1.0):
            screen.move(round(x + part * way), y)
            yield 0.1
        screen.click(round(x + way), y)
        yield from screen.wait_until(lambda: not screen.window.modal_operators)
        yield 0.2
        reported[tool] = angles(screen) | {
            "changed": hands.channels(screen) != before,
            "outside": hands.outside(screen),
        }
        screen.picture(f"between_{name}_{tool.split()[0]}")
        if reported[tool]["changed"]:
            yield from hands.undone(screen)
    return reported


def angles(screen: "Screen") -> dict[str, Any]:
    """Degrees at which the joints of the hand are turned."""
    held = hands.held_hand(screen)
    found = np.degrees(held.read_pose().angles[0])
    return {"angles": {held.hand.dof_name(index): float(value) for index, value in enumerate(found)}}
