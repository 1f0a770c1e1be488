"""The algebra is switched on over the default hand and its steps are looked at; then over a body's finger and arm."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Euler, Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

RIGS = Path("/tmp/out/rigs")
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
    told: dict[str, Any] = {"view": [region.x, top, region.width, region.height]}
    shown = bpy.context.window_manager.knuckle_algebra
    screen.picture("algebra_off")
    told["handlers at first"] = drawn()
    shown.show = True
    # Its hands are looked for once it is drawn.
    yield from screen.wait_until(lambda: overlay()._named)
    for step in told.setdefault("steps", [0, 1, 2, 3, 5]):
        shown.step = step
        yield 0.6
        screen.picture(f"algebra_{step}")
    told["handlers on"] = drawn()
    # Sliders show how the hand stands once it was looked for.
    after = {key: value for key, value in screen.dump().items() if ".knuckle_posing." not in key}
    told["changed"] = sorted(key for key, value in after.items() if before.get(key) != value)
    bpy.ops.wm.open_mainfile(filepath=str(RIGS / "makehuman.blend"), load_ui=False)
    yield 1.0
    yield from body(screen)
    told["handlers after a file"] = drawn()
    bpy.context.window_manager.knuckle_algebra.show = False
    yield 0.3
    told["handlers off"] = drawn()
    return told


def body(screen: "Screen") -> "Steps":
    """MakeHuman's arm, and its index finger."""
    shown = bpy.context.window_manager.knuckle_algebra
    armature = next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")
    bpy.context.view_layer.objects.active = armature
    for name, angle in (("finger2-1.R", 0.5), ("finger2-2.R", 0.6), ("lowerarm01.R", 0.6)):
        armature.pose.bones[name].rotation_mode = "XYZ"
        armature.pose.bones[name].rotation_euler.x = angle
    screen.scene.knuckle_posing.side = "right"
    shown.parts, shown.step = {"index-finger"}, 3
    look(screen, armature, "wrist.R", (1.2, 0.0, -0.6))
    yield 1.5
    screen.picture("algebra_makehuman")
    shown.parts, shown.step = {"arm"}, 2
    look(screen, armature, "upperarm01.R", (1.3, 0.0, -0.5))
    yield 1.0
    screen.picture("algebra_arm")
    return {}


def drawn() -> int:
    """How many of the overlay's functions Blender calls."""
    return len(overlay()._handles)


def overlay() -> Any:
    """The extension's own module, whatever it is called here."""
    return next(module for name, module in sys.modules.items() if name.endswith(".algebra_overlay"))


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
