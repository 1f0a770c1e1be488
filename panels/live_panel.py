"""The Live panel: the device, its state, and takes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

from ..capture.devices.device_table import DEVICES
from ..capture.devices.stream_stats import StreamStats
from ..files import exists
from ..operators.live import page_url
from ..operators.live_loop import LiveRun
from ..operators.online_access import is_on_this_computer, limits
from ..operators.reading_properties import CAMERA_PROPERTIES
from ..operators.reports import sentence
from ..operators.session import SESSION
from ..operators.take_folder import folder_of
from ..pipeline.live.take_buffer import MAX_FRAMES
from .text_format import pair, paragraph

if TYPE_CHECKING:
    from bpy.types import Context, UILayout


class KNUCKLE_PT_live(bpy.types.Panel):
    """Hands posed live from a device"""

    bl_label = "Live"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"
    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 1  # below the panels of a capture, whose order is 0

    def draw(self, context: "Context") -> None:
        """Draw the device and, while it is running, its state."""
        layout, settings, run = self.layout, context.scene.knuckle_live, SESSION.live.run
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column()
        column.enabled = run is None
        _draw_device(column, context, settings)
        _draw_driven_rig(column, context.scene.knuckle)
        layout.prop(settings, "put_back")
        # Rows that appear while it runs are below, so that Stop is where Start was.
        row = layout.row()
        row.scale_y = 1.4
        if run is None:
            row.operator("knuckle.live_start", icon="PLAY")
            if SESSION.live.problem:
                paragraph(layout, context, sentence(SESSION.live.problem), "ERROR")
            _draw_performers(layout, settings, run)
            return
        row.operator("knuckle.live_stop", icon="SNAP_FACE")
        _draw_record_button(row, run)
        _draw_performers(layout, settings, run)
        _draw_state(layout.box(), context, run)
        row = layout.row(align=True)
        row.enabled = bool(run.displayed_hands)
        row.operator("knuckle.live_recentre", icon="PIVOT_CURSOR")
        row.operator("knuckle.live_measure", icon="DRIVER_DISTANCE")


def _draw_device(layout: "UILayout", context: "Context", settings: Any) -> None:
    device = DEVICES[settings.device]
    layout.prop(settings, "device")
    paragraph(layout, context, sentence(device.about))
    layout.prop(settings, "host", text="Connect To" if device.connects else "Listen On")
    layout.prop(settings, "port")
    if limits_text := limits():
        paragraph(layout, context, sentence(limits_text), "INFO" if is_on_this_computer(settings.host) else "ERROR")
    if device.serves_page:
        layout.prop(settings, "page_names")
    if device.opens_page:
        for name in CAMERA_PROPERTIES:
            layout.prop(context.scene.knuckle, name)
    else:
        layout.row().prop(settings, "angles", expand=True)


def _draw_driven_rig(layout: "UILayout", settings: Any) -> None:
    """Draw the target of the first performer: the same setting as for a capture."""
    layout.row().prop(settings, "drive", expand=True)
    layout.prop(settings, "rig")
    if settings.rig == "ARMATURE":
        layout.prop(settings, "armature")


def _draw_performers(layout: "UILayout", settings: Any, run: LiveRun | None) -> None:
    """Draw the named performers of the device, and their targets."""
    if not settings.people:
        return
    column = layout.column(heading="Performers")
    for person in settings.people:
        row = column.row(align=True)
        row.prop(person, "armature", text=person.name)
        if run is None:
            row.operator("knuckle.live_forget_performer", text="", icon="X").performer = person.name


def _draw_state(layout: "UILayout", context: "Context", run: LiveRun) -> None:
    paragraph(layout, context, sentence(run.receiver.state()), "ERROR" if run.receiver.failed else "INFO")
    if DEVICES[run.setup.device].opens_page:
        url = page_url(run.setup.address)
        layout.operator("wm.url_open", text=f"Open {url}", icon="URL").url = url
    senders = run.receiver.senders
    if senders.ignored_sender:
        paragraph(
            layout,
            context,
            f"{senders.ignored_sender} sends as well: {senders.ignored_packets} packets were ignored",
            "ERROR",
        )
        layout.operator(
            "knuckle.live_follow_sender", text=f"Follow {senders.ignored_sender}"
        ).sender = senders.ignored_sender
    for problem in [*run.rigs.problems.values(), *run.session.problems.values(), *run.rigs.strain_warnings()]:
        paragraph(layout, context, sentence(problem), "ERROR")
    if not run.receiver.stats.frames:
        return
    column = layout.column(align=True)
    for hand in run.displayed_hands:
        state_text = (
            "predicted" if hand.predicted else f"seen, {hand.missing} points missing" if hand.missing else "seen"
        )
        pair(column, _hand_title(hand.name), "not seen" if hand.lost else state_text)
    for name in run.session.unmeasured():
        pair(column, _hand_title(name), "being measured")
    _draw_figures(column, run.receiver.stats)
    if run.timecode:
        pair(column, "Timecode", run.timecode)


def _draw_figures(layout: "UILayout", stats: StreamStats) -> None:
    """Draw latency, jitter and dropped frames."""
    median, percentile_99 = stats.latency()
    pair(layout, "Latency, median / 99 %", f"{1000 * median:.1f} / {1000 * percentile_99:.1f} ms")
    pair(layout, "Jitter", f"{1000 * stats.jitter():.1f} ms")
    dropped = {
        "Dropped by Network": stats.lost,
        "Dropped as Late": stats.late,
        "Malformed Packets": stats.malformed,
        "Dropped by Display": stats.overrun,
    }
    for name, count in dropped.items():
        if count:
            pair(layout, name, f"{count} of {stats.packets}" if name == "Malformed Packets" else f"{count} frames")
    if not any(dropped.values()):
        pair(layout, "Dropped Frames", "none")


def _hand_title(hand: str) -> str:
    """Format the name of a hand: 'Right hand', 'Anna, left hand'."""
    performer, _, side = hand.rpartition(" ")
    return f"{performer}, {side} hand" if performer else f"{hand.capitalize()} hand"


def _draw_record_button(layout: "UILayout", run: LiveRun) -> None:
    recording = run.receiver.recording is not None
    text = "Stop Recording" if recording else "Record"
    layout.operator("knuckle.live_record", text=text, icon="REC", depress=recording)


class KNUCKLE_UL_takes(bpy.types.UIList):
    """Takes, each with its length and a button that imports it"""

    def draw_item(
        self,
        _context: "Context",
        layout: "UILayout",
        _data: Any,
        item: Any,
        _icon: int | None,
        _active: Any,
        _property: str | None,
        _index: int | None,
        _flag: int | None,
    ) -> None:
        """Draw a take."""
        row = layout.row(align=True)
        row.prop(item, "name", text="", emboss=False)
        right = row.row(align=True)
        right.alignment = "RIGHT"
        right.label(text=f"{item.timecode}  {item.seconds:.1f} s".strip())
        right.operator("knuckle.import_capture", text="", icon="IMPORT", emboss=False).filepath = item.filepath


class KNUCKLE_PT_live_takes(bpy.types.Panel):
    """Recorded takes, and the name of the next one"""

    bl_label = "Takes"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"
    bl_parent_id = "KNUCKLE_PT_live"

    def draw(self, context: "Context") -> None:
        """Draw the current recording, the list of takes, and the settings of recording."""
        layout, settings, run = self.layout, context.scene.knuckle_live, SESSION.live.run
        layout.use_property_split = True
        layout.use_property_decorate = False
        recorder = run.receiver.recording if run is not None else None
        if recorder is not None:
            text = recorder.problem or f"Recording {recorder.path.stem}"
            paragraph(layout, context, text, "ERROR" if recorder.problem else "REC")
            if run is not None and run.session.take is not None and run.session.take.full:
                paragraph(layout, context, f"Only {MAX_FRAMES} frames are keyed, the raw take has all", "ERROR")
        if settings.takes:
            row = layout.row()
            row.template_list("KNUCKLE_UL_takes", "", settings, "takes", settings, "take", rows=3)
            row.column().operator("knuckle.live_forget_take", text="", icon="REMOVE")
            if 0 <= settings.take < len(settings.takes) and not exists(Path(settings.takes[settings.take].filepath)):
                paragraph(layout, context, f"{settings.takes[settings.take].filepath} does not exist", "ERROR")
        column = layout.column()
        column.enabled = recorder is None
        column.prop(settings, "take_name")
        column.prop(settings, "folder")
        takes = folder_of(context.scene)
        row = layout.row()
        paragraph(row.column(), context, f"Raw takes: {takes}")
        if exists(takes) and takes.is_dir():
            row.operator("wm.path_open", text="", icon="FILE_FOLDER").filepath = str(takes)
        row = column.row()
        row.enabled = run is None
        row.prop(settings, "pre_roll")


CLASSES = (
    KNUCKLE_UL_takes,
    KNUCKLE_PT_live,
    KNUCKLE_PT_live_takes,
)
