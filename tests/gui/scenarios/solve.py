"""A recording is dropped and solved by the panel's button; one undo takes the hand away, one redo brings it back.

Then a digit is solved again over a part of the frames, into the take that is there, without blends and with them.
"""

import importlib
import sys
from collections.abc import Generator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import bpy

sys.path.append("/tmp/knuckle/tests/gui")
if TYPE_CHECKING:
    from knuckle.tests.gui import walking
    from knuckle.tests.gui.driver import Screen, Steps
else:
    walking = importlib.import_module("walking")

SOLVER = 1
"""Which of the words that read as Solver is the setting: the panel's title, Solve, is above it."""
FIRST, LAST = "30", "60"
"""Frames of the capture that are solved again."""
NO_BLENDS, BLENDS = ("0", "0"), ("4", "3")
"""Frames of the scene over which they are blended in and out."""

Keys = dict[tuple[str, float], list[float]]
"""Bone and frame -> the values of its curves."""


def play(screen: "Screen") -> "Steps":
    bpy.data.objects.remove(bpy.data.objects["Cube"])  # it stands in front of the hand in all pictures
    bpy.ops.ed.undo_push()
    status, texts = bpy.context.window_manager.knuckle, screen.reported()
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(50)
    yield from screen.drop(screen.repository / "data" / "leap_finger_tap.json", *screen.view_middle())
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers, 60)
    screen.frame_selected()
    yield 1.0
    screen.picture("solve_before")
    dumps = {"before": screen.dump()}

    place = yield from screen.button("knuckle.solve")
    screen.click(*place)
    yield from screen.wait_until(lambda: screen.scene.knuckle.result and not status.running, 60)
    yield 1.0
    dumps["solved"] = screen.dump()
    reported = list(texts)
    hand = screen.scene.knuckle.result
    action = hand.animation_data.action
    bags = [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]
    found = {
        "type": hand.type,
        "bones": len(hand.data.bones),
        "keyed_bones": sorted({curve.data_path.split('"')[1] for bag in bags for curve in bag.fcurves}),
        "keys": sorted({len(curve.keyframe_points) for bag in bags for curve in bag.fcurves}),
        "skins": len([child for child in hand.children if child.type == "MESH"]),
    }
    found |= yield from pictures(screen)

    screen.move(*screen.view_middle())
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: not screen.scene.knuckle.result, 60)
    yield 1.0
    dumps["undone"] = screen.dump()
    screen.picture("solve_undone")
    screen.key("ctrl+shift+z")
    yield from screen.wait_until(lambda: screen.scene.knuckle.result, 60)
    yield 1.0
    dumps["redone"] = screen.dump()
    screen.picture("solve_redone")
    part = yield from solved_in_part(screen)
    return {"status_texts": reported, **found, "dumps": dumps, "part": part}


def solved_in_part(screen: "Screen") -> "Steps":
    """Solve the index finger of some frames into the take, as the panel has it: the keys that are others then."""
    walk = walking.Walk(screen, "solve_part", 1)
    screen.only_panel("KNUCKLE_PT_solve")
    yield 1.0
    before = keys(screen)
    yield from walk.choose("Solver", "Best", SOLVER)
    yield from walk.press("Take and Frames")
    yield from walk.press("This Take")
    yield from walk.typed("Blend In", NO_BLENDS)
    yield from walk.press("Index")
    yield from walk.press("Capture Range")
    yield from walk.typed("First Frame", (FIRST, LAST))
    screen.move(*walking.beside_hand(screen))
    yield 0.5
    screen.picture("solve_part")
    yield from walking.solved(screen, walk)
    screen.picture("solve_part_solved")
    after = keys(screen)
    changed = [(bone, frame) for (bone, frame), values in before.items() if after.get((bone, frame)) != values]
    blended = yield from solved_with_blends(screen, walk, before)
    screen.open_panels()
    return {
        "changed": {bone: sorted(frame for other, frame in changed if other == bone) for bone, _ in changed},
        "added": len(after) - len(before),
        "actions": len(bpy.data.actions),
        "blended": {
            bone: [[frame, before[bone, frame], after[bone, frame], blended[bone, frame]] for _, frame in of_bone]
            for bone, of_bone in groupby(sorted(before), key=itemgetter(0))
        },
    }


def solved_with_blends(screen: "Screen", walk: "walking.Walk", before: Keys) -> Generator[float, None, Keys]:
    """The same part again, in place of the other, with blends: the keys of the take then."""
    screen.move(*screen.view_middle())
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: keys(screen) == before)
    yield 1.0
    yield from walking.scrolled(screen, -40)
    yield from walk.typed("Blend In", BLENDS)
    screen.move(*walking.beside_hand(screen))
    yield 0.5
    screen.picture("solve_blends")
    yield from walking.solved(screen, walk)
    return keys(screen)


def keys(screen: "Screen") -> Keys:
    """The keys of the take that the hand plays."""
    action: Any = walking.armature(screen).animation_data.action
    found: Keys = {}
    for curve in action.layers[0].strips[0].channelbags[0].fcurves:
        for key in curve.keyframe_points:
            found.setdefault((curve.data_path.split('"')[1], key.co.x), []).append(key.co.y)
    return found


def pictures(screen: "Screen") -> "Steps":
    """The hand and its result, beside the timeline and over the whole window; leaves all as it was."""
    screen.frame_selected()
    screen.scene.frame_set(20)
    screen.move(*screen.middle(screen.region(screen.area(), "UI")))
    screen.turn_wheel(20)
    yield 1.0
    screen.move(20, screen.window.height - 20)
    yield 1.0
    screen.picture("solve_after")
    bpy.context.preferences.view.ui_scale = 0.85  # for the panels to stand below each other
    yield from screen.fill_window(alone=True)
    yield from screen.show_sidebar("Knuckle")
    screen.move(20, screen.window.height - 20)
    yield 1.0
    screen.picture("solve_panels")
    region = screen.region(screen.area(), "UI")
    frame = [region.x, screen.window.height - region.y - region.height, region.width, region.height]
    yield from screen.fill_window(alone=True)
    bpy.context.preferences.view.ui_scale = 1.0
    screen.scene.frame_set(1)
    yield 0.5
    return {"sidebar": frame}
