"""A glove's body is placed at a character by forearm and by two points, and drives its arm, by the panel's words."""

import importlib
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Matrix, Vector

sys.path.append("/tmp/knuckle/tests/gui")
if TYPE_CHECKING:
    from knuckle.tests.gui import walking
    from knuckle.tests.gui.driver import Screen, Steps
else:
    walking = importlib.import_module("walking")

Actions = Generator[float, None, Any]

RECORDING = "glove_align.bvh"
ARM = {"upperarm_r": (0.2, 0.5, 0.1), "lowerarm_r": (0.6, 0.0, 0.0)}
BONES = ("lowerarm_r", "RightHand", "RightHandMiddle1")
POINTS = ("Wrist", "Towards")


def play(screen: "Screen") -> "Steps":
    shutil.copy(f"/tmp/out/{RECORDING}", Path.home())
    bpy.ops.wm.open_mainfile(filepath="/tmp/out/rigs/mixamo.blend", load_ui=False)
    yield 1.0
    for name, turns in ARM.items():
        bone = walking.armature(screen).pose.bones[name]
        bone.rotation_mode, bone.rotation_euler = "XYZ", turns
    yield 0.5
    stands = arm(screen)
    yield from screen.show_sidebar("Knuckle")
    walk = walking.Walk(screen, "align", 1)
    yield from walking.targeted(screen, walk)
    yield from walking.dropped(screen, walk, RECORDING)
    recorded = [*marker(screen, "RightHand")]
    yield from walk.press("Right")
    yield from walking.scrolled(screen, -40)
    yield from drive_arm(screen, walk)
    yield from screen.wait_until(lambda: screen.scene.knuckle.drive == "arm")
    yield from aligned(screen, walk, "Forearms")
    by_forearm = arm(screen)
    performer = [[*marker(screen, name)] for name in ("RightLowerArm", "RightHand")]
    goals = points(screen, by_forearm)
    yield from aligned(screen, walk, "Two Points")
    return {
        "recorded": recorded,
        "stands": stands,
        "by_forearm": by_forearm,
        "performer": performer,
        "goals": goals,
        "by_points": arm(screen),
        "reported": (yield from screen.reports()),
    }


def drive_arm(screen: "Screen", walk: "walking.Walk") -> Actions:
    """Choose what is driven: beside the wrist in the menu, since other words begin with Arm, too."""
    found = yield from walk.settled("Drive")
    x, y = found.left + found.width + 60, found.middle[1]
    screen.move(x - 2, y)
    yield 0.3
    screen.click(x, y)
    yield 0.5
    wrist = yield from walk.settled("Wrist")
    yield from walk.press("Arm", within=(wrist.left - 10, wrist.middle[1] - 45, 100, 90))


def aligned(screen: "Screen", walk: "walking.Walk", method: str) -> Actions:
    """Place the performer, and solve."""
    yield from walking.scrolled(screen, 10)
    before = screen.scene.knuckle.markers.matrix_world.copy()
    yield from walk.press("Align to Character")
    yield from walk.press(method)
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers.matrix_world != before and not walking.running())
    yield from walking.solved(screen, walk)
    screen.scene.frame_set(1)
    yield 0.5
    screen.picture(f"align_{method.lower().replace(' ', '_')}")


def arm(screen: "Screen") -> list[list[float]]:
    """Where the character's right elbow, wrist and middle knuckle are, in m in the world."""
    armature = walking.armature(screen)
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return [[*(posed.matrix_world @ posed.pose.bones[name].head)] for name in BONES]


def marker(screen: "Screen", name: str) -> Vector:
    """Where a marker is on the first frame."""
    markers = screen.scene.knuckle.markers
    place = [*markers["knuckle_capture"]["names"]].index(name)
    found: Vector = markers.matrix_world @ markers.data.vertices[place].co
    return found


def points(screen: "Screen", stands: list[list[float]]) -> list[list[float]]:
    """Two empties, of which the one near the wrist is active; the hand would have to turn to point at the other."""
    elbow, wrist, knuckle = (Vector(point) for point in stands)
    start = wrist + 0.15 * (elbow - wrist)
    places = start, start + Matrix.Rotation(0.7, 3, "Z") @ (2.0 * (knuckle - wrist))
    for obj in screen.scene.objects:
        obj.select_set(False)
    for name, place in reversed([*zip(POINTS, places, strict=True)]):
        empty = bpy.data.objects.new(name, None)
        empty.location, empty.empty_display_size = place, 0.05
        screen.scene.collection.objects.link(empty)
        screen.window.view_layer.update()
        empty.select_set(True)
        screen.window.view_layer.objects.active = empty
    return [[*place] for place in places]
