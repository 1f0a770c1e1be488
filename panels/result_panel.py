"""The Result panel: how far the take is off, for each digit."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import bpy

from ..hand.joints import SIDES
from ..operators.json_files import result_armature
from ..operators.preferences import UNITS, preferences
from ..rig.keys.take_report import report_of
from .text_format import DIGIT_NAMES, figure, heading, line, pair, paragraph

if TYPE_CHECKING:
    from bpy.types import Context, UILayout

Icon = Literal["STRIP_COLOR_04", "STRIP_COLOR_03", "STRIP_COLOR_01", "BLANK1"]


GRADES: tuple[Icon, ...] = ("BLANK1", "STRIP_COLOR_04", "STRIP_COLOR_03", "STRIP_COLOR_01")
"""Icons of grades: unknown, then green to red."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table of errors."""

    title: str
    key: str
    """The key of the mean and the maximum in the report of a digit."""
    good: float
    fair: float
    """Means up to these are marked green and yellow, larger ones red; mm or degrees."""
    angle: bool = False
    """Whether the figures are degrees; otherwise mm, shown in the unit of the preferences."""

    def text(self, figures: Any) -> str:
        """Format the mean and the maximum."""
        unit, factor = ("°", 1.0) if self.angle else ("", UNITS[preferences().length_unit][2])
        return " / ".join(figure(figures, name, factor) + unit for name in ("mean", "max"))

    def icon(self, figures: Any) -> Icon:
        """Return the icon whose color grades the mean."""
        mean = figures.get("mean") if isinstance(figures, dict) else None
        if not isinstance(mean, int | float):
            return "BLANK1"
        return "STRIP_COLOR_04" if mean <= self.good else "STRIP_COLOR_03" if mean <= self.fair else "STRIP_COLOR_01"


# 2 mm and 5 degrees are about what is seen in a close-up of a hand; 5 mm and 10 degrees are seen in any.
HAND_COLUMNS = (Column("Tip Error", "tip_error_mm", 2.0, 5.0), Column("Marker Error", "marker_error_mm", 3.0, 8.0))
ANGLES = Column("Bone Angle Error", "direction_off_deg", 5.0, 10.0, angle=True)
TIPS = Column("Tip Error", "tip_off_mm", 2.0, 5.0)
CONTACTS = Column("Contact Error", "gap_off_mm", 2.0, 5.0)
RIG_COLUMNS = {"directions": (ANGLES, TIPS), "fingertips": (TIPS, ANGLES), "pinches": (CONTACTS, ANGLES)}
"""What is matched on a rig -> the columns of its errors, the matched one first."""
GRADED = {"directions": (ANGLES,), "fingertips": (TIPS,), "pinches": (CONTACTS, ANGLES)}
"""What is matched on a rig -> the errors that grade a digit, of which the first that is known is used. If proportions
differ, the others cannot be small: a long thumb whose bones point as the performer's ends elsewhere. A digit without
contacts matches rotations."""


class KNUCKLE_PT_result(bpy.types.Panel):
    """Errors of the take"""

    bl_label = "Result"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"

    def draw(self, context: "Context") -> None:
        """Draw errors of each digit, gap-filled frames, limits, duration and notes."""
        layout = self.layout
        armature = result_armature(context)
        report = report_of(armature)
        if report is None:
            paragraph(layout, context, "No take yet")
            return
        for side in SIDES:
            if side in report.get("hands", {}):
                _hand(layout.box(), side, report["hands"][side], report.get("frames", 0))
        column = layout.column(align=True)
        seconds = report.get("seconds", {})
        if armature.animation_data and armature.animation_data.action:
            frames = armature.animation_data.action.frame_range
            pair(column, "Frame Range", f"{frames[0]:.0f} to {frames[1]:.0f}")
        pair(column, "Read / Solve Time", f"{seconds.get('read', 0):.2f} s, {seconds.get('solve', 0):.2f} s")
        _notes(layout, context, report)
        column = layout.column(align=True)
        column.operator("knuckle.fit_range", icon="PREVIEW_RANGE")
        column.operator("knuckle.export_report", icon="EXPORT")
        column.operator("knuckle.export_report_page", icon="URL")


def _notes(layout: "UILayout", context: "Context", report: dict[str, Any]) -> None:
    """Draw the report's warnings in a subpanel, if there are any."""
    warnings = report.get("warnings")
    notes = [note for note in warnings if isinstance(note, str)] if isinstance(warnings, list) else []
    if not notes:
        return
    header, body = layout.panel("knuckle_notes", default_closed=True)
    header.label(text=f"{len(notes)} Notes" if len(notes) > 1 else "1 Note", icon="INFO")
    for note in notes if body else ():
        paragraph(body, context, note)


def _hand(layout: "UILayout", side: str, hand: dict[str, Any], frames: int) -> None:
    """Draw the errors of the character's hand; without a character, those of the hand that was solved."""
    rig = hand.get("rig")
    digits = rig.get("digits") if isinstance(rig, dict) else None
    columns = RIG_COLUMNS.get(rig["keep"] if isinstance(rig, dict) and "keep" in rig else "", HAND_COLUMNS)
    on_rig = isinstance(digits, dict) and columns is not HAND_COLUMNS
    layout.label(text=f"{side.capitalize()} Hand" + (" of Target" if on_rig else ""), icon="VIEW_PAN")
    graded = GRADED[rig["keep"]] if on_rig else None
    table = layout.column(align=True)
    pair(table, "Mean / Max", UNITS[preferences().length_unit][1])
    _errors(table, columns, digits if on_rig else hand["fingers"], graded)
    column = layout.column(align=True)
    if hand.get("limited_bones"):
        pair(column, "Bone Limits", f"{hand['limited_bones']} bones")
    pair(column, "Gap-Filled Frames", f"{hand.get('predicted_frames', 0)} of {frames}")
    hits = [figures.get("limit_hit_frames", 0) for figures in hand["fingers"].values()]
    pair(column, "At Joint Limits", f"{sum(hits) / max(len(hits) * frames, 1):.0%} of frames")


def grade(figures_of: Any, columns: tuple[Column, ...], graded: tuple[Column, ...] | None) -> Icon:
    """Return the icon of a digit with these figures: by the first known of `graded`, or the worst of all if None."""
    figures = figures_of if isinstance(figures_of, dict) else {}
    grades = [column.icon(figures.get(column.key)) for column in graded or columns]
    if graded is None:
        return max(grades, key=GRADES.index)
    return next((icon for icon in grades if icon != "BLANK1"), "BLANK1")


def _errors(
    layout: "UILayout", columns: tuple[Column, Column], digits: dict[str, Any], graded: tuple[Column, ...] | None
) -> None:
    """Draw a row for each digit. graded: see `grade`."""
    heading(layout, columns[0].title, columns[1].title)
    for digit, name in DIGIT_NAMES.items():
        digit_figures = digits.get(digit)
        texts = [
            column.text(digit_figures.get(column.key) if isinstance(digit_figures, dict) else None)
            for column in columns
        ]
        line(layout, name, *texts, icon=grade(digit_figures, columns, graded))


CLASSES = (KNUCKLE_PT_result,)
