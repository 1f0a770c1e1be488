"""docs/tutorials/mend-a-take.md walked through as it is written: from a solved take to one that can be shown."""

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

Told = Generator[float, None, Any]

RIG = Path("/tmp/out/rigs/rigify.blend")
GLOVE, VIDEO = "qualisys_glove.tsv", "mediapipe_video.json"
KNUCKLE = "bl_ext.user_default.knuckle"


def play(screen: "Screen") -> "Steps":
    for name in (GLOVE, VIDEO):
        shutil.copy(f"/tmp/out/{name}", Path.home())
    shutil.copy(RIG, Path.home())
    # Step 2 of the first take's page, and its step 8.
    bpy.ops.wm.open_mainfile(filepath=str(Path.home() / RIG.name), load_ui=False, use_scripts=True)
    yield from screen.resize(1300, 1000)
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(60)
    screen.scene.knuckle.rig, screen.scene.knuckle.armature = "ARMATURE", walking.armature(screen)
    steps = (solve, find, pose, solve_range, snap, hide, again, splice, hold, reduce)
    return (yield from walking.play_steps(screen, "mend_a_take", steps))


def solve(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The glove's recording, and the scene's range is its frames."""
    yield from walking.dropped(screen, walk, GLOVE)
    yield from walking.solved(screen, walk)
    yield from walking.scrolled(screen, 10)
    walk.marks.clear()
    yield from walk.press("Set Scene Frame Range")
    yield from to_hand(screen)
    walk.picture(*walking.area_box(screen))
    return walk.done(range=[screen.scene.frame_start, screen.scene.frame_end])


def find(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The panel Review alone, then Corrections and Keys below it; the worst place."""
    yield from alone(screen, walk, "Review")
    for title in ("Corrections", "Keys"):
        yield from walk.press(title)
    yield from next_problem(screen, walk)
    walk.picture(*walking.area_box(screen))
    return walk.done(**place(screen))


def pose(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The digit's bones, which are selected, are turned by a key, and that is kept."""
    screen.move(*screen.view_middle())
    yield 0.3
    for name in ("R", "X", "X"):
        yield from walk.key(name)
    subprocess.run(["xdotool", "type", "--", "-15"], check=True)
    yield from walk.key("Enter", "Return")
    yield from walk.press("Correct Pose")
    yield from screen.wait_until(lambda: len(kept(screen)) == 1)
    yield 0.5
    walk.picture(*walking.area_box(screen))
    return walk.done(**place(screen), **mends(screen))


def solve_range(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The next place, by another solver."""
    yield from next_problem(screen, walk)
    yield from walk.press("Solve Range With")
    yield from walk.press("FABRIK")
    yield from walk.press("Whole Hand")
    yield from agreed(screen, walk, 2)
    walk.picture(*walking.area_box(screen))
    return walk.done(**place(screen), **mends(screen))


def snap(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The next place is brought to a named pose."""
    yield from next_problem(screen, walk)
    yield from walk.press("Snap to Pose")
    yield from agreed(screen, walk, 3)
    walk.picture(*walking.area_box(screen))
    return walk.done(**place(screen), **mends(screen))


def hide(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The last place: a marker leapt, and is hidden; one undo shows it again."""
    for _ in range(2):
        yield from next_problem(screen, walk)
    found = place(screen)
    yield from walk.press("Hide Marker")
    yield from agreed(screen, walk, 4)
    walk.picture(*walking.area_box(screen))
    told = mends(screen)
    yield from walk.key("Ctrl Z", "ctrl+z")
    yield from screen.wait_until(lambda: len(kept(screen)) == 3)
    yield from walk.key("Ctrl Shift Z", "ctrl+shift+z")
    yield from screen.wait_until(lambda: len(kept(screen)) == 4)
    yield 0.5
    return walk.done(**found, **told)


def again(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The whole take by other means: the mends are still there."""
    yield from alone(screen, walk, "Solve")
    yield from walk.press("Fast")
    yield from walk.press("Best")
    yield from walking.solved(screen, walk)
    yield from alone(screen, walk, "Corrections")
    walk.picture(*walking.area_box(screen))
    return walk.done(**mends(screen))


def splice(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """A stretch of the first solve is taken over."""
    yield from walk.press("Take From")
    yield from walk.typed("Action", ("qualisys_glove",))
    yield from agreed(screen, walk, 5)
    walk.picture(*walking.area_box(screen))
    return walk.done(**mends(screen))


def hold(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """The camera's recording, with its contacts held."""
    yield from alone(screen, walk, "Solve")
    yield from walking.dropped(screen, walk, VIDEO)
    yield from walk.press("Take and Frames")
    yield from walk.press("Hold Contacts")
    yield from walking.solved(screen, walk)
    contacts = hand_report(screen)["contacts"]
    held = next(one for one in contacts if one.get("off_mm", 9.0) <= 1.0 and one["other"] != "palm")
    base = module("rig.keys.corrections.corrected_take").base_of(walking.armature(screen))
    clock = module("rig.keys.corrections.take_clock").clock_of(base, screen.scene)
    screen.scene.frame_set(round(float(clock.frames((held["start"] + held["end"]) / 2))))
    yield from to_hand(screen)
    walk.picture(*walking.area_box(screen))
    return walk.done(contacts=contacts)


def reduce(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """Few keys."""
    yield from alone(screen, walk, "Keys")
    dense = keys(screen)
    yield from walk.press("Reduce Keys")
    yield from screen.wait_until(lambda: keys(screen) < dense and not walking.running(), 60)
    # The panel grows, and those below it move as the mouse does.
    screen.move(*screen.middle(screen.region(screen.area(), "UI")))
    yield 1.0
    screen.move(*walking.beside_hand(screen))
    yield 0.5
    walk.picture(*walking.area_box(screen))
    return walk.done(counts=[dense, keys(screen)])


def alone(screen: "Screen", walk: "walking.Walk", title: str) -> Told:
    """Open a panel and fold the others, by Ctrl and a click on its title."""
    walk.keys.append("Ctrl")
    subprocess.run(["xdotool", "keydown", "ctrl"], check=True)
    yield from walk.press(title, within=titles(screen))
    subprocess.run(["xdotool", "keyup", "ctrl"], check=True)
    yield 0.7
    walk.marks.clear()


def titles(screen: "Screen") -> "walking.Box":
    """The left part of the sidebar, where the titles of panels stand."""
    region = screen.region(screen.area(), "UI")
    return region.x, screen.window.height - region.y - region.height, round(0.36 * region.width), region.height


def next_problem(screen: "Screen", walk: "walking.Walk") -> Told:
    """By its key, over the view."""
    before = screen.scene.knuckle_review.current
    screen.move(*screen.view_middle())
    yield 0.3
    yield from walk.key("Alt J", "alt+j")
    yield from screen.wait_until(lambda: screen.scene.knuckle_review.current != before)
    yield 0.5


def agreed(screen: "Screen", walk: "walking.Walk", count: int) -> Told:
    """Enter in a dialogue, until the take has so many corrections."""
    left, top, width, _ = walk.marks[0]
    # Off the field below the mouse, which Enter would edit.
    screen.move(left + width // 2 - 220, top - 25)
    yield 0.5
    yield from walk.key("Enter", "Return")
    yield from screen.wait_until(lambda: len(kept(screen)) == count and not walking.running(), 60)
    screen.move(*screen.view_middle())
    yield 0.7
    # What was pressed in the dialogue is gone, and a list that has grown may have moved the button that opened it.
    walk.marks = [(yield from walk.look(walk.words[0]))]


def module(name: str) -> Any:
    return importlib.import_module(f"{KNUCKLE}.{name}")


def kept(screen: "Screen") -> Any:
    """The corrections of the take."""
    return module("rig.keys.corrections.corrected_take").corrections_of(walking.armature(screen))


def hand_report(screen: "Screen") -> Any:
    return module("rig.keys.take_report").report_of(walking.armature(screen))["hands"]["right"]


def keys(screen: "Screen") -> int:
    """The keys of the action that the character plays."""
    curves = module("rig.keys.fcurves").curves_on(walking.armature(screen))
    return sum(len(curve.keyframe_points) for curve in curves)


def place(screen: "Screen") -> dict[str, Any]:
    """The problem that is shown, by its rank, and what is selected."""
    rig, key = walking.armature(screen), screen.scene.knuckle_review.current
    problems = module("rig.keys.take_problems").problems_of(rig)
    rank, problem = next(pair for pair in enumerate(problems) if pair[1].key == key)
    return {
        "rank": rank,
        "frame": screen.scene.frame_current_final,
        "worst": problem.worst,
        "reason": problem.reason,
        "bones": [bone.name for bone in rig.pose.bones if bone.select],
    }


def mends(screen: "Screen") -> dict[str, Any]:
    """Of each correction its kind, its state, and how far the bones are turned by it at most, in degrees."""
    rig = walking.armature(screen)
    corrected = module("rig.keys.corrections.corrected_take")
    rotations = module("hand.rotations")
    base, action = corrected.base_of(rig), rig.animation_data.action
    clock = module("rig.keys.corrections.take_clock").clock_of(base, screen.scene)
    waiting = module("rig.keys.corrections.waiting").waiting_of(action)
    (before,), turned = corrected.hands_of_take(rig, base), {}
    (after,) = [
        module("rig.keys.corrections.hand_of_take").hand_of_take(
            rig, before.hand, [(c.data_path, c) for c in module("rig.keys.fcurves").curves_on(rig)]
        )
    ]
    for one in kept(screen):
        frames = before.frames[before.rows(one, clock)]
        turn = rotations.angles_between(before.rotations(frames), after.rotations(frames))
        turned[one.kind] = [waiting.get(one.id, "on"), float(np.degrees(np.max(turn)))]
    return {"mends": turned, "action": action.name}


def to_hand(screen: "Screen") -> Told:
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
