"""The Live panel: the device, how it stands, and what is recorded."""

from typing import TYPE_CHECKING, Any

import bpy

from ..operators.live import Live
from ..operators.live_run import LiveRun
from ..streams.devices import DEVICES
from .text import pair, paragraph

if TYPE_CHECKING:
    from bpy.types import Context, UILayout


class KNUCKLE_PT_live(bpy.types.Panel):
    """A performer's hands, as they move"""

    bl_label = "Live"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"
    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 1  # behind those of a capture, which leave theirs at 0

    def draw(self, context: "Context") -> None:
        """The device; while it is followed, how it stands."""
        layout, chosen, run = self.layout, context.scene.knuckle_live, Live.run
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column()
        column.enabled = run is None
        column.prop(chosen, "device")
        paragraph(column, context, DEVICES[chosen.device].about)
        column.prop(chosen, "host", text="Connect to" if DEVICES[chosen.device].connects else "Listen on")
        column.prop(chosen, "port")
        column.prop(chosen, "drive", expand=True)
        column.prop(chosen, "put_back")
        if run is None:
            layout.operator("knuckle.live_start", icon="PLAY")
            return
        layout.operator("knuckle.live_stop", icon="PAUSE")
        _standing(layout.box(), context, run)
        row = layout.row(align=True)
        row.operator("knuckle.live_recentre", icon="PIVOT_CURSOR")
        row.operator("knuckle.live_measure", icon="ARROW_LEFTRIGHT")
        _recording(layout, chosen, run)


def _standing(layout: "UILayout", context: "Context", run: LiveRun) -> None:
    tally = run.receiver.tally
    paragraph(layout, context, run.receiver.state(), "INFO")
    for problem in filter(None, [run.problem, *run.session.problems.values()]):
        paragraph(layout, context, problem, "ERROR")
    column = layout.column(align=True)
    for shown in run.shown:
        pair(column, f"{shown.name.capitalize()} hand", "not seen" if shown.lost else "seen")
    middle, most = tally.latency()
    pair(column, "Latency, median / 99 %", f"{1000 * middle:.1f} / {1000 * most:.1f} ms")
    pair(column, "Jitter", f"{1000 * tally.jitter():.1f} ms")
    pair(column, "Lost, late, not understood", f"{tally.lost}, {tally.late}, {tally.malformed}")


def _recording(layout: "UILayout", chosen: Any, run: LiveRun) -> None:
    recorder = run.receiver.recording
    column = layout.column()
    column.enabled = recorder is None
    for name in ("take_name", "folder"):
        column.prop(chosen, name)
    text = "Record" if recorder is None else f"End {recorder.path.stem}"
    layout.operator("knuckle.live_record", text=text, icon="REC", depress=recorder is not None)
