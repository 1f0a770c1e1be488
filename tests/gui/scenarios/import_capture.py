"""A recording is chosen in the file browser and read as a job; Esc in the midst of one leaves the scene as it was.

Then a hand is imported with the options beside the file browser: it is selected, in view, and the scene follows it.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def write_cloud(path: Path) -> None:
    """Markers without names that jump in every frame, among which hands are sought for seconds."""
    positions = np.random.default_rng(0).uniform(-0.5, 0.5, (100, 100, 3))
    header = ",".join(["time", *(f"{marker}.{axis}" for marker in range(100) for axis in "xyz")])
    rows = np.column_stack([np.arange(100) / 100, positions.reshape(100, -1)])
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.5f")


def write_hand(path: Path) -> None:
    """Five markers of a hand in mm at 60 Hz without times, two metres from the origin."""
    labels = ("thumb_tip", "index_tip", "wrist", "index_mcp", "pinky_mcp")
    rest = np.array([[-50, 90, 10], [-30, 170, 0], [0, 0, 10], [-30, 90, 0], [30, 80, 0]]) + [2000, 500, 1000]
    header = ",".join(f"{label}-{axis}" for label in labels for axis in "XYZ")
    rows = (rest[None] + 0.5 * np.arange(121)[:, None, None]).reshape(121, -1)
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.3f")


def import_hand(screen: "Screen") -> "Steps":
    """Save the file, choose the hand in the file browser and set the options there."""
    path = Path("/tmp/out/first.csv")
    write_hand(path)
    bpy.ops.wm.save_as_mainfile(filepath="/tmp/out/import.blend")
    with bpy.context.temp_override(window=screen.window, area=screen.area()):
        bpy.ops.knuckle.import_capture("INVOKE_DEFAULT", unit="mm", start=11)
    yield 1.5
    windows = bpy.context.window_manager.windows
    window, area = next((w, a) for w in windows for a in w.screen.areas if a.type == "FILE_BROWSER")
    params = area.spaces.active.params
    params.directory, params.filename = str(path.parent).encode(), path.name
    area.spaces.active.show_region_tool_props = True
    operator = area.spaces.active.active_operator
    operator.set_rate = operator.set_range = True
    yield 1.0
    screen.picture("import_dialogue")
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        bpy.ops.file.execute()
    yield from screen.wait_until(lambda: "first" in bpy.data.objects)
    yield 1.5
    screen.picture("import_shown")
    scene, markers = screen.scene, bpy.data.objects["first"]
    view = screen.area().spaces.active.region_3d
    return {
        "selected": [obj.name for obj in bpy.context.view_layer.objects.selected],
        "active": bpy.context.view_layer.objects.active.name,
        "view_is_at": view.view_location[:],
        "view_distance": view.view_distance,
        "marker_is_at": markers.data.vertices[2].co[:],
        "range": [scene.frame_start, scene.frame_end],
        "fps": scene.render.fps,
        "path": scene.knuckle.capture,
        "reported": [line for line in (yield from screen.reports()) if "first.csv" in line],
    }


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 800)
    cloud = Path("/tmp/out/cloud.csv")
    write_cloud(cloud)
    status = bpy.context.window_manager.knuckle
    before = set(bpy.data.objects.keys())

    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0], area=screen.area()):
        bpy.ops.knuckle.import_capture("INVOKE_DEFAULT")
    yield 1.5
    windows = bpy.context.window_manager.windows
    window, area = next((w, a) for w in windows for a in w.screen.areas if a.type == "FILE_BROWSER")
    params = area.spaces.active.params
    params.directory, params.filename = str(cloud.parent).encode(), cloud.name
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        bpy.ops.file.execute()
    seen_running = 0
    for _ in range(100):
        yield 0.05
        seen_running += bool(status.running)
        if seen_running and not status.running:
            break
    shown = sorted(set(bpy.data.objects.keys()) - before)
    screen.picture("import_capture")

    with bpy.context.temp_override(window=bpy.context.window_manager.windows[0], area=screen.area()):
        bpy.ops.knuckle.import_capture("INVOKE_DEFAULT", filepath=str(cloud))
    was_running = bool(status.running)
    screen.key("Escape")
    yield 1.0
    after_escape = sorted(set(bpy.data.objects.keys()) - before)
    imported = yield from import_hand(screen)
    return {
        "imported": imported,
        "ran_as_a_job": seen_running > 0,
        "shown": shown,
        "second_ran": was_running,
        "after_escape": after_escape,
        "still_running": bool(status.running),
    }
