"""A plain table: `time,name.x,name.y,name.z,...` in seconds and metres, Z up. Commas, semicolons or tabs."""

import numpy as np

from ...errors import CaptureError
from ..marker_labels import quoted, unique
from ..recording import Recording
from .text_table import Table, is_blank, text_lines

_AXES = ("x", "y", "z")


def sniff(head: bytes) -> bool:
    """True if the first line that is not blank starts with `time`."""
    lines = [line for line in text_lines(head, "") if not is_blank(line)]
    return bool(lines) and lines[0].strip("\"' ")[:4].lower() == "time" and not lines[0][4:5].isalnum()


def read(data: bytes, source: str) -> Recording:
    """Read the markers of a table. Raises CaptureError, naming the line or the missing column."""
    lines = text_lines(data, source)
    top = next(index for index, line in enumerate(lines) if not is_blank(line))
    separator = max(",;\t", key=lines[top].count)
    titles = [title.strip(" \"'") for title in lines[top].split(separator)]
    while titles and not titles[-1]:
        titles.pop()
    columns: dict[str, dict[str, int]] = {}
    for column, title in enumerate(titles[1:], start=1):
        name, _, axis = title.rpartition(".")
        if not name or axis.lower() not in _AXES:
            raise CaptureError(
                f"{source}, line {top + 1}, column {column + 1}: {quoted(title)}, expected a label with .x, .y or .z"
            )
        if axis.lower() in columns.setdefault(name, {}):
            raise CaptureError(f"{source}, line {top + 1}: the column {quoted(title)} occurs twice, expected it once")
        columns[name][axis.lower()] = column
    for name, axes in columns.items():
        if len(axes) < 3:
            missing = next(axis for axis in _AXES if axis not in axes)
            title = quoted(f"{name}.{missing}")
            raise CaptureError(f"{source}, line {top + 1}: no column {title}, expected x, y and z")
    numbers, notes = Table(source, lines, top + 1, separator, len(titles), f"{len(columns)} markers").numbers()
    order = [axes[axis] for axes in columns.values() for axis in _AXES]
    return Recording(
        format="table",
        names=unique(columns),
        positions=np.ascontiguousarray(numbers[:, order]).reshape(len(numbers), len(columns), 3),
        times=numbers[:, 0],
        unit="m",
        up="z",
        up_is_defined=True,
        warnings=notes,
    )
