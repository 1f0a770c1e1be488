"""The Review panel lists the problems of the take, the worst first."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import bpy

from ..operators.json_files import result_armature
from ..operators.review import current_problem
from ..rig.keys.corrections.mended_problems import Reviewed
from ..rig.keys.take_problems import TakeProblem
from ..rig.keys.take_report import action_with_report, report_of
from .text_format import pair, paragraph, shortened_text

if TYPE_CHECKING:
    from bpy.types import Context, UILayout

ROWS = 8
"""Number of problems listed at a time, around the current one."""
RESERVED_WIDTH = 116
"""Pixels of a row that its text cannot use: check box, icon, margins and the sidebar's tabs."""
SeverityIcon = Literal["STRIP_COLOR_01", "STRIP_COLOR_02", "STRIP_COLOR_03"]
MENDED_ICON: Literal["CHECKMARK"] = "CHECKMARK"
"""Shown for a problem that a correction covers."""
CheckBoxIcon = Literal["CHECKBOX_HLT", "CHECKBOX_DEHLT"]
SEVERITY_ICONS: tuple[tuple[float, SeverityIcon], ...] = (
    (4.0, "STRIP_COLOR_01"),
    (2.0, "STRIP_COLOR_02"),
    (0.0, "STRIP_COLOR_03"),
)
"""Minimum severity, in multiples of a problem's threshold, and its icon: red, orange and yellow."""


class KNUCKLE_PT_review(bpy.types.Panel):
    """Problems of the take"""

    bl_label = "Review"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Knuckle"

    def draw(self, context: "Context") -> None:
        """Draw the settings, buttons that step through the problems, the current problem and the list."""
        layout, armature = self.layout, result_armature(context)
        if report_of(armature) is None:
            paragraph(layout, context, "No take yet")
            return
        column = layout.column()
        column.prop(context.scene.knuckle_review, "show_errors")
        column.prop(context.scene.knuckle_review, "show_heat")
        layout.operator("knuckle.export_report_page", icon="URL")
        reviewed = Reviewed.of(action_with_report(armature), context.scene)
        problems, seen, mended = reviewed.problems, reviewed.seen, reviewed.mended
        if not problems:
            paragraph(layout, context, "No problems were found")
            return
        current = current_problem(context, problems)
        row = layout.row(align=True)
        row.operator("knuckle.previous_problem", text="Previous", icon="TRIA_LEFT")
        row.operator("knuckle.next_problem", text="Next", icon="TRIA_RIGHT")
        pair(layout, f"{len(problems)} Problem{'s' if len(problems) > 1 else ''}", f"{len(reviewed.left)} left")
        if current is not None:
            problem = problems[current]
            _draw_current(layout.box(), context, problem, mended.get(problem.key, ()), is_seen=problem.key in seen)
        first_row = max(0, min((current or 0) - ROWS // 2, len(problems) - ROWS))
        column = layout.column(align=True)
        for index in range(first_row, min(first_row + ROWS, len(problems))):
            problem = problems[index]
            state = _RowState(index == current, problem.key in seen, problem.key in mended)
            _draw_row(column, context, problem, state)


def severity_icon(severity: float) -> SeverityIcon:
    """Return the icon whose color shows a severity."""
    return next(icon for minimum, icon in SEVERITY_ICONS if severity >= minimum)


def _draw_current(
    layout: "UILayout", context: "Context", problem: TakeProblem, mended_by: tuple[str, ...], *, is_seen: bool
) -> None:
    """Draw the full description of the current problem."""
    paragraph(layout, context, f"{problem.hand.capitalize()} {problem.reason}")
    pair(layout, "Frames", f"{problem.first:.0f} to {problem.last:.0f}")
    if mended_by:
        paragraph(layout, context, f"Mended by {', '.join(mended_by)}", MENDED_ICON)
    text = "Seen" if is_seen else "Mark as Seen"
    icon: CheckBoxIcon = "CHECKBOX_HLT" if is_seen else "CHECKBOX_DEHLT"
    mark: Any = layout.operator("knuckle.mark_seen", text=text, icon=icon, depress=is_seen)
    mark.problem = problem.key


@dataclass(frozen=True, slots=True)
class _RowState:
    """State of a problem that its row shows."""

    is_current: bool
    is_seen: bool
    is_mended: bool


def _draw_row(layout: "UILayout", context: "Context", problem: TakeProblem, state: _RowState) -> None:
    """Draw a problem's check box, and the button that goes to it."""
    row = layout.row(align=True)
    icon: CheckBoxIcon = "CHECKBOX_HLT" if state.is_seen else "CHECKBOX_DEHLT"
    mark: Any = row.operator("knuckle.mark_seen", text="", icon=icon, emboss=False)
    button_row = row.row(align=True)
    button_row.alignment = "LEFT"
    text = shortened_text(
        context, f"{problem.worst:.0f}  {problem.hand[0].upper()}  {problem.reason}", reserved_width=RESERVED_WIDTH
    )
    problem_icon = MENDED_ICON if state.is_mended else severity_icon(problem.severity)
    show: Any = button_row.operator("knuckle.show_problem", text=text, icon=problem_icon, emboss=state.is_current)
    show.problem = mark.problem = problem.key


CLASSES = (KNUCKLE_PT_review,)
