"""docs/tutorials/mend-a-take.md walked through as it is written: from a solved take to one that can be shown."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.append("/tmp/knuckle/tests/gui")
if TYPE_CHECKING:
    from knuckle.tests.gui import walking
    from knuckle.tests.gui.driver import Screen, Steps
    from knuckle.tests.gui.mending import (
        agreed,
        alone,
        kept,
        keys,
        module,
        next_problem,
        opened,
        place,
        to_hand,
        turned,
    )
else:
    walking = importlib.import_module("walking")
    from mending import agreed, alone, kept, keys, module, next_problem, opened, place, to_hand, turned

GLOVE, VIDEO = "qualisys_glove.tsv", "mediapipe_video.json"


def play(screen: "Screen") -> "Steps":
    yield from opened(screen, GLOVE, VIDEO)
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
    yield from turned(screen, walk, -15)
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
    reported = mends(screen)
    yield from walk.key("Ctrl Z", "ctrl+z")
    yield from screen.wait_until(lambda: len(kept(screen)) == 3)
    yield from walk.key("Ctrl Shift Z", "ctrl+shift+z")
    yield from screen.wait_until(lambda: len(kept(screen)) == 4)
    yield 0.5
    return walk.done(**found, **reported)


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


def hand_report(screen: "Screen") -> Any:
    return module("rig.keys.take_report").report_of(walking.armature(screen))["hands"]["right"]


def mends(screen: "Screen") -> dict[str, Any]:
    """Of each correction its kind, its state, and how far the bones are turned by it at most, in degrees."""
    rig = walking.armature(screen)
    corrected = module("rig.keys.corrections.corrected_take")
    rotations = module("hand.rotations")
    base, action = corrected.base_of(rig), rig.animation_data.action
    clock = module("rig.keys.corrections.take_clock").clock_of(base, screen.scene)
    waiting = module("rig.keys.corrections.waiting").waiting_of(action)
    (before,), turns = corrected.hands_of_take(rig, base), {}
    (after,) = [
        module("rig.keys.corrections.hand_of_take").hand_of_take(
            rig, before.hand, [(c.data_path, c) for c in module("rig.keys.fcurves").curves_on(rig)]
        )
    ]
    for one in kept(screen):
        frames = before.frames[before.rows(one, clock)]
        turn = rotations.angles_between(before.rotations(frames), after.rotations(frames))
        turns[one.kind] = [waiting.get(one.id, "on"), float(np.degrees(np.max(turn)))]
    return {"mends": turns, "action": action.name}
