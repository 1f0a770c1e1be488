"""A hand's index finger touches the 3D cursor and goes around a ball, by the panel's buttons; both are undone."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Euler, Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))
LAST_BONE = {"own": "index-finger-phalanx-distal", "makehuman": "finger2-3.R", "rigify": "DEF-f_index.03.R"}
RADIUS = 0.06


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1300, 900)
    screen.open_panels("KNUCKLE_PT_posing", "KNUCKLE_PT_follow")
    yield from screen.fill_window()
    reported: dict[str, Any] = {}
    for rig in LAST_BONE:
        yield from hands.opened(screen, rig)
        yield from screen.show_sidebar("Knuckle Pose")
        look(screen, rig)
        reported[rig] = {**(yield from touched(screen, rig)), **(yield from followed(screen, rig))}
    region = screen.region(screen.area())
    top = screen.window.height - region.y - region.height
    return reported | {"view": [region.x, top, region.width - 300, region.height]}


def touched(screen: "Screen", rig: str) -> "Steps":
    """The 3D cursor, which the finger reaches with its arm, or with the whole hand where there is no arm."""
    screen.scene.cursor.location = tip(screen, rig) + Vector((0.12, -0.15, 0.12))
    bpy.ops.ed.undo_push()
    before, limits = hands.channels(screen), hands.outside(screen)
    yield 1.0
    screen.picture(f"touch_before_{rig}")
    yield from pressed(screen, "knuckle.touch")
    yield from screen.wait_until(lambda: hands.channels(screen) != before)
    yield 0.5
    off = (tip(screen, rig) - screen.scene.cursor.location).length
    screen.picture(f"touch_{rig}")
    reported = {"off": off, "further out of limits": further(screen, limits)}
    yield from hands.undone(screen)
    return reported | {"undone": hands.channels(screen) == before}


def followed(screen: "Screen", rig: str) -> "Steps":
    """Around an empty's sphere, which is in reach of the arm."""
    ball = bpy.data.objects.new("Ball", None)
    ball.empty_display_type, ball.empty_display_size = "SPHERE", RADIUS
    ball.location = tip(screen, rig) + Vector((0.15, -0.2, 0.15))
    screen.scene.collection.objects.link(ball)
    chosen = screen.scene.knuckle_follow
    chosen.target, chosen.kind, chosen.first, chosen.last = ball, "SPHERE", 1, 24
    bpy.ops.ed.undo_push()
    before, limits = hands.channels(screen), hands.outside(screen)
    yield from pressed(screen, "knuckle.follow")
    yield from screen.wait_until(lambda: action(screen))
    offs, outs = [], []
    for frame in range(1, 25):
        screen.scene.frame_set(frame)
        middle = screen.scene.objects["Ball"].matrix_world.translation
        offs.append(abs((tip(screen, rig) - middle).length - RADIUS))
        outs.append(further(screen, limits))
    reported = {"off the ball": max(offs), "out of limits on the way": max(outs), "action": action(screen)}
    screen.scene.frame_set(9)
    yield 0.7
    screen.picture(f"follow_{rig}")
    screen.scene.frame_set(1)
    yield from hands.undone(screen)
    return reported | {"action undone": action(screen), "undone after": hands.channels(screen) == before}


def pressed(screen: "Screen", operator: str) -> "Steps":
    """A button of the panel."""
    yield 0.5
    place = yield from screen.button(operator)
    screen.click(*place)
    return {}


def further(screen: "Screen", limits: dict[str, float]) -> float:
    """Degrees by which a bone is turned further out of a hand's limits than before."""
    now: dict[str, float] = hands.outside(screen)
    return max(degrees - limits.get(joint, 0.0) for joint, degrees in now.items())


def action(screen: "Screen") -> str:
    """What the armature plays."""
    animation = hands.armature_of(screen).animation_data
    return animation.action.name if animation and animation.action else ""


def tip(screen: "Screen", rig: str) -> Vector:
    """Where the right index finger's last bone ends."""
    screen.window.view_layer.update()
    armature = hands.armature_of(screen).evaluated_get(bpy.context.evaluated_depsgraph_get())
    place: Vector = armature.matrix_world @ armature.pose.bones[LAST_BONE[rig]].tail
    return place


def look(screen: "Screen", rig: str) -> None:
    """The view is turned to the right arm, left of the sidebar."""
    view = screen.area().spaces.active.region_3d
    view.view_perspective, view.view_rotation = "PERSP", Euler((1.35, 0.0, -0.3)).to_quaternion()
    view.view_distance, view.view_location = 1.3, tip(screen, rig) + Vector((0.35, 0.0, 0.2))
    screen.area().spaces.active.clip_start = 1e-3
