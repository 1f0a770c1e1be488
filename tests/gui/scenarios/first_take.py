"""docs/tutorials/first-take.md walked through as it is written, in a Blender that has never seen Knuckle."""

import importlib
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Quaternion

sys.path.append("/tmp/knuckle/tests/gui")
if TYPE_CHECKING:
    from knuckle.tests.gui import walking
    from knuckle.tests.gui.driver import Screen, Steps
else:
    walking = importlib.import_module("walking")

Actions = Generator[float, None, Any]

RIGS = Path("/tmp/out/rigs")
RECORDING = "leap_finger_tap.json"
TAB = "Knuckle"
SHOWN = 20
"""The frame on which the pictures show a take: the index finger is down."""
WRISTS = {"mixamo": "RightHand", "rigify": "DEF-hand.R", "makehuman": "wrist.R"}


def play(screen: "Screen") -> "Steps":
    shutil.copy(screen.repository / "data" / RECORDING, Path.home())
    for name in WRISTS:
        shutil.copy(RIGS / f"{name}.blend", Path.home())
    steps = (
        walking.install,
        open_character,
        choose_target,
        drop,
        solve,
        look,
        turn_hand,
        on_rigify,
        on_makehuman,
        save,
    )
    return (yield from walking.play_steps(screen, "first_take", steps))


def open_character(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The body with Mixamo's names, by the file browser."""
    yield from open_file(screen, walk, "mixamo")
    walk.picture(*walking.area_box(screen))
    return walk.done(bones=len(walking.armature(screen).data.bones))


def open_file(screen: "Screen", walk: "walking.Walk", name: str) -> Actions:
    """File > Open, and a double click on the file's name."""
    screen.move(*walking.beside_hand(screen))
    yield from walk.press("File")
    yield from walk.press("Open...")
    yield from screen.wait_until(lambda: len(walking.windows()) > 1)
    yield 1.0
    x, y = (yield from walk.read(f"{name}.blend")).middle
    screen.move(x - 2, y)
    yield 0.3
    subprocess.run(["xdotool", "mousemove", str(x), str(y), "click", "--repeat", "2", "--delay", "80", "1"], check=True)
    yield from screen.wait_until(lambda: bpy.data.filepath.endswith(f"{name}.blend"), 60)
    yield 1.0
    walk.marks.clear()


def choose_target(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """In the tab of the sidebar."""
    yield from target(screen, walk)
    yield from to_hand(screen)
    walk.picture(*walking.area_box(screen))
    return walk.done(target=screen.scene.knuckle.armature.name)


def target(screen: "Screen", walk: "walking.Walk") -> Actions:
    """The sidebar's tab, and in its panel Solve the character."""
    screen.move(*walking.beside_hand(screen))
    yield 0.3
    if not screen.area().spaces.active.show_region_ui:
        yield from walk.key("N")
    yield 0.7
    # A click on the tab that is open would fold it.
    chosen = screen.region(screen.area(), "UI").active_panel_category == TAB
    yield from (walk.read if chosen else walk.press)(TAB, upright=True)
    yield 0.7
    yield from walking.targeted(screen, walk)
    screen.move(*walking.beside_hand(screen))
    yield 0.5


def drop(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The recording falls on the view."""
    yield from walking.dropped(screen, walk, RECORDING)
    walk.picture(*walking.area_box(screen))
    return walk.done(markers=len(screen.scene.knuckle.markers["knuckle_capture"]["names"]))


def solve(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """By the panel's button."""
    yield from walking.solved(screen, walk)
    screen.scene.frame_set(SHOWN)
    yield from to_hand(screen)
    walk.picture(*walking.area_box(screen))
    return walk.done(**take(screen))


def look(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """Play the take, and read its errors."""
    screen.move(*walking.beside_hand(screen))
    yield 0.3
    first = screen.scene.frame_current
    yield from walk.key("Space", "space")
    yield from screen.wait_until(lambda: screen.scene.frame_current != first)
    yield from walk.key("Space", "space")
    screen.scene.frame_set(SHOWN)
    yield from walking.scrolled(screen, 20)
    yield from walk.read("Tip Error")
    walk.picture(*walking.area_box(screen))
    return walk.done(**take(screen))


def turn_hand(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The wrist follows too, from the pose that the character stands in."""
    yield from walking.scrolled(screen, -40)
    yield from walk.choose("Drive", "Wrist")
    yield from screen.wait_until(lambda: screen.scene.knuckle.drive == "wrist")
    yield from walking.scrolled(screen, 10)
    yield from walk.press("Align to Character")
    yield from walk.press("Rest Pose")
    yield 1.0
    yield from walking.solved(screen, walk)
    screen.scene.frame_set(SHOWN)
    yield from to_hand(screen)
    walk.picture(*walking.area_box(screen))
    return walk.done(**take(screen))


def on_rigify(screen: "Screen", walk: "walking.Walk") -> "Steps":
    return (yield from again(screen, walk, "rigify"))


def on_makehuman(screen: "Screen", walk: "walking.Walk") -> "Steps":
    return (yield from again(screen, walk, "makehuman"))


def again(screen: "Screen", walk: "walking.Walk", name: str) -> "Steps":
    """The take is saved; then the same on another character."""
    yield from saved(screen, walk)
    yield from open_file(screen, walk, name)
    if name == "rigify":
        yield from walk.press("Allow Execution")
        yield 2.0
    yield from target(screen, walk)
    yield from walking.dropped(screen, walk, RECORDING)
    yield from walking.solved(screen, walk)
    screen.scene.frame_set(SHOWN)
    yield from to_hand(screen)
    walk.picture(*walking.area_box(screen))
    return walk.done(**take(screen))


def save(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """Into the file that is open."""
    yield from saved(screen, walk)
    walk.picture(*walking.area_box(screen))
    return walk.done(saved=not bpy.data.is_dirty)


def saved(screen: "Screen", walk: "walking.Walk") -> Actions:
    """Into the file that is open."""
    screen.move(*walking.beside_hand(screen))
    yield 0.3
    yield from walk.key("Ctrl S", "ctrl+s")
    yield from screen.wait_until(lambda: not bpy.data.is_dirty)
    yield 0.5


def to_hand(screen: "Screen") -> Actions:
    """Turn the view to the hand, from the thumb's side a little above, without its bones."""
    rig = walking.armature(screen)
    wrist = rig.pose.bones[WRISTS[Path(bpy.data.filepath).stem]]
    area = screen.area()
    space = area.spaces.active
    middle = rig.matrix_world @ (wrist.head + 1.2 * (wrist.tail - wrist.head))
    view = space.region_3d
    view.view_perspective = "PERSP"
    view.view_rotation = Quaternion((1.0, 0.0, 0.0), np.radians(70.0))
    view.view_location, view.view_distance = middle, 0.62
    area.tag_redraw()
    yield 0.7


def take(screen: "Screen") -> dict[str, Any]:
    """What is keyed, and how far the character's bones and the wrist of a frame are from where they should be."""
    report: Any = importlib.import_module("bl_ext.user_default.knuckle.rig.keys.take_report").report_of(
        walking.armature(screen)
    )
    hand = report["hands"]["right"]["rig"]
    return {
        "rig": walking.armature(screen).name,
        "keys_range": [*walking.armature(screen).animation_data.action.frame_range],
        "degrees": hand["left_deg"]["mean"],
        "notes": report["warnings"],
    }
