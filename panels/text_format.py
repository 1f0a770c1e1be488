"""Text and figures in panels."""

import textwrap
from typing import TYPE_CHECKING, Any, Literal

import blf

from ..hand.joints import DIGITS, digit_title

if TYPE_CHECKING:
    from bpy.types import Context, UILayout

DIGIT_NAMES = {digit: digit_title(digit) for digit in DIGITS}

NAMES_WITH_ICON = 0.32
"""Fraction of a table's width for names with icons."""
MIN_CONFIDENCE = 0.6
"""Confidence below which a digit is marked: another mapping fits nearly as well, or names and shape disagree."""


def paragraph(
    layout: "UILayout",
    context: "Context",
    text: str,
    icon: Literal["NONE", "ERROR", "INFO", "REC", "CHECKMARK"] = "NONE",
) -> None:
    """Draw a text of any length, wrapped to the region's width: Blender's labels do not wrap."""
    # A letter is about 6.5 pixels wide at a scale of 1; the icon and the margins take about 60.
    scale = context.preferences.system.ui_scale
    letters = max(int((context.region.width / scale - 60) / 6.5), 16)
    column = layout.column(align=True)
    column.scale_y = 0.75
    for number, line in enumerate(textwrap.wrap(text, letters)):
        column.label(text=line, icon=icon if number == 0 else "BLANK1" if icon != "NONE" else "NONE")


def shortened_text(context: "Context", text: str, end: str = "", *, reserved_width: int) -> str:
    """Return a text and its end, shortened to fit the region: Blender leaves buttons out of rows that are too wide.

    reserved_width: width of everything else in the row, in pixels at a scale of 1.
    """
    preferences = context.preferences
    scale = preferences.system.ui_scale
    blf.size(0, preferences.ui_styles[0].widget.points * scale)
    room = context.region.width - reserved_width * scale
    if blf.dimensions(0, text + end)[0] <= room:
        return text + end
    lengths = range(len(text) - 1, 0, -1)
    length = next((count for count in lengths if blf.dimensions(0, f"{text[:count]}…{end}")[0] <= room), 1)
    return f"{text[:length].rstrip()}…{end}"


def pair(layout: "UILayout", name: str, value: str) -> None:
    """Draw a name on the left and a value on the right."""
    row = layout.row()
    row.label(text=name)
    right = row.row()
    right.alignment = "RIGHT"
    right.label(text=value)


def figure(figures: Any, name: str, factor: float = 1.0) -> str:
    """Format a figure of the report, multiplied by `factor`; a dash if it is unknown."""
    value = figures.get(name) if isinstance(figures, dict) else None
    if not isinstance(value, int | float):
        return "–"
    return f"{factor * value:.2f}" if abs(factor * value) < 9.995 else f"{factor * value:.1f}"


def heading(layout: "UILayout", first: str, second: str) -> None:
    """Draw the titles of two columns of a table (see `line`). The first also covers the column of names."""
    row = layout.split(factor=(1 + NAMES_WITH_ICON) / 2, align=True)
    for text in (first, second):
        cell = row.row()
        cell.alignment = "RIGHT"
        cell.label(text=text)


def line(layout: "UILayout", *cells: str, icon: Any = "NONE") -> None:
    """Draw a row of a table: a name on the left, with an icon if given, and cells of equal width to its right."""
    row = layout.split(factor=0.24 if icon == "NONE" else NAMES_WITH_ICON, align=True)
    row.label(text=cells[0], icon=icon)
    value_cells = row.split(factor=1 / len(cells[1:]), align=True)
    for cell in cells[1:]:
        column = value_cells.row()
        column.alignment = "RIGHT"
        column.label(text=cell)
