"""A recording with two fingertips astray is solved; Next and Previous Problem go through it; one is marked as seen."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    from bl_ext.user_default.knuckle.rig.keys.take_problems import problems_of, seen_problems

    yield from screen.resize(1200, 900)
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.ops.ed.undo_push()
    status = bpy.context.window_manager.knuckle
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(120)
    yield from screen.drop(Path("/tmp/out/spoilt_tap.json"), *screen.view_middle())
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers, 60)
    place = yield from screen.button("knuckle.solve")
    screen.click(*place)
    yield from screen.wait_until(lambda: screen.scene.knuckle.result and not status.running, 200)
    yield 1.0
    hand = screen.scene.knuckle.result
    screen.open_panels("KNUCKLE_PT_review")
    screen.move(*screen.view_middle())
    screen.frame_selected()
    yield 1.0
    problems = problems_of(hand)

    def visit() -> dict[str, Any]:
        key = screen.scene.knuckle_review.current
        rank = next(index for index, problem in enumerate(problems) if problem.key == key)
        bones = [bone.name for bone in hand.pose.bones if bone.select]
        frame = round(screen.scene.frame_current_final, 2)
        worst, parts = round(problems[rank].worst, 2), problems[rank].parts
        return {
            **{"key": key, "rank": rank, "frame": frame, "worst": worst},
            **{"digit": parts[0], "parts": parts, "bones": bones},
        }

    place = yield from screen.button("knuckle.next_problem", across=0.75)
    screen.click(*place)
    yield from screen.wait_until(lambda: screen.scene.knuckle_review.current, 30)
    yield 1.0
    visited = [visit()]
    screen.picture("review_first")
    screen.move(*screen.view_middle())
    before = screen.scene.knuckle_review.current
    screen.key("alt+j")
    yield from screen.wait_until(lambda: screen.scene.knuckle_review.current != before, 30)
    yield 1.0
    visited.append(visit())
    screen.picture("review_second")
    screen.key("alt+shift+j")
    yield from screen.wait_until(lambda: screen.scene.knuckle_review.current == before, 30)
    yield 0.5
    back = visit()
    place = yield from screen.button("knuckle.mark_seen", across=0.4)
    screen.click(*place)
    yield from screen.wait_until(lambda: seen_problems(hand), 30)
    yield 1.0
    marked = sorted(seen_problems(hand))
    screen.picture("review_seen")
    screen.move(*screen.view_middle())
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: not seen_problems(screen.scene.knuckle.result), 30)
    region = screen.region(screen.area(), "UI")
    return {
        "problems": len(problems),
        "visited": visited,
        "back": back,
        "marked": marked,
        "unmarked": sorted(seen_problems(screen.scene.knuckle.result)),
        "sidebar": [region.x, screen.window.height - region.y - region.height, region.width, region.height],
    }
