"""A recording with two fingertips astray is solved; Next and Previous Problem go through it; one is marked as seen.

Then the keys of the take are reduced.
"""

import importlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    yield from solved(screen)
    hand = screen.scene.knuckle.result
    screen.scene.knuckle_review.show_errors = True
    place = yield from screen.button("knuckle.next_problem", across=0.75)
    screen.click(*place)
    yield from screen.wait_until(lambda: screen.scene.knuckle_review.current, 30)
    yield 2.0
    visited = [visit(screen)]
    screen.picture("review_first")
    screen.move(*screen.view_middle())
    before = screen.scene.knuckle_review.current
    screen.key("alt+j")
    yield from screen.wait_until(lambda: screen.scene.knuckle_review.current != before, 30)
    yield 1.0
    visited.append(visit(screen))
    screen.picture("review_second")
    screen.key("alt+shift+j")
    yield from screen.wait_until(lambda: screen.scene.knuckle_review.current == before, 30)
    yield 0.5
    back = visit(screen)
    strips = yield from heat_strips(screen)
    before = [screen.scene.frame_current_final, len(bpy.data.objects)]
    with screen.in_view():
        bpy.ops.knuckle.export_report_page(filepath="/tmp/out/review_page.html")
    page = {"before": before, "after": [screen.scene.frame_current_final, len(bpy.data.objects)]}
    yield 0.5
    place = yield from screen.button("knuckle.mark_seen", across=0.4)
    screen.click(*place)
    yield from screen.wait_until(lambda: problems().seen_problems(hand), 30)
    yield 1.0
    marked = sorted(problems().seen_problems(hand))
    screen.picture("review_seen")
    screen.move(*screen.view_middle())
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: not problems().seen_problems(screen.scene.knuckle.result), 30)
    region = screen.region(screen.area(), "UI")
    frame = [region.x, screen.window.height - region.y - region.height, region.width, region.height]
    unmarked = sorted(problems().seen_problems(screen.scene.knuckle.result))
    keys = yield from keys_reduced(screen)
    return {
        "visited": visited,
        "back": back,
        "marked": marked,
        "unmarked": unmarked,
        "sidebar": frame,
        "strips": strips,
        "page": page,
        "keys": keys,
    }


def keys_reduced(screen: "Screen") -> Generator[float, None, list[int]]:
    """The keys are reduced by the panel's button, undone, and reduced again: how many there are each time."""
    place = yield from screen.button("knuckle.reduce_keys")
    counts = [key_count(screen)]
    yield from keys_seen(screen, "keys_dense")
    screen.click(*place)
    yield from screen.wait_until(lambda: key_count(screen) < counts[0], 60)
    yield 2.0
    counts.append(key_count(screen))
    screen.picture("keys_panel")
    yield from keys_seen(screen, "keys_reduced")
    screen.move(*screen.view_middle())
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: key_count(screen) == counts[0], 30)
    counts.append(key_count(screen))
    return counts


def key_count(screen: "Screen") -> int:
    """The keys of the action that the solved hand plays."""
    curves = importlib.import_module("bl_ext.user_default.knuckle.rig.keys.fcurves").curves_on(
        screen.scene.knuckle.result
    )
    return sum(len(curve.keyframe_points) for curve in curves)


def keys_seen(screen: "Screen", name: str) -> Iterator[float]:
    """A picture of the keys in a Dope Sheet in the viewport's place."""
    area = screen.area()
    area.ui_type = "DOPESHEET"
    area.spaces.active.show_region_ui = False
    yield 1.0
    with bpy.context.temp_override(window=screen.window, area=area, region=screen.region(area)):
        # The reduced action has the channels as open as the dense one.
        if name == "keys_dense":
            bpy.ops.anim.channels_expand(all=True)
        bpy.ops.action.view_all()
    yield 1.0
    screen.picture(name)
    area.ui_type = "VIEW_3D"
    yield 1.0


def solved(screen: "Screen") -> "Steps":
    """The recording is dropped and solved by the panel's button, and the review is open."""
    yield from screen.resize(1300, 900)
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.ops.ed.undo_push()
    status = bpy.context.window_manager.knuckle
    screen.open_panels("KNUCKLE_PT_solve", "KNUCKLE_PT_review", "KNUCKLE_PT_keys")
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(120)
    yield from screen.drop(Path("/tmp/out/spoilt_tap.json"), *screen.view_middle())
    yield from screen.wait_until(lambda: screen.scene.knuckle.markers, 60)
    place = yield from screen.button("knuckle.solve")
    screen.click(*place)
    yield from screen.wait_until(lambda: screen.scene.knuckle.result and not status.running, 200)
    yield 1.0
    screen.move(*screen.view_middle())
    screen.frame_selected()
    yield 1.0
    return {}


def heat_strips(screen: "Screen") -> Generator[float, None, dict[str, Any]]:
    """The strips in the Timeline, and zoomed in on the worst problem in a high Dope Sheet: what is red, in frames."""
    timeline = screen.area("DOPESHEET_EDITOR")
    screen.picture("review_timeline")
    found = {"timeline": red_frames(screen, timeline)}
    timeline.spaces.active.mode = "DOPESHEET"
    edge = timeline.x + timeline.width // 2, screen.window.height - timeline.y - timeline.height
    yield from screen.drag(edge, (edge[0], edge[1] - 250))
    yield 1.0
    region = screen.region(timeline)
    with bpy.context.temp_override(window=screen.window, area=timeline, region=region):
        bpy.ops.action.view_all()
    yield 1.0
    screen.picture("review_dope_sheet")
    found["dope sheet"] = red_frames(screen, timeline)
    screen.move(*screen.middle(region))
    screen.turn_wheel(-4)
    yield 1.0
    screen.picture("review_zoomed")
    found["zoomed"] = red_frames(screen, timeline)
    screen.scene.knuckle_review.show_heat = False
    yield 1.0
    found["off"] = red_frames(screen, timeline)
    screen.scene.knuckle_review.show_heat = True
    return found


def red_frames(screen: "Screen", area: bpy.types.Area) -> list[float]:
    """The first and the last frame at which an editor has the red of the worst level; none if it has none."""
    region = screen.region(area)
    top = screen.window.height - region.y - region.height
    seen = screen.pixels()[top : top + region.height, region.x : region.x + region.width].astype(int)
    across = np.flatnonzero((np.abs(seen - [255, 92, 92]).max(axis=2) < 6).sum(axis=0) >= 2)
    return [round(region.view2d.region_to_view(float(x), 0)[0], 2) for x in across[[0, -1]]] if len(across) else []


def problems() -> Any:
    """The extension's module of problems."""
    return importlib.import_module("bl_ext.user_default.knuckle.rig.keys.take_problems")


def visit(screen: "Screen") -> dict[str, Any]:
    """Where the review is, and what it has done."""
    hand, key = screen.scene.knuckle.result, screen.scene.knuckle_review.current
    rank, problem = next(pair for pair in enumerate(problems().problems_of(hand)) if pair[1].key == key)
    return {
        "key": key,
        "rank": rank,
        "frame": round(screen.scene.frame_current_final, 2),
        "worst": round(problem.worst, 2),
        "parts": problem.parts,
        "bones": [bone.name for bone in hand.pose.bones if bone.select],
    }
