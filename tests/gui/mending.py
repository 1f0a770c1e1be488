"""What scenarios that mend a take share: panels, problems and dialogues, as a person uses them, and what came of it."""

import importlib
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Quaternion

if TYPE_CHECKING:
    from knuckle.tests.gui import walking
    from knuckle.tests.gui.driver import Screen
else:
    walking = importlib.import_module("walking")

Actions = Generator[float, None, Any]

KNUCKLE = "bl_ext.user_default.knuckle"
RIG = Path("/tmp/out/rigs/rigify.blend")


def opened(screen: "Screen", *recordings: str) -> Actions:
    """Recordings beside the pictures are brought home, and the character is opened and chosen.

    Step 2 of the first take's page, and its step 8.
    """
    for path in (RIG, *(Path("/tmp/out") / name for name in recordings)):
        shutil.copy(path, Path.home())
    bpy.ops.wm.open_mainfile(filepath=str(Path.home() / RIG.name), load_ui=False, use_scripts=True)
    yield from screen.resize(1300, 1000)
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(60)
    screen.scene.knuckle.rig, screen.scene.knuckle.armature = "ARMATURE", walking.armature(screen)


def alone(screen: "Screen", walk: "walking.Walk", title: str) -> Actions:
    """Open a panel and fold the others, by Ctrl and a click on its title."""
    walk.keys.append("Ctrl")
    subprocess.run(["xdotool", "keydown", "ctrl"], check=True)
    yield from walk.press(title, within=titles(screen))
    subprocess.run(["xdotool", "keyup", "ctrl"], check=True)
    yield 0.7
    walk.marks.clear()


def titles(screen: "Screen") -> "walking.Box":
    """The left part of the sidebar, where the titles of panels stand."""
    left, top, width, height = sidebar(screen)
    return left, top, round(0.36 * width), height


def sidebar(screen: "Screen") -> "walking.Box":
    """Where a button's words are looked for, which takes less time than in the whole window."""
    region = screen.region(screen.area(), "UI")
    return region.x, screen.window.height - region.y - region.height, region.width, region.height


def next_problem(screen: "Screen", walk: "walking.Walk") -> Actions:
    """By its key, over the view."""
    before = screen.scene.knuckle_review.current
    screen.move(*screen.view_middle())
    yield 0.3
    yield from walk.key("Alt J", "alt+j")
    yield from screen.wait_until(lambda: screen.scene.knuckle_review.current != before)
    yield 0.5


def turned(screen: "Screen", walk: "walking.Walk", degrees: int) -> Actions:
    """Each of the selected bones about its own X axis."""
    screen.move(*screen.view_middle())
    yield 0.3
    for name in ("R", "X", "X"):
        yield from walk.key(name)
    subprocess.run(["xdotool", "type", "--", str(degrees)], check=True)
    yield from walk.key("Enter", "Return")


def agreed(screen: "Screen", walk: "walking.Walk", count: int) -> Actions:
    """Enter in a dialogue, until the take has so many corrections."""
    left, top, width, _ = walk.marks[0]
    # Off the field below the mouse, which Enter would edit.
    screen.move(left + width // 2 - 220, top - 25)
    yield 0.5
    yield from walk.key("Enter", "Return")
    yield from screen.wait_until(lambda: len(kept(screen)) == count and not walking.running(), 60)
    # A panel that grows or shrinks moves those below it as the mouse does.
    screen.move(*screen.middle(screen.region(screen.area(), "UI")))
    yield 0.7
    screen.move(*screen.view_middle())
    yield 0.7
    # What was pressed in the dialogue is gone, and a list that has grown may have moved the button that opened it.
    walk.marks = [(yield from walk.look(walk.words[0], within=sidebar(screen)))]


def to_hand(screen: "Screen") -> Actions:
    """Turn the view to the hand, from the thumb's side a little above."""
    rig = walking.armature(screen)
    wrist = rig.pose.bones["DEF-hand.R"]
    view = screen.area().spaces.active.region_3d
    view.view_perspective = "PERSP"
    view.view_rotation = Quaternion((1.0, 0.0, 0.0), np.radians(70.0))
    view.view_location = rig.matrix_world @ (wrist.head + 1.2 * (wrist.tail - wrist.head))
    view.view_distance = 0.62
    screen.area().tag_redraw()
    yield 0.7


def module(name: str) -> Any:
    return importlib.import_module(f"{KNUCKLE}.{name}")


def kept(screen: "Screen") -> Any:
    """The corrections of the take."""
    return module("rig.keys.corrections.corrected_take").corrections_of(walking.armature(screen))


def states(screen: "Screen") -> dict[str, str]:
    """Of each correction, by its id, what it waits for or why it is held shorter; "on" where neither is."""
    action = walking.armature(screen).animation_data.action
    reported = module("rig.keys.corrections.waiting")
    hindered = {**reported.shortened_of(action), **reported.waiting_of(action)}
    return {one.id: hindered.get(one.id, "on") for one in kept(screen)}


def spans(screen: "Screen") -> list[str]:
    """The frames of each correction, as the panel writes them."""
    with screen.in_view():
        shown = module("operators.take_corrections").required_take(bpy.context)
    frames = (shown.clock.frames([one.range.start, one.range.end]) for one in shown.corrections)
    return [f"{first:.0f}–{last:.0f}" for first, last in frames]


def problems(screen: "Screen") -> Any:
    """All of the take."""
    return module("rig.keys.take_problems").problems_of(walking.armature(screen))


def keys(screen: "Screen") -> int:
    """The keys of the action that the character plays."""
    curves = module("rig.keys.fcurves").curves_on(walking.armature(screen))
    return sum(len(curve.keyframe_points) for curve in curves)


def place(screen: "Screen") -> dict[str, Any]:
    """The problem that is shown, by its rank, and what is selected."""
    key = screen.scene.knuckle_review.current
    rank, problem = next(pair for pair in enumerate(problems(screen)) if pair[1].key == key)
    return {
        "rank": rank,
        "frame": screen.scene.frame_current_final,
        "worst": problem.worst,
        "span": [problem.first, problem.last],
        "reason": problem.reason,
        "bones": [bone.name for bone in walking.armature(screen).pose.bones if bone.select],
    }
