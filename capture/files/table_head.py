"""The head of a table: which columns are markers, which is the time, and where the numbers start.

A column's title consists of a label and an axis (`wrist.x`, `wrist_X`, `Wrist-Z (mm)`, `x_wrist`, `WristX`, `WRISTX`).
In exports of Vicon and pandas, labels, axes and units are in separate rows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..conventions import unit_from
from .text_table import is_blank, parse_number, split_cells

HEAD_ROWS = 40
"""Maximum number of lines that are searched for the first row of numbers."""
MAX_TITLE = 200
"""Maximum number of characters in the title of a marker's column."""
VICON_SECTIONS = ("trajectories", "devices", "joints", "segments", "model outputs")
"""Titles of the sections of a Vicon export; the markers are in Trajectories."""
_SEPARATORS = r"[\s._:|/\-]"
_POSITION = r"(?:position|pos|translation|translate|trans|location|loc)"
_TITLES = (
    re.compile(rf"(?P<name>)(?:{_POSITION}{_SEPARATORS}*|t)?(?P<axis>[xyz])", re.IGNORECASE),
    re.compile(rf"(?P<name>.*?){_SEPARATORS}+(?:{_POSITION}{_SEPARATORS}*|t)?(?P<axis>[xyz])", re.IGNORECASE),
    re.compile(rf"(?P<axis>[xyz]){_SEPARATORS}*(?P<name>\d+)", re.IGNORECASE),
    re.compile(rf"(?P<axis>[xyz]){_SEPARATORS}+(?P<name>.+)", re.IGNORECASE),
    re.compile(r"(?P<name>.*[a-z0-9])(?P<axis>[XYZ])"),
)
"""Patterns of column titles with a label and an axis, tried in this order; the whole title must match."""
_GLUED = re.compile(r"(?P<name>.*[^\W_])(?P<axis>[xyz])", re.IGNORECASE)
"""A label and an axis of the same case (`IPX`, `wristx`). Other words may end with the same letters, so a label counts
only if the row has all three axes of it."""
_QUANTITY = re.compile(r"[\W_]?(?:[a-z]|rot|quat|vel|acc|gyro)", re.IGNORECASE)
"""End of a label that stands for a rotation or a velocity (`_r` in `wrist_rx`, `vel` in `handvelx`)."""
_MAX_QUANTITY = 5
"""Maximum number of characters of such an end."""
_UNIT_AT_END = re.compile(r"\s*(?:[\[(]\s*([^\])]{1,12})\s*[\])]|_(mm|cm|ms|us|ns))$", re.IGNORECASE)
_NO_POSITIONS = re.compile(
    r"(?:(?:^|[^a-z])(?:rot|rotation|quat|quaternion|orientation|euler|angles?|vel|velocity|acc|accel|acceleration|"
    r"gyro|mag|force|moment)|[^a-z]q)$",
    re.IGNORECASE,
)
_TIMES = frozenset(
    ("time", "t", "timestamp", "timestamps", "time stamp", "seconds", "sec", "elapsed", "elapsed time", "zeit", "temps")
)
_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_COUNTERS = re.compile(
    r"|frames?\W*|frame.?(?:id|number|no|index|count)|fnum|index|unnamed: \d+|sub ?frame|level_\d+|#"
)
"""Titles of columns that count rows."""
_RATE = re.compile(r"(?:rate|frequency|fps|hz)\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableHead:
    """The contents of the lines above the numbers."""

    first: int
    """Index of the first line of numbers."""
    separator: str
    """A comma, semicolon or tab, or a blank for any white space."""
    titles: tuple[str, ...]
    """Title of each column."""
    markers: dict[str, dict[str, int]] = field(default_factory=dict)
    """Label -> axis x, y or z -> column."""
    duplicate_title: str = ""
    """The title of a position that occurs twice; empty if there is none."""
    time_column: int | None = None
    seconds: float | None = None
    """The unit of time in s; None if the head does not state it."""
    rate: float | None = None
    """Hz; None if the head does not state it."""
    unit: str | None = None
    """m, dm, cm, mm or inch; None if the head does not state it."""
    axes_row: int | None = None
    """Index of the line of axes; None if there is no head."""

    @property
    def complete_markers(self) -> dict[str, dict[str, int]]:
        """The markers that have all three axes: label -> axis -> column."""
        return {label: axes for label, axes in self.markers.items() if len(axes) == 3}

    @property
    def ignored_titles(self) -> tuple[str, ...]:
        """Titles of the columns that are neither positions, nor the time, nor a count."""
        used = {column for axes in self.complete_markers.values() for column in axes.values()} | {self.time_column}
        return tuple(
            title
            for column, title in enumerate(self.titles)
            if column not in used and not _COUNTERS.fullmatch(title.lower())
        )


def cells(line: str, separator: str) -> list[str]:
    """Return the cells of a line of the head, without quotes and blanks around them."""
    if separator == " ":
        return line.split()
    return [cell.strip(" \"'\t\0") for cell in split_cells(line, separator)]


def find_head(lines: Sequence[str], start: int = 0) -> TableHead | None:
    """Return the head of the table in the lines from `start` on; None if they do not look like one."""
    head = [index for index in range(start, len(lines)) if not is_blank(lines[index])][:HEAD_ROWS]
    if not head:
        return None
    separator = _separator([lines[index] for index in head])
    rows = {index: cells(lines[index], separator) for index in head}
    first = next((index for index in head if _is_numbers(rows[index])), head[-1] + 1)
    rows_above = [index for index in head if index < first]
    axes_row = next((i for i in reversed(rows_above) if len(_positions(rows[i])) >= 2), None)
    if axes_row is None:
        axes_row = next((i for i in rows_above if rows[i] and _time(rows[i][0]) is not None), None)
    if axes_row is None:
        return _head_without_titles(rows[first], first, separator) if not rows_above and first in rows else None
    # Rows before the first with positions may contain only the time, if no marker is seen yet.
    first = next((index for index in head if axes_row < index < first and _is_sparse(rows[index])), first)
    return _head_with_titles(rows, [index for index in rows_above if index < first], axes_row, first, separator)


def _separator(lines: list[str]) -> str:
    """Return the separator: one that a line has twice, tabs and semicolons first, since commas may be decimal ones."""
    for separator in "\t;,":
        if max(line.count(separator) for line in lines) >= 2:
            return separator
    return " " if max(len(line.split()) for line in lines) > 3 else ","


def _is_numbers(row: list[str]) -> bool:
    """Return whether most of a row's filled cells, and at least three, are numbers."""
    filled = [cell for cell in row if cell]
    numbers = sum(parse_number(cell.replace(",", ".")) is not None for cell in filled)
    return numbers >= 3 and 2 * numbers > len(filled)


def _is_sparse(row: list[str]) -> bool:
    """Return whether all of a row's filled cells, and at least one, are numbers."""
    filled = [cell for cell in row if cell]
    return bool(filled) and all(parse_number(cell.replace(",", ".")) is not None for cell in filled)


def _position(title: str) -> tuple[str, str] | None:
    """Return the label, empty if there is none, and the axis in a title; None for other titles."""
    if len(title) > MAX_TITLE:
        return None
    title = _UNIT_AT_END.sub("", title)
    return _label_and_axis(next(filter(None, (pattern.fullmatch(title) for pattern in _TITLES)), None))


def _label_and_axis(match: re.Match[str] | None) -> tuple[str, str] | None:
    if match is None or _NO_POSITIONS.search(match["name"]):
        return None
    return match["name"].strip(), match["axis"].lower()


def _positions(row: Sequence[str]) -> dict[int, tuple[str, str]]:
    """Return column -> label and axis, for the titles in a row that name a position."""
    plain = {column: position for column, title in enumerate(row) if (position := _position(title))}
    titles = {column: _UNIT_AT_END.sub("", title) for column, title in enumerate(row) if len(title) <= MAX_TITLE}
    glued = {
        column: position
        for column, title in titles.items()
        if column not in plain and (position := _label_and_axis(_GLUED.fullmatch(title)))
    }
    axes: dict[str, list[str]] = {}
    for label, axis in glued.values():
        axes.setdefault(label, []).append(axis)
    markers = {label for label, letters in axes.items() if sorted(letters) == ["x", "y", "z"] and len(label) > 1}
    labels = markers | {label for label, _ in plain.values()}
    markers = {label for label in markers if not _is_quantity(label, labels)}
    return plain | {column: position for column, position in glued.items() if position[0] in markers}


def _is_quantity(label: str, labels: set[str]) -> bool:
    """Return whether a label is that of another marker followed by a quantity such as a rotation."""
    ends = range(max(1, len(label) - _MAX_QUANTITY), len(label))
    return any(label[:end] in labels and _QUANTITY.fullmatch(label, end) for end in ends)


def _time(title: str) -> float | None:
    """Return the unit in s of a title that names a time, 0 if it names no unit; None for other titles."""
    unit = _unit_at_end(title).lower()
    if len(title) > MAX_TITLE or _UNIT_AT_END.sub("", title).strip().lower() not in _TIMES:
        return None
    return _SECONDS.get(unit, 0.0)


def _unit_at_end(title: str) -> str:
    match = _UNIT_AT_END.search(title[-MAX_TITLE:])
    return (match[1] or match[2]) if match else ""


def _head_with_titles(
    rows: dict[int, list[str]], rows_above: list[int], axes_row: int, first: int, separator: str
) -> TableHead:
    titles = list(rows[axes_row])
    while titles and not titles[-1] and len(titles) > len(rows.get(first, ())):
        titles.pop()
    names = _names_above(rows, rows_above, axes_row)
    markers, duplicate_title = _markers(titles, names)
    # If labels have a separate row, the title of the time may be in that row.
    title_rows = [titles, names[: len(titles)]]
    time_title, time_column = next(
        ((title, column) for row in title_rows for column, title in enumerate(row) if _time(title) is not None),
        ("", None),
    )
    cells_below = [cell for index in rows_above if index > axes_row for cell in rows[index]]
    units = [unit for cell in (*cells_below, *map(_unit_at_end, titles)) if (unit := unit_from(cell))]
    return TableHead(
        first,
        separator,
        tuple(titles),
        markers,
        duplicate_title,
        time_column,
        _time(time_title) or None,
        _rate(rows, rows_above),
        units[0] if units else None,
        axes_row,
    )


def _markers(titles: list[str], names: list[str]) -> tuple[dict[str, dict[str, int]], str]:
    """Return label -> axis -> column, and a title that occurs twice. names: the row of labels, empty without one."""
    markers: dict[str, dict[str, int]] = {}
    duplicate_title, label_above = "", ""
    for column, (name, axis) in sorted(_positions(titles).items()):
        label = name
        if not label or (label.isdecimal() and names):
            if not label_above or len(markers.get(label_above, {})) == 3 or axis in markers.get(label_above, {}):
                # A label is above the first of three columns, or in the middle.
                title = next(filter(None, names[column : column + 3]), f"marker_{len(markers) + 1}")
                label_above = _make_unique(title, markers)
            label = label_above
        elif label.isdecimal():
            label = f"marker_{label}"
        if axis in markers.setdefault(label, {}):
            duplicate_title = duplicate_title or titles[column]
        markers[label].setdefault(axis, column)
    return markers, duplicate_title


def _names_above(rows: dict[int, list[str]], rows_above: list[int], axes_row: int) -> list[str]:
    """Return the row of labels above the axes, which has one for every three columns; empty if there is none."""
    minimum = max(len(_positions(rows[axes_row])) // 3, 1)
    return next((rows[i] for i in reversed(rows_above) if i < axes_row and sum(map(bool, rows[i])) >= minimum), [])


def _make_unique(name: str, markers: dict[str, dict[str, int]]) -> str:
    """Return the name, with a number if a marker already has it."""
    number = 2
    unique_name = name
    while unique_name in markers:
        unique_name, number = f"{name}#{number}", number + 1
    return unique_name


def _rate(rows: dict[int, list[str]], rows_above: list[int]) -> float | None:
    """Return the rate in the head: `Frame Rate,120`, `# fps: 120`, or the line below Vicon's Trajectories."""
    for index in rows_above:
        words = [word for cell in rows[index] for word in re.split(r"[:=]", cell)]
        for word, next_word in zip(words, [*words[1:], ""], strict=True):
            if _RATE.search(word.strip()) and (rate := parse_number(next_word)):
                return rate
        filled = [cell for cell in rows[index] if cell]
        if index > 0 and len(filled) == 1 and (rate := parse_number(filled[0])):
            return rate
    return None


def _head_without_titles(row: list[str], first: int, separator: str) -> TableHead | None:
    """Return the head of a table of numbers alone: three columns for each marker, after a count or a time if any."""
    extra = len(row) % 3
    if len(row) < 9 or extra > 1:
        return None
    markers = {
        f"marker_{number + 1}": {axis: extra + 3 * number + offset for offset, axis in enumerate("xyz")}
        for number in range(len(row) // 3)
    }
    titles = tuple(f"column {column + 1}" for column in range(len(row)))
    return TableHead(first, separator, ("index", *titles[1:]) if extra else titles, markers)
