"""Draw heat strips in the Dope Sheet and the Timeline: how bad each digit of the take is over time.

They are at the bottom of the region, follow its zoom and scroll, and show the level by height as well as by color.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import blf
import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader

from ..operators.session import SESSION
from ..pipeline.evidence.heat_tiles import Bars, HeatRows
from ..rig.keys.take_report import action_with_report

if TYPE_CHECKING:
    from bpy.types import Context, Menu, Region

OVERLAY = "heat strip"
COLOURS = np.array(
    [
        (0.0, 0.0, 0.0, 0.0),
        (0.50, 0.50, 0.48, 1.0),
        (0.85, 0.70, 0.24, 1.0),
        (0.94, 0.54, 0.27, 1.0),
        (1.0, 0.36, 0.36, 1.0),
        (0.45, 0.62, 0.85, 1.0),
    ],
    np.float32,
)
"""Color of each level, and of predicted frames."""
GROUND = (0.08, 0.08, 0.09, 0.82)
ROW, SMALL_ROW, LONE_ROW = 11.0, 5.0, 6.0
"""Heights in pixels at a UI scale of 1: of a row, of a row in a low region, and of a single row for all digits."""
NAMES, SCRUB, LONE_BOTTOM = 46.0, 26.0, 4.0
"""Pixels: width of the names' column, height of the frame numbers at the top, and space below a single row."""
BOTTOM, ABOVE_MARKERS = 18.0, 22.0
"""Pixels at the bottom for the scroll bar, and for the scene's markers where there are any."""
MAX_HEIGHT_FRACTION = 0.6
"""Fraction of the available height that rows may take before they become small."""
MODES = ("TIMELINE", "DOPESHEET", "ACTION")


@dataclass(frozen=True, slots=True)
class StripLayout:
    """Layout of the strips, in pixels of their region."""

    bottom: float
    height: float
    """Height of a row."""
    rows: int
    """Number of rows; 1 if all digits are drawn as one."""
    named: bool


def register() -> None:
    """Register the draw handler."""
    handle = bpy.types.SpaceDopeSheetEditor.draw_handler_add(draw, (), "WINDOW", "POST_PIXEL")
    SESSION.draw_handlers.setdefault(OVERLAY, []).append(handle)


def unregister() -> None:
    """Remove the draw handler."""
    for handle in SESSION.draw_handlers.pop(OVERLAY, []):
        bpy.types.SpaceDopeSheetEditor.draw_handler_remove(handle, "WINDOW")


def draw() -> None:
    """Draw the strips. Called by Blender for each Dope Sheet and Timeline, in pixels of its region."""
    context = bpy.context
    space, region = context.space_data, context.region
    overlays = getattr(space, "overlays", None)  # since Blender 5.0
    overlays_on = overlays is None or overlays.show_overlays
    if space.mode not in MODES or not overlays_on or not context.scene.knuckle_review.show_heat:
        return
    rows = heat_rows(context)
    if rows is None:
        return
    first, _ = region.view2d.region_to_view(0, 0)
    last, _ = region.view2d.region_to_view(region.width, 0)
    if last <= first:
        return
    scale = context.preferences.system.ui_scale
    layout = _layout(region, len(rows.names), scale, bool(context.scene.timeline_markers))
    gpu.state.blend_set("ALPHA")
    _ground(region.width, layout)
    with gpu.matrix.push_pop():
        pixels_per_frame = region.width / (last - first)
        gpu.matrix.translate((-first * pixels_per_frame, layout.bottom + layout.height * layout.rows))
        gpu.matrix.scale((pixels_per_frame, -layout.height))
        _tiles(rows, layout.rows == 1, pixels_per_frame, (first, last))
    if layout.named:
        _ground(NAMES * scale, layout)
        _names(rows, layout, scale)
    gpu.state.blend_set("NONE")


def heat_rows(context: "Context") -> HeatRows | None:
    """Return the strips of the reviewed take: of the active object, or else of the one solved last."""
    active = context.active_object
    playing = active if action_with_report(active) is not None else context.scene.knuckle.result
    return SESSION.heat.of(playing)


def _layout(region: "Region", count: int, scale: float, has_markers: bool) -> StripLayout:
    """Return the layout of strips with the given number of rows; a low Timeline has room for a single row only."""
    bottom = scale * (BOTTOM + (ABOVE_MARKERS if has_markers else 0.0))
    available_height = region.height - scale * SCRUB - bottom
    if count * ROW * scale <= MAX_HEIGHT_FRACTION * available_height:
        return StripLayout(bottom, ROW * scale, count, named=True)
    if count * SMALL_ROW * scale <= available_height:
        return StripLayout(bottom, SMALL_ROW * scale, count, named=False)
    return StripLayout(LONE_BOTTOM * scale, LONE_ROW * scale, 1, named=False)


def _ground(width: float, layout: StripLayout) -> None:
    low, high = layout.bottom, layout.bottom + layout.height * layout.rows
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    shader.uniform_float("color", GROUND)
    corners = [(0.0, low), (width, low), (0.0, high), (width, high)]
    batch_for_shader(shader, "TRI_STRIP", {"pos": corners}).draw(shader)


def _tiles(rows: HeatRows, together: bool, pixels_per_frame: float, visible: tuple[float, float]) -> None:
    """Draw the visible tiles: frames across, rows down."""
    shader = gpu.shader.from_builtin("FLAT_COLOR")
    shader.bind()
    zoom = rows.zoom(pixels_per_frame)
    for number in rows.tiles(zoom, *visible):
        tile = zoom, number, together
        batch = SESSION.heat.tile(tile, lambda tile=tile: _batch(shader, rows.tile(*tile)))
        if batch is not None:
            batch.draw(shader)


def _batch(shader: Any, bars: Bars) -> Any:
    """Return rectangles as a batch, None if there are none."""
    if not len(bars.kinds):
        return None
    left, top, right, bottom = bars.corners.T.astype(np.float32)
    corners: Any = np.stack([left, top, right, top, right, bottom, left, bottom], axis=1).reshape(-1, 2)
    quads = 4 * np.arange(len(bars.kinds), dtype=np.int32)[:, None] + np.array([0, 1, 2, 0, 2, 3], np.int32)
    colours: Any = np.repeat(COLOURS[bars.kinds], 4, axis=0)
    return batch_for_shader(shader, "TRIS", {"pos": corners, "color": colours}, indices=quads.reshape(-1, 3))


def _names(rows: HeatRows, layout: StripLayout, scale: float) -> None:
    """Write the name of each row at the left."""
    blf.size(0, 9.0 * scale)
    blf.color(0, 0.85, 0.85, 0.85, 1.0)
    for number, name in enumerate(reversed(rows.names)):
        blf.position(0, 4.0 * scale, layout.bottom + number * layout.height + 2.5 * scale, 0.0)
        blf.draw(0, name)


def draw_switch(panel: "Menu", context: "Context") -> None:
    """Draw the switch in the overlays of the editor, which Blender 5.0 has."""
    panel.layout.prop(context.scene.knuckle_review, "show_heat")


MENUS = tuple((panel, draw_switch) for panel in [getattr(bpy.types, "DOPESHEET_PT_overlay", None)] if panel is not None)
