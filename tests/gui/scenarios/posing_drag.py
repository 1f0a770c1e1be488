"""Hands of three rigs are dragged by the mouse: a fingertip, a knuckle, the palm; fingertips are pinned to the world
and to a surface; each drag is undone once, with auto-keying off and on.
"""

import importlib
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Matrix, Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

RIGS = Path("/tmp/out/rigs")
CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle")
SEEN_FROM = {"thumb": (-0.9, 0.1, -0.4), "front": (-0.25, 0.6, -0.8)}
"""Where the eye is, in the axes of a right hand's wrist."""


def play(screen: "Screen") -> "Steps":
    told: dict[str, Any] = {}
    for name in ("own", "makehuman", "rigify"):
        yield from opened(screen, name)
        told[name] = yield from dragged(screen, name)
    return told


def opened(screen: "Screen", name: str) -> "Steps":
    """A rig in Pose Mode with the tool; its right hand, somewhat bent, fills the view."""
    if name == "own":
        bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
        yield 1.0
        with screen.in_view():
            bpy.ops.knuckle.add_hand()
    else:
        bpy.ops.wm.open_mainfile(filepath=str(RIGS / f"{name}.blend"), load_ui=False, use_scripts=True)
        yield 1.5
        armature = next(obj for obj in screen.scene.objects if obj.type == "ARMATURE")
        screen.window.view_layer.objects.active = armature
        armature.select_set(True)
    with screen.in_view():
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.wm.tool_set_by_id(name="knuckle.hand_tool")
    bpy.context.preferences.edit.use_keyframe_insert_available = False
    ours("rig.known_hands").look(armature_now(screen))
    bend(screen)
    yield from look(screen, "thumb")
    return {}


def dragged(screen: "Screen", name: str) -> "Steps":
    told: dict[str, Any] = {}
    screen.picture(f"drag_{name}_before")
    tip, before = "index-finger-tip", channels(screen)
    told["built"] = outside(screen)
    told["tip"] = yield from drag(screen, tip, (40, 60))
    screen.picture(f"drag_{name}_tip")
    told["limits"] = outside(screen)
    yield from undone(screen)
    told["undone"] = channels(screen) == before
    told["unkeyed"] = keyed(screen)
    screen.scene.tool_settings.use_keyframe_insert_auto = True
    told["keyed tip"] = yield from drag(screen, tip, (30, 50))
    told["keyed"] = keyed(screen)
    yield from undone(screen)
    told["keys undone"] = keyed(screen)
    told["undone with keys"] = channels(screen) == before
    screen.scene.tool_settings.use_keyframe_insert_auto = False
    told["left"] = yield from cancelled(screen, tip, before)
    told["knuckle"] = yield from drag(screen, "middle-finger-phalanx-proximal", (20, 40))
    screen.picture(f"drag_{name}_knuckle")
    yield from undone(screen)
    told["middle joint"] = yield from drag(
        screen, "middle-finger-phalanx-proximal".replace("proximal", "intermediate"), (20, 40)
    )
    yield from undone(screen)
    told["palm"] = yield from pinned(screen, name)
    told["all undone"] = channels(screen) == before
    if name == "own":
        told["surface"] = yield from on_surface(screen)
    return told


def pinned(screen: "Screen", name: str) -> "Steps":
    """Thumb and index finger pinned to the world by P, then the palm is dragged; the ring finger to the middle one."""
    places = {}
    for joint in ("thumb-tip", "index-finger-tip"):
        screen.move(*spot(screen, joint))
        yield 0.5
        pins = len(armature_now(screen).knuckle_pins)
        screen.key("p")
        yield from screen.wait_until(lambda pins=pins: len(armature_now(screen).knuckle_pins) > pins)
        places[joint] = place(screen, joint)
    armature = armature_now(screen)
    told: dict[str, Any] = {"pins": [(pin.digit, pin.kind) for pin in armature.knuckle_pins]}
    wrist = place(screen, "wrist")
    yield from drag(screen, "wrist", (-14, -22))
    told["went"] = apart(place(screen, "wrist"), wrist)
    told["held"] = max(apart(place(screen, joint), there) for joint, there in places.items())
    told["limits"] = outside(screen)
    yield from look(screen, "front")
    screen.picture(f"drag_{name}_palm")
    yield from look(screen, "thumb")
    for _ in range(3):
        yield from undone(screen)
    told["pins undone"] = len(armature_now(screen).knuckle_pins)
    return told


def on_surface(screen: "Screen") -> "Steps":
    """A ball under the index finger: the tip is dragged onto it with Ctrl, pinned to it by P, and goes along."""
    told: dict[str, Any] = {}
    tip = place(screen, "index-finger-tip")
    frame = wrist_frame(screen)
    armature = armature_now(screen)
    with screen.in_view():
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.02, location=tip + frame @ np.array([0.0, 0.0, -0.028]))
        ball = bpy.context.view_layer.objects.active
        bpy.context.view_layer.objects.active = armature
        armature.select_set(True)
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.wm.tool_set_by_id(name="knuckle.hand_tool")
        bpy.ops.ed.undo_push(message="Ball")
    yield 0.5
    at = spot(screen, "index-finger-tip")
    centre = on_screen(screen, np.array(ball.location))
    yield from drag(screen, "index-finger-tip", (centre[0] - at[0] - 8, centre[1] - at[1] - 14), held="ctrl")
    tip = place(screen, "index-finger-tip")
    told["on"] = abs(1000 * float(np.linalg.norm(tip - np.array(ball.location))) - 20.0)
    screen.move(*spot(screen, "index-finger-tip"))
    yield 0.5
    screen.key("p")
    yield 0.5
    told["pins"] = [(pin.digit, pin.kind) for pin in armature.knuckle_pins]
    screen.picture("drag_own_surface")
    ball.location += Vector((0.0, -0.004, 0.003))
    bpy.context.view_layer.update()
    with screen.in_view():
        bpy.ops.knuckle.reach_pins("INVOKE_DEFAULT")
    told["went along"] = apart(place(screen, "index-finger-tip"), tip + [0.0, -0.004, 0.003])
    return told


def cancelled(screen: "Screen", joint: str, before: Any) -> "Steps":
    """A drag that is left by Esc while the button is held."""
    x, y = spot(screen, joint)
    screen.move(x, y)
    yield 0.4
    subprocess.run(["xdotool", "mousedown", "1"], check=True)
    for step in range(1, 5):
        screen.move(x + 10 * step, y + 12 * step)
        yield 0.1
    yield from settled(screen, before)
    moved = channels(screen) != before
    screen.key("Escape")
    yield from screen.wait_until(lambda: channels(screen) == before)
    subprocess.run(["xdotool", "mouseup", "1"], check=True)
    yield 0.3
    return {"moved": moved, "as before": channels(screen) == before}


def drag(screen: "Screen", joint: str, way: tuple[int, int], held: str = "") -> "Steps":
    """A point is dragged so many pixels; mm from where the mouse then is in its depth."""
    x, y = spot(screen, joint)
    before = channels(screen)
    screen.move(x - 30, y - 30)
    yield 0.2
    screen.move(x, y)
    yield 1.0
    if held:
        subprocess.run(["xdotool", "keydown", held], check=True)
    subprocess.run(["xdotool", "mousedown", "1"], check=True)
    yield 0.4
    for part in np.linspace(0.1, 1.0, 8):
        screen.move(round(x + part * way[0]), round(y + part * way[1]))
        yield 0.06
    yield 0.3
    subprocess.run(["xdotool", "mouseup", "1"], check=True)
    if held:
        subprocess.run(["xdotool", "keyup", held], check=True)
    yield 0.4
    yield from settled(screen, before)
    screen.move(x - 200, y - 200)
    yield 0.4
    end = spot(screen, joint)
    return {"pixels off": float(np.hypot(end[0] - x - way[0], end[1] - y - way[1])), "way": float(np.hypot(*way))}


def settled(screen: "Screen", before: Any) -> "Steps":
    """Until bones are elsewhere than before, and stay so: a busy machine is late."""
    yield from screen.wait_until(lambda: channels(screen) != before)
    last = None
    while last != channels(screen):
        last = channels(screen)
        yield 0.5
    return {}


def undone(screen: "Screen") -> "Steps":
    """One undo."""
    before = channels(screen), len(armature_now(screen).knuckle_pins)
    screen.move(*screen.view_middle())
    yield 0.2
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: (channels(screen), len(armature_now(screen).knuckle_pins)) != before)
    yield 0.3
    return {}


def ours(module: str) -> Any:
    return importlib.import_module(f"bl_ext.user_default.knuckle.{module}")


def armature_now(screen: "Screen") -> Any:
    """Asked for every time: an undo replaces it."""
    return screen.window.view_layer.objects.active


def held_hand(screen: "Screen") -> Any:
    screen.window.view_layer.update()
    return ours("rig.held_known").held_hand(armature_now(screen), "right")


def place(screen: "Screen", joint: str) -> Any:
    """(3,) m in the world."""
    index = ours("hand.joints").JOINT_INDEX[joint]
    return ours("rig.held").seen_frames(held_hand(screen))[index, :3, 3]


def wrist_frame(screen: "Screen") -> Any:
    return ours("rig.held").seen_frames(held_hand(screen))[0, :3, :3]


def apart(one: Any, other: Any) -> float:
    """mm"""
    return 1000 * float(np.linalg.norm(one - other))


def spot(screen: "Screen", joint: str) -> tuple[int, int]:
    """Where a point is taken hold of on the screen."""
    known = ours("rig.known_hands").look(armature_now(screen))
    points = ours("rig.grabbing").grab_points(armature_now(screen), known.bindings["right"])
    return on_screen(screen, points[joint])


def on_screen(screen: "Screen", point: Any) -> tuple[int, int]:
    area = screen.area()
    region = screen.region(area)
    found = location_3d_to_region_2d(region, area.spaces.active.region_3d, Vector(point))
    return round(region.x + found.x), round(screen.window.height - region.y - found.y)


def look(screen: "Screen", eye: str) -> "Steps":
    """The view turned to the right hand."""
    view = screen.area().spaces.active.region_3d
    frame = wrist_frame(screen)
    way = Vector(frame @ np.array(SEEN_FROM[eye]))
    ahead = Vector(frame[:, 1])
    side = ahead.cross(way).normalized()
    up = way.normalized().cross(side)
    view.view_rotation = matrix_of(side, up, way.normalized()).to_quaternion()
    knuckle = place(screen, "middle-finger-phalanx-proximal")
    wrist = place(screen, "wrist")
    view.view_location = Vector(0.35 * wrist + 0.65 * knuckle + 0.3 * (knuckle - wrist))
    view.view_distance = 4.2 * float(np.linalg.norm(knuckle - wrist))
    view.view_perspective = "ORTHO"
    yield 1.2
    return {}


def matrix_of(x: Any, y: Any, z: Any) -> Any:
    return Matrix((x, y, z)).transposed()


def bend(screen: "Screen") -> None:
    """A hand at ease, as the base of all drags, which no undo goes behind."""
    held, kept = held_hand(screen), ours("rig.held")
    stands = kept.standing(held)
    pose = ours("hand.kinematics").Pose(held.hand, stands.pose.root, held.hand.neutral[None])
    kept.show(held, kept.Standing(pose, stands.beyond))
    screen.window.view_layer.update()
    with screen.in_view():
        bpy.ops.ed.undo_push(message="Bent")


def channels(screen: "Screen") -> list[Any]:
    """Every channel of every bone."""
    return [[list(getattr(bone, name)) for name in CHANNELS] for bone in armature_now(screen).pose.bones]


def outside(screen: "Screen") -> float:
    """Degrees by which what was posed leaves a hand's limits, as they are read back of the bones."""
    held = held_hand(screen)
    stands = ours("rig.held").standing(held)
    beyond = [2 * np.degrees(np.arccos(min(1.0, abs(float(turn[0]))))) for _, turn in stands.beyond.values()]
    return float(max(beyond))


def keyed(screen: "Screen") -> list[str]:
    """The groups of the curves that the armature plays."""
    animation = armature_now(screen).animation_data
    action = animation.action if animation else None
    if action is None:
        return []
    bags = [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]
    return sorted({curve.group.name for bag in bags for curve in bag.fcurves if curve.group})
