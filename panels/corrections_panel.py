"""The Corrections panel lists the corrections of the take in the order in which they are applied."""

from typing import TYPE_CHECKING, Any

import bpy

from ..errors import KnuckleError
from ..operators.hold_contact import found_contacts
from ..operators.marker_labels import is_unseen_here
from ..operators.reports import sentence
from ..operators.take_corrections import ShownTake, shown_take
from ..pipeline.corrections.correction import Correction, Kind
from ..rig.keys.corrections.resolved_take import is_unsolved
from ..rig.keys.corrections.take_base import composed_of, is_alone
from ..rig.keys.corrections.waiting import shortened_of, waiting_of
from .text_format import paragraph, shortened_text

if TYPE_CHECKING:
    from bpy.types import Context, UILayout

ROWS = 12
"""Number of corrections listed at a time, around the selected one."""
RESERVED_WIDTH = 170
"""Pixels of a row that its text cannot use: eye, icon, lock, buttons beside the list, margins, and tabs."""
CONTACTS = 5
"""Number of contacts offered at a time, nearest to the current frame."""
ICONS: dict[Kind, str] = {
    "difference": "POSE_HLT",
    "pose": "VIEW_PAN",
    "motion": "ACTION",
    "contact": "LINKED",
    "object": "MESH_CUBE",
    "hide": "HIDE_ON",
    "swap": "UV_SYNC_SELECT",
    "solve": "FILE_REFRESH",
}


class KNUCKLE_PT_corrections(bpy.types.Panel):
    """Corrections of the take, which a new solve keeps"""

    bl_label = "Corrections"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: "Context") -> None:
        """Draw buttons that add corrections, the list, and the settings of the selected one."""
        layout = self.layout
        try:
            take = shown_take(context)
        except KnuckleError as error:
            paragraph(layout, context, sentence(str(error)), "ERROR")
            layout.operator("knuckle.clear_corrections", icon="X")
            return
        if take is None:
            paragraph(layout, context, "No take yet")
            return
        if is_alone(take.base):
            text = "The take without corrections no longer exists: they are applied after the next solve"
            paragraph(layout, context, text, "ERROR")
        settings = context.scene.knuckle_correction
        row = layout.row(align=True)
        row.prop(settings, "reach")
        row.prop(settings, "blend")
        column = layout.column(align=True)
        column.operator("knuckle.correct_pose", icon="POSE_HLT")
        column.operator("knuckle.snap_to_pose", icon="VIEW_PAN")
        column.operator("knuckle.take_from", icon="ACTION")
        column.operator("knuckle.hold_contact", icon="LINKED")
        column = layout.column(align=True)
        hide = column.row(align=True)
        # Greyed out but not disabled: pressed, it explains why it cannot hide anything in this frame.
        hide.active = not is_unseen_here(context)
        hide.operator("knuckle.hide_marker", icon="HIDE_ON")
        column.operator("knuckle.swap_labels", icon="UV_SYNC_SELECT")
        column.operator("knuckle.solve_range", icon="FILE_REFRESH")
        _draw_found_contacts(layout, take)
        if take.corrections:
            _draw_list(layout, context, take)
        if is_unsolved(take.base, take.corrections):
            layout.operator("knuckle.solve_corrections", icon="ERROR")
        row = layout.row(align=True)
        row.operator("knuckle.load_corrections", text="Load", icon="FILE_FOLDER")
        saving = row.row(align=True)
        saving.enabled = bool(take.corrections)
        saving.operator("knuckle.save_corrections", text="Save", icon="FILE_TICK")


def _draw_found_contacts(layout: "UILayout", take: ShownTake) -> None:
    """Draw a button for each of the performer's contacts that is not held yet; it adds a correction that holds it."""
    contacts = found_contacts(take)
    if not contacts:
        return
    spans = [take.clock.frames([contact.start, contact.end]).tolist() for contact in contacts]
    distances = [max(first - take.frame, take.frame - last, 0.0) for first, last in spans]
    nearest = sorted(sorted(range(len(contacts)), key=distances.__getitem__)[:CONTACTS])
    column = layout.column(align=True)
    column.label(text=f"Contacts found: {len(contacts)}", icon="LINKED")
    box = column.box().column(align=True)
    for row in nearest:
        contact, (first, last) = contacts[row], spans[row]
        line = box.row(align=True)
        line.alignment = "LEFT"
        text = f"{contact.side[0].upper()}  {contact.name}  {first:.0f}–{last:.0f}  {contact.gap_mm:+.1f} mm"
        button: Any = line.operator("knuckle.hold_contact", text=text, icon="ADD", emboss=False)
        button.found = row + 1


def _draw_list(layout: "UILayout", context: "Context", take: ShownTake) -> None:
    """Draw the list of corrections, its buttons, and the settings of the selected correction."""
    action, settings = composed_of(take.armature) or take.base, context.scene.knuckle_correction
    waiting_ids, shortened_ids = waiting_of(action), shortened_of(action)
    selected = take.find(settings.selected)
    index = take.corrections.index(selected) if selected else 0
    first_row = max(0, min(index - ROWS // 2, len(take.corrections) - ROWS))
    row = layout.row()
    column = row.box().column(align=True)
    for correction in take.corrections[first_row : first_row + ROWS]:
        _draw_row(
            column,
            context,
            take,
            correction,
            is_selected=correction is selected,
            is_waiting=correction.id in waiting_ids,
            is_shortened=correction.id in shortened_ids,
        )
    if selected is None:
        return
    buttons = row.column(align=True)
    for change, icon in (("UP", "TRIA_UP"), ("DOWN", "TRIA_DOWN"), ("DELETE", "X")):
        _button(buttons, selected, change, icon)
    note = f"waits: {waiting_ids[selected.id]}" if selected.id in waiting_ids else shortened_ids.get(selected.id, "")
    _draw_settings(layout.column(), context, selected, note)


def _draw_row(
    layout: "UILayout",
    context: "Context",
    take: ShownTake,
    correction: Correction,
    *,
    is_selected: bool,
    is_waiting: bool,
    is_shortened: bool,
) -> None:
    """Draw a correction: its eye, a button with its name and frames that selects it, and its lock.

    is_waiting: it has no effect. is_shortened: a contact that is held for less than its range.
    """
    row = layout.row(align=True)
    _button(row, correction, "MUTE", "HIDE_ON" if correction.muted else "HIDE_OFF", emboss=False)
    name = row.row(align=True)
    name.alignment = "LEFT"
    name.active = not correction.muted and not is_waiting
    first, last = take.clock.frames([correction.range.start, correction.range.end])
    icon = "ERROR" if is_waiting or is_shortened else ICONS[correction.kind]
    text = shortened_text(
        context,
        f"{correction.hand[0].upper()}  {correction.name}",
        f"  {first:.0f}–{last:.0f}",
        reserved_width=RESERVED_WIDTH,
    )
    _button(name, correction, "SELECT", icon, text=text, emboss=is_selected)
    end = row.row(align=True)
    end.alignment = "RIGHT"
    _button(end, correction, "LOCK", "LOCKED" if correction.locked else "UNLOCKED", emboss=False)


def _button(
    layout: "UILayout", correction: Correction, change: str, icon: Any, *, text: str = "", emboss: bool = True
) -> None:
    button: Any = layout.operator("knuckle.change_correction", text=text, icon=icon, emboss=emboss)
    button.correction, button.what = correction.id, change


def _draw_settings(layout: "UILayout", context: "Context", correction: Correction, note: str) -> None:
    """Draw the settings of the selected correction, below a note about it if there is one."""
    settings = context.scene.knuckle_correction
    if note:
        paragraph(layout, context, sentence(note), "ERROR")
    layout.enabled = not correction.locked
    layout.prop(settings, "name", text="")
    column = layout.column(align=True)
    for names in (("start", "end"), ("blend_in", "blend_out")):
        row = column.row(align=True)
        for name in names:
            row.prop(settings, name)
    row = layout.row(align=True)
    row.prop(settings, "factor", slider=True)
    _button(row, correction, "KEY", "KEYFRAME_HLT" if correction.factor_keys else "KEYFRAME")
    if correction.factor_keys:
        _button(row, correction, "UNKEY", "X")


CLASSES = (KNUCKLE_PT_corrections,)
