"""Markers with labels that mean nothing are assigned by clicks in the order of the picture, and the hand is solved."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

KNUCKLES = np.array([[-0.025, 0.09, 0.0], [-0.002, 0.092, 0.004], [0.018, 0.085, 0.002], [0.036, 0.075, -0.004]])
LENGTHS = np.array([0.085, 0.095, 0.088, 0.068])
ORDER = "QXBTKWZCNH"
"""Labels in the order in which they are asked: wrist, four knuckles, tips from the thumb on."""


def write_hand(path: Path) -> None:
    """A right hand seen from above, whose fingers bend, in metres at 60 Hz; the columns are in another order."""
    frames = []
    for bend in np.linspace(0.0, 1.0, 61):
        tips = KNUCKLES + LENGTHS[:, None] * np.array([0.0, np.cos(bend), -np.sin(bend)])
        thumb = np.array([-0.05, 0.09, -0.04])
        frames.append(np.vstack([[0.0, 0.0, 0.0], KNUCKLES, thumb, tips]) + [0.3, 0.2, 1.0])
    columns = sorted(range(len(ORDER)), key=lambda index: ORDER[index])
    header = ",".join(f"{ORDER[index]}_{axis}" for index in columns for axis in "xyz")
    rows = np.array(frames)[:, columns].reshape(len(frames), -1)
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.5f")


def click_marker(screen: "Screen", label: str) -> "Steps":
    """Click a marker where it is seen."""
    markers = bpy.context.scene.knuckle.markers
    names = list(markers["knuckle_capture"]["names"])
    place = markers.data.vertices[names.index(label)].co
    region = screen.region(screen.area())
    spot = location_3d_to_region_2d(region, screen.area().spaces.active.region_3d, Vector(place))
    x, y = round(region.x + spot.x), round(screen.window.height - region.y - spot.y)
    screen.move(x - 2, y)
    yield 0.1
    screen.click(x, y)
    yield 0.2
    return {}


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1400, 900)
    path = Path("/tmp/out/letters_right.csv")
    write_hand(path)
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    yield from screen.show_sidebar("Knuckle")
    with screen.in_view():
        bpy.ops.view3d.view_axis(type="TOP")
        bpy.ops.knuckle.import_capture(filepath=str(path))
    yield 1.0
    chosen = screen.scene.knuckle
    with screen.in_view():
        bpy.ops.knuckle.assign_markers("INVOKE_DEFAULT")
    yield 0.5
    screen.picture("assign_begins")
    yield from click_marker(screen, ORDER[0])
    yield from click_marker(screen, "N")  # by mistake, and back
    screen.key("BackSpace")
    yield 0.2
    for label in ORDER[1:6]:
        yield from click_marker(screen, label)
    screen.picture("assign_half")
    for label in ORDER[6:]:
        yield from click_marker(screen, label)
    screen.key("s")
    yield 0.2
    screen.picture("assign_done")
    screen.key("Return")
    yield 0.5
    assigned = json.loads(chosen.marker_map) if chosen.marker_map else {}
    with screen.in_view():
        bpy.ops.knuckle.solve()
        bpy.ops.view3d.view_axis(type="RIGHT")
    screen.scene.frame_set(20)
    screen.frame_selected()
    yield 1.0
    screen.picture("assign_solved")
    hand = chosen.result
    errors = json.loads(hand.animation_data.action["knuckle_result"])["hands"]["right"]["fingers"]
    with screen.in_view():
        bpy.ops.knuckle.assign_markers("INVOKE_DEFAULT")
    yield 0.3
    screen.key("Escape")
    yield 0.3
    return {
        "assigned": assigned,
        "after_escape": json.loads(screen.scene.knuckle.marker_map or "{}") == assigned,
        "tip_errors_mm": [finger["tip_error_mm"]["mean"] for finger in errors.values()],
        "reported": (yield from screen.reports()),
    }
