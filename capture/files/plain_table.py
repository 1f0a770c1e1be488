"""A plain table of markers: `time,name.x,name.y,name.z,...` and its variants, as written by scripts, Vicon and pandas.

Metres and Z up unless the head or the sizes show otherwise. table_head.py finds the columns.
"""

import re

import numpy as np

from ...errors import CaptureError, MarkerMapError
from ...hand.finite_points import finite_points
from ...hand.marker_sets import suggest
from ..conventions import guess_hand_unit
from ..marker_labels import quoted, unique
from ..markers import Floats
from ..recording import Recording
from .table_head import VICON_SECTIONS, TableHead, cells, find_head
from .text_table import TextTable, is_blank, text_lines

_DECIMAL_COMMA = re.compile(r"[\s\"']*[+-]?\d*,\d+(?:[eE][+-]?\d+)?[\s\"']*")
_FINER_UNITS = (("ns", 1e-9, 1e6), ("µs", 1e-6, 1e3), ("ms", 1e-3, 1.9))
"""Units of time: name, s, and the smallest step between frames for which the unit is assumed."""
MAX_STEP = 2e8
"""Step between frames, in the file's unit, from which on the numbers are damaged."""
MIN_DEPTH, MIN_FLAT_MARKERS = 0.005, 8
"""Minimum ratio of the smallest to the largest extent of markers in a frame, which even a hand flat on a table exceeds;
and the minimum number of markers in a frame for this test."""
IN_PICTURE = (
    "landmarks in a picture are read from MediaPipe JSON, with 'width' and 'height' of the picture beside 'frames'"
)
"""Advice for tables of landmarks in a picture."""
MAX_LISTED = 4
"""Maximum number of columns that a note names."""


def sniff(head: bytes) -> bool:
    """Return whether the first line starts with `time` or a section of Vicon, or the head has columns of markers."""
    lines = text_lines(head, "")
    top = next((line for line in lines if not is_blank(line)), "").strip("\"' ,;\t").lower()
    if (top[:4] == "time" and not top[4:5].isalnum()) or top in VICON_SECTIONS:
        return True
    head_of_table = find_head(lines)
    return head_of_table is not None and bool(head_of_table.complete_markers)


def read(data: bytes, source: str) -> Recording:
    """Read the markers of a table. Raises CaptureError, naming the line or the missing column."""
    lines, start = _trajectories(text_lines(data, source))
    head = find_head(lines, start)
    if head is None:
        raise CaptureError(f"{source}: no columns of markers, expected a label with x, y and z for each")
    _check(head, source)
    lines = _decimal_points(lines, head)
    separator = head.separator
    if separator == " ":
        lines, separator = ["\t".join(line.split()) for line in lines], "\t"
    markers = head.complete_markers
    order = [axes[axis] for axes in markers.values() for axis in "xyz"]
    used = {*order, head.time_column}
    unused = frozenset(column for column in range(len(head.titles)) if column not in used)
    table = TextTable(source, lines, head.first, separator, len(head.titles), f"{len(markers)} markers", unused)
    numbers, notes = table.numbers()
    positions = _drop_zeros(np.ascontiguousarray(numbers[:, order]).reshape(len(numbers), len(markers), 3))
    _check_depth(positions, source)
    times, time_notes = _times(head, numbers)
    unit = head.unit or guess_hand_unit(positions, _largest_hand(tuple(markers)))
    return Recording(
        format="table",
        names=unique(markers),
        positions=positions,
        times=times,
        rate=head.rate,
        unit="m" if unit == "m" else head.unit,
        default_unit=unit,
        up="z",
        up_is_defined=True,
        warnings=notes + time_notes + _columns_note(head),
    )


def _trajectories(lines: list[str]) -> tuple[list[str], int]:
    """Return the lines up to the end of Vicon's section Trajectories, and the index at which it starts.

    Without this section, return all lines and 0.
    """
    titles = [index for index, line in enumerate(lines) if line.strip("\"' ,;\t\0").lower() in VICON_SECTIONS]
    start = next((i for i in titles if lines[i].strip("\"' ,;\t\0").lower() == VICON_SECTIONS[0]), None)
    if start is None:
        return lines, 0
    return lines[: next((index for index in titles if index > start), len(lines))], start


def _check(head: TableHead, source: str) -> None:
    """Raise CaptureError if a column occurs twice, or if no marker has all three axes."""
    location = f"{source}, line {(head.axes_row or 0) + 1}"
    if head.duplicate_title:
        raise CaptureError(f"{location}: the column {quoted(head.duplicate_title)} occurs twice, expected it once")
    for label, axes in () if head.complete_markers else head.markers.items():
        missing = quoted(f"{label}.{next(axis for axis in 'xyz' if axis not in axes)}")
        is_flat = not any("z" in marker_axes for marker_axes in head.markers.values())
        raise CaptureError(
            f"{location}: no column {missing}, expected x, y and z" + (f": {IN_PICTURE}" if is_flat else "")
        )


def _check_depth(positions: Floats, source: str) -> None:
    """Raise CaptureError if the points (F, M, 3) are flat in every frame, like landmarks in a picture."""
    visible = finite_points(positions)
    frames = np.where(visible[..., None], positions, np.nan)
    frames = frames[np.count_nonzero(visible, axis=1) >= MIN_FLAT_MARKERS]
    if not len(frames):
        return
    extents = np.nanmax(frames, axis=1) - np.nanmin(frames, axis=1)
    depth = np.median(extents / np.maximum(extents.max(axis=1, keepdims=True), 1e-12), axis=0)
    if depth.min() < MIN_DEPTH and np.sort(depth)[1] > MIN_DEPTH:
        axis = "xyz"[int(depth.argmin())]
        raise CaptureError(
            f"{source}: all markers of a frame have the same {axis}, expected positions in space: {IN_PICTURE}"
        )


def _decimal_points(lines: list[str], head: TableHead) -> list[str]:
    """Return the lines with decimal points instead of commas, if all cells with a comma are decimal numbers."""
    if head.separator == ",":
        return lines
    rows = [line for line in lines[head.first :] if "," in line]
    has_commas = bool(rows) and all(
        _DECIMAL_COMMA.fullmatch(cell) for cell in cells(rows[0], head.separator) if "," in cell
    )
    return [*lines[: head.first], *(line.replace(",", ".") for line in lines[head.first :])] if has_commas else lines


def _drop_zeros(positions: Floats) -> Floats:
    """Return positions (F, M, 3), NaN where a marker is at 0 0 0, unless it is there in all frames."""
    at_zero = (positions == 0).all(axis=-1)
    lost = at_zero & ~at_zero.all(axis=0)
    return np.where(lost[..., None], np.nan, positions)


def _largest_hand(labels: tuple[str, ...]) -> list[int]:
    """Return the columns of the markers of the hand with the most known labels; empty if there is none."""
    try:
        spots = max(suggest(labels).groups.values(), key=len)
    except MarkerMapError:
        return []
    return [labels.index(label) for label in spots]


def _times(head: TableHead, numbers: Floats) -> tuple[Floats | None, tuple[str, ...]]:
    """Return the times (F,) in s, None without a column of times; and a note if the unit was guessed from the steps."""
    if head.time_column is None:
        return None, ()
    times = numbers[:, head.time_column]
    if head.seconds is not None:
        return times * head.seconds, ()
    steps = np.diff(times[np.isfinite(times)])
    step = float(np.median(steps)) if len(steps) else 0.0
    # Captures have 5 to 500 frames per second; a larger step is in a smaller unit.
    for unit, seconds, minimum in _FINER_UNITS:
        if minimum <= step < MAX_STEP:
            note = f"no unit of time in the file: taken as {unit}, since frames are {step:g} apart"
            return times * seconds, (*_repetition_notes(times), note)
    return times, _repetition_notes(times)


def _repetition_notes(times: Floats) -> tuple[str, ...]:
    """Return a note if each of the times (F,) occurs several times: the rows are then not frames."""
    finite = times[np.isfinite(times)]
    distinct = len(np.unique(finite))
    if len(finite) < 2 * max(distinct, 1):
        return ()
    return (
        f"each time occurs {len(finite) / distinct:.0f} times, as if every finger had its own rows, expected a "
        "row for each frame with x, y and z of all markers",
    )


def _columns_note(head: TableHead) -> tuple[str, ...]:
    """Return a note about the columns that were read, unless the head is `time,name.x,name.y,...`."""
    is_plain = head.time_column == 0 and head.axes_row is not None and not head.ignored_titles
    if is_plain and all(title.lower().endswith((".x", ".y", ".z")) for title in head.titles[1:]):
        return ()
    columns = sorted(column for axes in head.complete_markers.values() for column in axes.values())
    clock = f"times from {quoted(head.titles[head.time_column])}" if head.time_column is not None else "no times"
    note = (
        f"{len(head.complete_markers)} markers from columns {columns[0] + 1} to {columns[-1] + 1}"
        if columns
        else "no markers"
    )
    titles = head.ignored_titles
    ignored = ", ".join(quoted(title) for title in titles[:MAX_LISTED]) + (" …" if len(titles) > MAX_LISTED else "")
    return (
        f"read {note} ({quoted(next(iter(head.complete_markers), ''))} is the first), {clock}"
        + (f"; left out {ignored}" if titles else ""),
    )
