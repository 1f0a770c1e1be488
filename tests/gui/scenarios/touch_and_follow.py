"""A body's index finger touches the 3D cursor and goes around a ball, by the panel's buttons; both are undone."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Euler, Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

RIGS = Path("/tmp/out/rigs")


def play(screen: "Screen") -> "Steps":
    bpy.ops.wm.open_mainfile(filepath=str(RIGS / "makehuman.blend"), load_ui=False)
    yield 1.0
    screen.open_panels("KNUCKLE_PT_posing", "KNUCKLE_PT_follow")
    armature = next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")
    bpy.context.view_layer.objects.active = armature
    screen.scene.knuckle_posing.side = "right"
    screen.scene.cursor.location = tip(screen) + Vector((0.12, -0.15, 0.12))
    bpy.ops.ed.undo_push()
    yield from screen.fill_window()
    yield from screen.show_sidebar("Knuckle Pose")
    look(screen)
    yield 1.5
    region = screen.region(screen.area())
    top = screen.window.height - region.y - region.height
    told: dict[str, Any] = {"before": channels(screen), "view": [region.x, top, region.width - 300, region.height]}
    screen.picture("touch_before")
    place = yield from screen.button("knuckle.touch")
    screen.click(*place)
    yield from screen.wait_until(lambda: channels(screen) != told["before"])
    yield 0.5
    told["off"] = (tip(screen) - screen.scene.cursor.location).length
    screen.picture("touch")
    yield from undone(screen, told["before"])
    told["undone"] = channels(screen)
    told |= yield from followed(screen)
    return told


def followed(screen: "Screen") -> "Steps":
    """Around an empty's sphere, which is in reach of the arm."""
    before = channels(screen)
    ball = bpy.data.objects.new("Ball", None)
    ball.empty_display_type, ball.empty_display_size = "SPHERE", 0.06
    ball.location = tip(screen) + Vector((0.15, -0.2, 0.15))
    screen.scene.collection.objects.link(ball)
    chosen = screen.scene.knuckle_follow
    chosen.target, chosen.kind, chosen.first, chosen.last = ball, "SPHERE", 1, 24
    bpy.ops.ed.undo_push()
    yield 1.0
    place = yield from screen.button("knuckle.follow")
    screen.click(*place)
    yield from screen.wait_until(lambda: action(screen))
    offs = []
    for frame in range(1, 25):
        screen.scene.frame_set(frame)
        offs.append(abs((tip(screen) - screen.scene.objects["Ball"].matrix_world.translation).length - 0.06))
    told = {"off the ball": max(offs), "action": action(screen)}
    screen.scene.frame_set(9)
    yield 0.7
    screen.picture("follow")
    screen.scene.frame_set(1)
    yield from undone(screen, before)
    return told | {"action undone": action(screen), "undone after": channels(screen) == before}


def undone(screen: "Screen", before: object) -> "Steps":
    """One undo."""
    screen.move(*screen.view_middle())
    yield 0.5
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: channels(screen) == before)
    yield 0.3
    return {}


def rig(screen: "Screen") -> bpy.types.Object:
    """Asked for every time, since an undo replaces it."""
    return next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")


def action(screen: "Screen") -> str:
    """What the armature plays."""
    animation = rig(screen).animation_data
    return animation.action.name if animation and animation.action else ""


def channels(screen: "Screen") -> list[list[float]]:
    """How every bone stands."""
    return [[value for row in bone.matrix_basis for value in row] for bone in rig(screen).pose.bones]


def tip(screen: "Screen") -> Vector:
    """Where the right index finger's last bone ends."""
    bpy.context.view_layer.update()
    armature = rig(screen).evaluated_get(bpy.context.evaluated_depsgraph_get())
    return armature.matrix_world @ armature.pose.bones["finger2-3.R"].tail


def look(screen: "Screen") -> None:
    """The view is turned to the right arm, left of the sidebar."""
    view = screen.area().spaces.active.region_3d
    view.view_perspective, view.view_rotation = "PERSP", Euler((1.35, 0.0, -0.3)).to_quaternion()
    view.view_distance, view.view_location = 1.3, tip(screen) + Vector((0.35, 0.0, 0.2))
    screen.area().spaces.active.clip_start = 1e-3
