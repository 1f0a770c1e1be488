"""docs/tutorials/first-hand.md walked through as it is written, in a Blender that has never seen Knuckle.

What is pressed is found by its words on the screen; each step tells the words that were read and the keys that were
pressed, which are those of the page.
"""

import importlib
import runpy
import subprocess
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

sys.path.append("/tmp/knuckle/tests/gui")
if TYPE_CHECKING:
    from knuckle.tests.gui import walking
    from knuckle.tests.gui.driver import Screen, Steps
else:
    walking = importlib.import_module("walking")

Actions = Generator[float, None, Any]
Box = tuple[int, ...]

TAB = "Knuckle Pose"
PINNED = ("thumb-tip", "index-finger-tip")
CAN = ("0.035", "0.12", "0", "0.09", "-0.09")
"""Radius, depth and place, in metres, as they are typed from field to field."""


def play(screen: "Screen") -> "Steps":
    steps = (walking.install, add, take_tool, drag_tip, pin_tips, drag_palm, curl, pose, add_can, grasp)
    return (yield from walking.play_steps(screen, "first_hand", steps))


def add(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The cube goes, a hand comes, the view goes to it and to its thumb's side."""
    screen.move(*walking.beside_hand(screen))
    yield 0.3
    yield from walk.key("X")
    yield from walk.key("Enter", "Return")
    yield from screen.wait_until(lambda: "Cube" not in screen.scene.objects)
    yield from walk.press("Add")
    for text in ("Armature", "Knuckle Hand"):
        found = yield from walk.read(text)
        walk.marks.append(found)
        screen.move(found.left + found.width + 10, found.middle[1])
        yield 0.5
    walk.picture(*walking.area_box(screen)[:2], 700, 560)
    screen.click(*found.middle)
    yield from screen.wait_until(lambda: "Right Hand" in screen.scene.objects)
    for text in ("View", "Frame Selected"):
        yield 0.5
        yield from walk.press(text)
    del walk.marks[3:]
    yield 0.5
    x, y = walking.beside_hand(screen)
    yield from screen.drag((x - 150, y), (x + 160, y - 35), button="2")
    yield 0.7
    return walk.done(objects=sorted(obj.name for obj in screen.scene.objects))


def take_tool(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """Pose Mode and the last tool of the toolbar."""
    yield from walk.press("Object Mode")
    yield from walk.press("Pose Mode")
    walk.marks.clear()
    x, y = yield from tool(screen, "knuckle.hand_tool")
    screen.click(x, y)
    yield from screen.wait_until(lambda: tool_now() == "knuckle.hand_tool")
    walk.marks.append((x - 18, y - 18, 36, 36))
    screen.move(*walking.beside_hand(screen))
    yield 1.0
    walk.picture(*walking.area_box(screen))
    return walk.done(mode=armature(screen).mode, tool=tool_now())


def drag_tip(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The index finger is bent by its tip."""
    reported = yield from drag(screen, "index-finger-tip", (40, 90))
    walk.picture(*walking.area_box(screen))
    return walk.done(**reported)


def pin_tips(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """By P over them."""
    for number, joint in enumerate(PINNED, 1):
        screen.move(*spot(screen, joint))
        yield 0.7
        yield from walk.key("P")
        yield from screen.wait_until(lambda number=number: len(armature(screen).knuckle_pins) == number)
        left, top = spot(screen, joint)
        walk.marks.append((left - 14, top - 14, 28, 28))
    screen.move(*walking.beside_hand(screen))
    yield 0.7
    walk.picture(*walking.area_box(screen))
    return walk.done(pins=[(pin.digit, pin.kind) for pin in armature(screen).knuckle_pins])


def drag_palm(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The pinned tips stay."""
    before = {joint: place(screen, joint) for joint in (*PINNED, "wrist")}
    yield from drag(screen, "wrist", (-10, -40))
    walk.picture(*walking.area_box(screen))
    held = max(apart(place(screen, joint), before[joint]) for joint in PINNED)
    return walk.done(held=held, went=apart(place(screen, "wrist"), before["wrist"]))


def curl(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The pins are let go of, the sidebar is opened, a slider is dragged."""
    screen.move(*walking.beside_hand(screen))
    yield 0.3
    yield from walk.key("Alt P", "alt+p")
    yield from walk.key("N")
    yield 0.7
    yield from walk.press(TAB, upright=True)
    yield 1.0
    column, row = (yield from walk.read("Curl")), (yield from walk.read("All", -1))
    x, y = column.middle[0], row.middle[1]
    walk.marks.append((x - 40, y - 10, 80, 20))
    before = screen.scene.knuckle_posing.curl
    screen.move(x - 3, y)
    yield 0.3  # a slider takes a press once the mouse is known to be over it
    yield from screen.drag((x, y), (x + 25, y))
    yield from screen.wait_until(lambda: screen.scene.knuckle_posing.curl != before)
    screen.move(*walking.beside_hand(screen))
    yield 1.0
    walk.picture(*walking.area_box(screen))
    return walk.done(before=before, curl=screen.scene.knuckle_posing.curl, pins=len(armature(screen).knuckle_pins))


def pose(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """One of the poses that have names."""
    found = yield from walk.read("Relaxed")
    walk.marks.append(found)
    screen.move(found.left + found.width + 10, found.middle[1])
    yield 0.5
    walk.picture(*walking.area_box(screen))
    screen.click(*found.middle)
    yield from screen.wait_until(lambda: told_last() == "KNUCKLE_OT_apply_hand_pose")
    yield 0.5
    held = ours("rig.posing.posable_cache").posable_hand(armature(screen), "right")
    angles = held.read().pose.angles[0]
    relaxed, joints = ours("hand.poses").angles(held.hand, "relaxed"), ours("rig.posing.hand_poses").posed_joints(held)
    own = np.isin(held.hand.axis_joint, joints)
    return walk.done(off=float(np.abs(np.degrees(angles - relaxed))[..., own].max()))


def add_can(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """A cylinder as large as a can, below the palm."""
    yield from walk.press("Pose Mode")
    for text in ("Object Mode", "Add", "Mesh", "Cylinder"):
        yield from walk.press(text)
    walk.marks.clear()
    yield 0.7
    yield from walk.press("Add Cylinder", -1)
    yield 0.7
    walk.marks.clear()
    yield from walk.typed("Radius", CAN, within=walking.area_box(screen))
    screen.move(*walking.beside_hand(screen))
    yield 0.7
    walk.picture(*walking.area_box(screen))
    can = screen.scene.objects["Cylinder"]
    return walk.done(size=[*can.dimensions], location=[*can.location])


def grasp(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """With its approach keyed, and played."""
    screen.move(*spot(screen, "wrist"))
    yield 0.3
    walk.keys.append("Shift")
    subprocess.run(["xdotool", "keydown", "shift", "click", "1", "keyup", "shift"], check=True)
    yield 1.0
    selected = sorted(obj.name for obj in bpy.context.view_layer.objects.selected)
    for text in ("Hand Pose", "Grasp", "Key Approach"):
        yield from walk.press(text)
    screen.picture("first_hand_grasp")
    yield from walk.press("Grasp Object")
    yield from screen.wait_until(lambda: armature(screen).animation_data, 120.0)
    yield 1.0
    first, last = armature(screen).animation_data.action.frame_range
    screen.move(*walking.beside_hand(screen))
    yield 0.3
    yield from walk.key("Space", "space")
    yield from screen.wait_until(lambda: screen.scene.frame_current > first)
    yield from walk.key("Space", "space")
    screen.scene.frame_set(int(last))
    yield 1.0
    walk.picture(*walking.area_box(screen))
    return walk.done(selected=selected, frames=[first, last], **touched(screen))


def touched(screen: "Screen") -> dict[str, float]:
    """m, how deep the skin is in the can, and how far from it; measured by every triangle in turn."""
    things = runpy.run_path(str(screen.repository / "tests" / "blender" / "things.py"))
    can, hand = screen.scene.objects["Cylinder"], screen.scene.objects["Right Hand Skin"]
    skin, (vertices, triangles) = things["evaluated"](hand)[0], things["evaluated"](can)
    near = skin[np.linalg.norm(skin - vertices.mean(axis=0), axis=1) < 0.1]
    away = min(things["_to_triangles"](point, vertices[triangles]).min() for point in near)
    return {"deep": float(things["depths"](skin, can).max()), "near": float(away)}


def run_so_far() -> list[int]:
    """The operators that Blender remembers, the first of which it forgets in time."""
    return [operator.as_pointer() for operator in bpy.context.window_manager.operators]


def told_last() -> str:
    """The operator that was run last."""
    run = bpy.context.window_manager.operators
    return str(run[-1].bl_idname) if run else ""


def tool(screen: "Screen", name: str) -> Actions:
    """Where the toolbar has a tool's button."""
    region = screen.region(screen.area(), "TOOLS")
    x, top = region.x + 24, screen.window.height - region.y - region.height
    for y in range(top + region.height - 12, top, -17):
        if name in (yield from screen.copied(x, y)):
            return x, y - 6
    raise LookupError(f"the toolbar has no button for {name}")


def tool_now() -> str:
    return str(bpy.context.window_manager.windows[0].workspace.tools.from_space_view3d_mode("POSE").idname)


def drag(screen: "Screen", joint: str, way: tuple[int, int]) -> "Steps":
    """A ring is dragged so many pixels; how far from the mouse it then is."""
    x, y = spot(screen, joint)
    screen.move(x - 30, y - 30)
    yield 0.2
    screen.move(x, y)
    yield 0.6
    subprocess.run(["xdotool", "mousedown", "1"], check=True)
    yield 0.3
    for part in np.linspace(0.1, 1.0, 8):
        screen.move(round(x + part * way[0]), round(y + part * way[1]))
        yield 0.06
    yield 0.3
    before = run_so_far()
    subprocess.run(["xdotool", "mouseup", "1"], check=True)
    yield from screen.wait_until(lambda: run_so_far() != before)
    yield 0.7
    end = spot(screen, joint)
    return {"pixels off": float(np.hypot(end[0] - x - way[0], end[1] - y - way[1]))}


def ours(module: str) -> Any:
    return importlib.import_module(f"bl_ext.user_default.knuckle.{module}")


def armature(screen: "Screen") -> Any:
    """Asked for every time: an undo replaces it."""
    return screen.scene.objects["Right Hand"]


def place(screen: "Screen", joint: str) -> Any:
    """(3,) m in the world."""
    screen.window.view_layer.update()
    held = ours("rig.posing.posable_cache").posable_hand(armature(screen), "right")
    return held.evaluated_frames()[ours("hand.joints").JOINT_INDEX[joint], :3, 3]


def apart(one: Any, other: Any) -> float:
    """mm"""
    return 1000 * float(np.linalg.norm(one - other))


def spot(screen: "Screen", joint: str) -> tuple[int, int]:
    """Where a ring is on the screen."""
    known = ours("rig.detection_cache").detect(armature(screen))
    point = ours("rig.posing.handles").grab_points(armature(screen), known.bindings["right"])[joint]
    area = screen.area()
    region = screen.region(area)
    found = location_3d_to_region_2d(region, area.spaces.active.region_3d, Vector(point))
    return round(region.x + found.x), round(screen.window.height - region.y - found.y)
