"""A recording is chosen in the file browser and read as a job; Esc in the midst of one leaves the scene as it was."""

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
    return {
        "ran_as_a_job": seen_running > 0,
        "shown": shown,
        "second_ran": was_running,
        "after_escape": sorted(set(bpy.data.objects.keys()) - before),
        "still_running": bool(status.running),
    }
