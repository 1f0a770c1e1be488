"""TRC, the text table of Motion Analysis and OpenSim.

Five header lines (path, names of fields, their values, labels, X1 Y1 Z1 ...), then one row per frame. Programs differ
in blank lines, in tabs between labels, and in the reliability of the header's counts, so the data decides. The up axis
is not stated: it is Y in files of OpenSim, Motive and Pose2Sim, Z in those of Motion Analysis.
"""

import math
from array import array
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...errors import CaptureError
from ..marker_labels import duplicate_warning, unique
from ..markers import Floats
from ..recording import Recording
from ..row_reader import MAX_FRAMES, OpenFile, RowReader
from .text_table import MAX_LINE_LENGTH, TextTable, count_warnings, is_blank, parse_number, text_lines

HEAD_BYTES = 1 << 22
"""Number of bytes read for the header: enough for some hundred thousand labels."""


def sniff(head: bytes) -> bool:
    """Return whether the file starts with PathFileType, or its header names DataRate and NumMarkers."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:2000].lower()
    return start.startswith(b"pathfiletype") or (b"datarate" in start and b"nummarkers" in start)


def read(data: bytes, source: str) -> Recording:
    """Read the markers of a TRC file. Raises CaptureError, naming the line."""
    lines = text_lines(data, source)
    head = _head(lines, source)
    numbers, notes = head.table(lines, head.first, 0).numbers()
    recording = head.recording(len(numbers), notes)
    return replace(recording, positions=head.positions(numbers), times=numbers[:, 1])


@dataclass(frozen=True, slots=True)
class _Head:
    """The contents of the header lines."""

    source: str
    labels: list[str]
    fields: dict[str, str]
    first: int
    """Index of the first row's line."""
    notes: tuple[str, ...]

    def table(self, lines: list[str], first: int, lines_before: int) -> TextTable:
        """Return the rows of numbers from a line on."""
        count = len(self.labels)
        return TextTable(self.source, lines, first, "\t", 2 + 3 * count, f"{count} markers", lines_before=lines_before)

    def positions(self, numbers: Floats) -> Floats:
        """Return positions (F, M, 3) of rows (F, 2 + 3 M)."""
        return numbers[:, 2:].reshape(len(numbers), len(self.labels), 3)

    def recording(self, frames: int, notes: tuple[str, ...]) -> Recording:
        """Return a recording without positions; `frames`: number of frames, which is compared with the header."""
        counts = count_warnings(
            {
                "frames": (parse_number(self.fields.get("numframes", "")), frames),
                "markers": (parse_number(self.fields.get("nummarkers", "")), len(self.labels)),
            }
        )
        return Recording(
            format="TRC",
            names=unique(self.labels),
            positions=np.empty((0, len(self.labels), 3)),
            rate=parse_number(self.fields.get("datarate", "")),
            unit_text=self.fields.get("units", ""),
            default_up="y",
            warnings=notes + counts + self.notes + duplicate_warning(self.labels),
        )


def _head(lines: list[str], source: str) -> _Head:
    """Read the header. Raises CaptureError, naming the line."""
    fields, next_line = _fields(lines, source)
    labels_line = next((row for row in range(next_line, len(lines)) if lines[row].lower().startswith("frame")), None)
    if labels_line is None:
        raise CaptureError(f"{source}: no line that starts with Frame#, expected the labels of the markers")
    first = _first_row(lines, labels_line + 1)
    labels, extra = _add_unnamed(_labels(lines[labels_line]), lines[first : first + 50])
    if not labels:
        raise CaptureError(
            f"{source}, line {labels_line + 1}: no labels after Frame# and Time, expected one per marker"
        )
    return _Head(source, labels, fields, first, extra)


def open_rows(open_file: OpenFile, source: str) -> "TrcRows | None":
    """Find the rows of a TRC file; None if it must be read as a whole because its lines end with CR alone.

    Raises CaptureError, naming the line.
    """
    with open_file() as file:
        start = file.read(HEAD_BYTES)
    if b"\n" not in start:
        return None
    # The head's last line may be cut off.
    lines = text_lines(start[: start.rindex(b"\n") + 1], source)
    if len(lines) != start.count(b"\n") + 1:
        return None
    head = _head(lines, source)
    with open_file() as file:
        rows_in_file = _find_rows(file, head)
    notes: tuple[str, ...] = ()
    rows = TrcRows(source, head.recording(0, ()), len(rows_in_file.starts), open_file, head, rows_in_file)
    if rows.frames > 1:
        # Parsing the last rows as the end of a file shows whether the last one is cut off.
        _, notes = rows.table(rows.frames - 2, rows.frames, at_file_end=True).numbers()
    frames = rows.frames - len(notes)
    return replace(rows, head=head.recording(frames, notes), frames=frames)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Where the R rows of numbers are in the file."""

    starts: NDArray[np.int64]
    """(R,) byte offset of each row."""
    numbers: NDArray[np.int32]
    """(R,) line number of each row, from 0."""
    end: int
    """Byte offset of the last row's end."""
    times: Floats
    """(R,) s"""


def _find_rows(file: BinaryIO, head: _Head) -> _Rows:
    """Find all rows. Raises CaptureError if there are too many, or one is too long."""
    starts, numbers, times, offset, row_end = array("q"), array("i"), array("d"), 0, 0
    for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_LENGTH + 1), b"")):
        if len(line) > MAX_LINE_LENGTH and not line.strip(b"\0"):
            break  # file systems leave zeros after a power failure
        if len(line) > MAX_LINE_LENGTH:
            raise CaptureError(f"{head.source}, line {number + 1}: {len(line)} characters, expected those of one frame")
        if number >= head.first and line.strip(b"\t ,;\0\r\n"):
            starts.append(offset)
            numbers.append(number)
            times.append(_time(line))
            row_end = offset + len(line)
        if starts and offset - row_end > MAX_LINE_LENGTH:
            raise CaptureError(
                f"{head.source}, line {number + 1}: {MAX_LINE_LENGTH >> 20} MiB without a frame, expected rows"
            )
        if len(starts) > MAX_FRAMES:
            raise CaptureError(f"{head.source}: has over {MAX_FRAMES} rows, expected a take of that many at most")
        offset += len(line)
    return _Rows(np.array(starts, np.int64), np.array(numbers, np.int32), offset, np.array(times))


def _time(line: bytes) -> float:
    """Return the number in a row's second cell; NaN if there is none."""
    cells = line.split(b"\t", 2)
    if len(cells) < 3:
        cells = line.split(None, 2)
    seconds = parse_number(cells[1].decode("latin-1")) if len(cells) > 1 else None
    return math.nan if seconds is None else seconds


@dataclass(frozen=True, eq=False)
class TrcRows(RowReader):
    """The rows of a TRC file."""

    open_file: OpenFile
    layout: _Head
    rows: _Rows

    def table(self, start: int, stop: int, *, at_file_end: bool = False) -> TextTable:
        """Return the table of some rows. at_file_end: whether they are the last ones, which may be truncated."""
        end = self.rows.end if stop >= len(self.rows.starts) else int(self.rows.starts[stop])
        first_byte = int(self.rows.starts[start])
        with self.open_file() as file:
            file.seek(first_byte)
            lines = text_lines(file.read(end - first_byte), self.source)
        return self.layout.table(lines if at_file_end else [*lines, ""], 0, int(self.rows.numbers[start]))

    def read(self, start: int, stop: int) -> Recording:
        """See RowReader."""
        if start >= stop:
            return self.head
        numbers, _ = self.table(start, stop).numbers()
        if len(numbers) != stop - start:
            raise CaptureError(f"{self.source}: the file was changed while it was read")
        return replace(self.head, positions=self.layout.positions(numbers))

    def times(self) -> Floats:
        """See RowReader."""
        return self.rows.times[: self.frames]


def _fields(lines: list[str], source: str) -> tuple[dict[str, str], int]:
    """Return the header's fields by name in lower case, and the index of the line after their values."""
    for index, line in enumerate(lines[:20]):
        if "datarate" in line.lower():
            values = lines[index + 1] if index + 1 < len(lines) else ""
            cells = [cell.strip() for cell in values.split("\t")]
            return dict(zip((name.strip().lower() for name in line.split("\t")), cells, strict=False)), index + 2
    raise CaptureError(f"{source}: no line with DataRate in the header, expected the names of its fields")


def _labels(line: str) -> list[str]:
    """Return the labels after Frame# and Time, in every third column; some programs write more or fewer tabs."""
    cells = [cell.strip() for cell in line.split("\t")][2:]
    while cells and not cells[-1]:
        cells.pop()
    labelled = [index for index, cell in enumerate(cells) if cell]
    if labelled and all(index % 3 == 0 for index in labelled):
        return [cell or f"marker_{index + 1}" for index, cell in enumerate(cells[::3])]
    return [cells[index] for index in labelled] or line.split()[2:]


def _first_row(lines: list[str], start: int) -> int:
    """Return the index of the first line from `start` on that starts with a number."""
    for index in range(start, len(lines)):
        cells = lines[index].split()
        if cells and parse_number(cells[0]) is not None:
            return index
        if cells and not is_blank(lines[index]) and not cells[0][0].isalpha():
            return index
    return len(lines)


def _add_unnamed(labels: list[str], rows: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the labels, followed by numbered ones for markers without a label, and warnings."""
    columns = max((len(row.rstrip("\t \0").split("\t")) for row in rows if not is_blank(row)), default=0)
    unnamed = (columns - 2) // 3 - len(labels)
    if unnamed <= 0 or (columns - 2) % 3:
        return labels, ()
    numbered = [f"marker_{len(labels) + index + 1}" for index in range(unnamed)]
    return labels + numbered, (f"{unnamed} markers have no label and were numbered",)
