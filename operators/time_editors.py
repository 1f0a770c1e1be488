"""Scroll the animation editors to the current frame after an operator has changed it."""

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from bpy.types import Area, Context, Region

VIEW_FRAME = {
    "DOPESHEET": bpy.ops.action.view_frame,
    "TIMELINE": bpy.ops.action.view_frame,
    "FCURVES": bpy.ops.graph.view_frame,
    "NLA_EDITOR": bpy.ops.nla.view_frame,
}
"""Editor -> the operator that scrolls it to the current frame. The Drivers editor is left out: its axis is not time."""


def scroll_to_frame(context: "Context") -> None:
    """Scroll the animation editors of the window that do not show the current frame."""
    # In background mode, windows have no size.
    if context.window is None or bpy.app.background:
        return
    frame = context.scene.frame_current_final
    for area in context.window.screen.areas:
        region = region_without_frame(area, frame)
        if region is not None:
            with context.temp_override(area=area, region=region):
                VIEW_FRAME[area.ui_type]()


def region_without_frame(area: "Area", frame: float) -> "Region | None":
    """Return the main region of an animation editor that does not show a frame; None for any other area."""
    if area.ui_type not in VIEW_FRAME:
        return None
    region = next(region for region in area.regions if region.type == "WINDOW")
    first, last = (region.view2d.region_to_view(x, 0)[0] for x in (0, region.width))
    return None if first <= frame <= last else region
