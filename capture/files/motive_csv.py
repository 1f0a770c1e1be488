"""OptiTrack Motive CSV, format versions 1.x: a line of settings, header rows, and a row for each frame.

The header rows Type, Name, ID (from 1.24 also Parent), Rotation/Position and Frame/Time/X/Y/Z are recognised by their
cells, because some versions omit some of them. Rotations, rigid bodies, bones and errors are skipped. Y is up.
"""

import csv
from dataclasses import dataclass, field

from ...errors import CaptureError
from ..marker_labels import duplicate_warning, unique
from ..recording import Recording
from .text_table import TextTable, count_warnings, parse_number, text_lines

_MARKER_TYPES = {"marker", "rigid body marker", "bone marker", "skeleton marker", "asset marker"}
"""Column types of markers. Positions of type `marker` are measured, the others are computed from the solved body."""
_COLUMN_TYPES = _MARKER_TYPES | {"rigid body", "bone", "skeleton"}
_HEADER_LINES = 20
"""Number of lines in which the header rows are sought."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A marker and its columns."""

    label: str
    is_measured: bool
    axes: dict[str, int] = field(default_factory=dict)
    """Axis x, y or z -> column."""


def sniff(head: bytes) -> bool:
    """Return whether the first cell is `Format Version`."""
    return head.lstrip(b'\xef\xbb\xbf \t\r\n"')[:14].lower() == b"format version"


def read(data: bytes, source: str) -> Recording:
    """Read the markers of a Motive export. Raises CaptureError, naming the line."""
    lines = text_lines(data, source)
    rows = [_cells(line) for line in lines[:_HEADER_LINES]]
    titles_line = next((index for index, row in enumerate(rows) if row and row[0].lower() == "frame"), None)
    if titles_line is None:
        raise CaptureError(f"{source}: no line that starts with Frame, expected the titles of the columns")
    titles = [title.lower() for title in rows[titles_line]]
    markers = _markers(rows[:titles_line], titles)
    if not markers:
        raise CaptureError(f"{source}, line {titles_line + 1}: no columns of type Marker, expected exported markers")
    labels = [marker.label for marker in markers]
    text_columns = frozenset(column for column, title in enumerate(titles) if title == "timecode")
    table = TextTable(source, lines, titles_line + 1, ",", len(titles), f"{len(labels)} markers", text_columns)
    numbers, notes = table.numbers()
    time_column = next((column for column, title in enumerate(titles) if title.startswith("time (")), None)
    order = [marker.axes[axis] for marker in markers for axis in "xyz"]
    settings = _settings(rows[0])
    frames = parse_number(settings.get("total exported frames", ""))
    return Recording(
        format="Motive CSV",
        names=unique(labels),
        positions=numbers[:, order].reshape(len(numbers), len(labels), 3),
        times=numbers[:, time_column] if time_column is not None else None,
        rate=parse_number(settings.get("export frame rate", settings.get("capture frame rate", ""))),
        unit_text=settings.get("length units", ""),
        up="y",
        up_is_defined=True,
        warnings=notes + count_warnings({"frames": (frames, len(numbers))}) + duplicate_warning(labels),
    )


def _cells(line: str) -> list[str]:
    """Return the cells of a header line. Names with commas are quoted."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line]), [])]
    except csv.Error:
        return [cell.strip(' "') for cell in line.split(",")]


def _settings(row: list[str]) -> dict[str, str]:
    """Return the settings in the first line, by their names in lower case."""
    return {name.lower(): value for name, value in zip(row[::2], row[1::2], strict=False)}


def _markers(rows: list[list[str]], titles: list[str]) -> list[_Column]:
    """Return the markers that have X, Y and Z. If a label is both measured and computed, the measured one is kept."""
    types_line = next((index for index, row in enumerate(rows) if _COLUMN_TYPES & {cell.lower() for cell in row}), None)
    if types_line is None:
        return []
    types, further_rows = rows[types_line], rows[types_line + 1 :]
    names = _row(further_rows, {"name"}) or (further_rows[0] if further_rows else [])
    identities = _row(further_rows, {"id"})
    components = _row(further_rows, {"position"})
    markers: dict[tuple[str, str, str], _Column] = {}
    for column, title in enumerate(titles):
        column_type, component = _cell(types, column).lower(), _cell(components, column).lower()
        if column_type in _MARKER_TYPES and component == "position" and title in {"x", "y", "z"}:
            label = _cell(names, column) or f"marker_{len(markers) + 1}"
            key = (column_type, label, _cell(identities, column))
            markers.setdefault(key, _Column(label, column_type == "marker")).axes.setdefault(title, column)
    complete = [marker for marker in markers.values() if len(marker.axes) == 3]
    measured = {marker.label for marker in complete if marker.is_measured}
    return [marker for marker in complete if marker.is_measured or marker.label not in measured]


def _row(rows: list[list[str]], words: set[str]) -> list[str]:
    """Return the first row that contains one of the words; an empty one if there is none."""
    return next((row for row in rows if words & {cell.lower() for cell in row}), [])


def _cell(row: list[str], column: int) -> str:
    return row[column] if column < len(row) else ""
