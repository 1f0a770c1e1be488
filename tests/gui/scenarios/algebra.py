"""The algebra is switched on over the default hand and its steps are seen; then over two bodies' finger and arm."""

import math
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Euler, Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))
BODIES = {
    "makehuman": {"index-finger": "wrist.R", "arm": "upperarm01.R"},
    "rigify": {"index-finger": "DEF-hand.R", "arm": "DEF-upper_arm.R"},
}
"""Rig -> the part that is drawn -> the bone from which on it is looked at."""
CURLED = {"phalanx-proximal": 30.0, "phalanx-intermediate": 45.0, "phalanx-distal": 30.0}


def play(screen: "Screen") -> "Steps":
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.ops.knuckle.add_hand()
    hand = bpy.context.view_layer.objects.active
    for bone in hand.pose.bones:
        part = bone.name.split("finger-")[-1]
        if "finger" in bone.name and part in CURLED:
            bone.rotation_mode = "XYZ"
            bone.rotation_euler.x = -math.radians(CURLED[part])
    look(screen, hand, "wrist", (1.1, 0.0, -0.9))
    yield 1.0
    before, region = screen.dump(), screen.region(screen.area())
    top = screen.window.height - region.y - region.height
    reported: dict[str, Any] = {"view": [region.x, top, region.width, region.height]}
    shown = bpy.context.window_manager.knuckle_algebra
    screen.picture("algebra_off")
    reported["handlers at first"] = drawn()
    shown.show = True
    # Its hands are looked for once it is drawn.
    yield from screen.wait_until(lambda: session().algebra_names)
    for step in reported.setdefault("steps", [0, 1, 2, 3, 5]):
        shown.step = step
        yield 0.6
        screen.picture(f"algebra_{step}")
    reported["handlers on"] = drawn()
    # Sliders show how the hand stands once it was looked for.
    after = {key: value for key, value in screen.dump().items() if ".knuckle_posing." not in key}
    reported["changed"] = sorted(key for key, value in after.items() if before.get(key) != value)
    for rig in BODIES:
        yield from body(screen, rig)
    reported["handlers after a file"] = drawn()
    bpy.context.window_manager.knuckle_algebra.show = False
    yield 0.3
    reported["handlers off"] = drawn()
    return reported


def body(screen: "Screen", rig: str) -> "Steps":
    """A body's arm, and its index finger."""
    shown = bpy.context.window_manager.knuckle_algebra
    yield from hands.opened(screen, rig)
    screen.scene.knuckle_posing.side = "right"
    armature = hands.armature_of(screen)
    for part, step, turn in (("index-finger", 3, (1.2, 0.0, -0.6)), ("arm", 2, (1.3, 0.0, -0.5))):
        shown.parts, shown.step = {part}, step
        look(screen, armature, BODIES[rig][part], turn)
        yield 1.0
        screen.picture(f"algebra_{rig}_{part}")
    return {}


def drawn() -> int:
    """How many of the overlay's functions Blender calls."""
    return len(session().draw_handlers.get("algebra", []))


def session() -> Any:
    """The extension's own session, whatever the package is called here."""
    return next(module for name, module in sys.modules.items() if name.endswith(".operators.session")).SESSION


def look(screen: "Screen", armature: bpy.types.Object, root: str, turn: tuple[float, float, float]) -> None:
    """The view is turned to the bones from one on outwards."""
    bpy.context.view_layer.update()
    view = screen.area().spaces.active.region_3d
    bone = armature.pose.bones[root]
    places = [
        armature.matrix_world @ point for one in (bone, *bone.children_recursive) for point in (one.head, one.tail)
    ]
    middle: Vector = sum(places[1:], places[0]) / len(places)
    view.view_perspective, view.view_rotation = "PERSP", Euler(turn).to_quaternion()
    view.view_distance, view.view_location = 3.0 * max((place - middle).length for place in places), middle
    screen.area().spaces.active.clip_start = 1e-3
