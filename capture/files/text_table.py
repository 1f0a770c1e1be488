"""Fast parsing of numbers in text tables, shared by TRC, Motive, Qualisys, BVH and plain tables."""

import csv
import math
from array import array
from dataclasses import dataclass

import numpy as np

from ...errors import CaptureError
from ..marker_labels import quoted
from ..markers import Floats

_BLANK_WORDS = {
    "",
    "nan",
    "-nan",
    "+nan",
    "nan(ind)",
    "-nan(ind)",
    "1.#qnan",
    "-1.#ind",
    "1.#ind",
    "na",
    "n/a",
    "none",
    "null",
}

MAX_LINES = 4_000_000
"""Maximum number of lines, an hour at 1000 Hz: in memory they take several times their size."""
MAX_LINE_LENGTH = 1 << 24
"""Maximum number of characters in a line; a frame of 20 000 markers has half a million."""


def text_lines(data: bytes, source: str) -> list[str]:
    """Return the lines of a text file, which end with CR, LF or CRLF.

    The encoding is UTF-16 with a byte order mark, UTF-8, or else Latin-1. Zeros at the end, as file systems leave them
    after a power failure, are dropped. Raises CaptureError if there are too many lines, or one is too long.
    """
    if max(data.count(b"\n"), data.count(b"\r")) > MAX_LINES:
        raise CaptureError(f"{source}: has over {MAX_LINES} lines, expected a take of that many frames at most")
    data = data.rstrip(b"\0")
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        # The second byte of a line break is zero in one of the byte orders.
        text = (data + b"\0" * (len(data) % 2)).decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_LINE_LENGTH:
            raise CaptureError(f"{source}, line {number}: {len(line)} characters, expected those of one frame")
    return lines


def is_blank(line: str) -> bool:
    """Return whether a line contains nothing but separators."""
    return not line.strip("\t ,;\0")


def split_cells(line: str, separator: str) -> list[str]:
    """Return the cells of a line. A separator between quotes is part of its cell."""
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


@dataclass(frozen=True, slots=True)
class TextTable:
    """The rows of numbers in a text file."""

    source: str
    lines: list[str]
    first: int
    """Index of the first line that may contain numbers."""
    separator: str
    width: int
    """Columns in a full row."""
    required_by: str
    """What determines the width, for error messages: `21 markers`."""
    text_columns: frozenset[int] = frozenset()
    """Columns that are not numbers, such as a timecode; NaN in the result."""
    may_omit_cells: bool = True
    """Whether blank cells at the end of a row may be omitted."""
    lines_before: int = 0
    """Number of lines in the file that precede `lines`."""

    def numbers(self) -> tuple[Floats, tuple[str, ...]]:
        """Parse the rows. Raises CaptureError, naming the line.

        At most half of a row's cells may be omitted, which bounds the size of the result by that of the file. A
        truncated last line is skipped.

        Returns:
            Numbers (R, width), NaN for blank cells, and warnings.
        """
        values = array("d")
        data_lines = [index for index in range(self.first, len(self.lines)) if not is_blank(self.lines[index])]
        warnings: tuple[str, ...] = ()
        for index in data_lines:
            # A file without a line break at the end may have been truncated.
            may_be_truncated = index == len(self.lines) - 1 and index != data_lines[0]
            try:
                values.extend(self._row(index, self.may_omit_cells and not may_be_truncated))
            except CaptureError:
                if not may_be_truncated:
                    raise
                warnings = (f"the last line ({self._line(index)}) is truncated and was left out",)
        if data_lines and not any(len(self._split(index)) >= self.width for index in data_lines):
            # Some rows may omit blank cells; if all rows are too short, the columns themselves are missing.
            raise self._wrong_width(data_lines[0], len(self._split(data_lines[0])))
        table = np.frombuffer(values, np.float64) if values else np.empty(0)
        return table.reshape(-1, self.width), warnings

    def _row(self, index: int, may_omit_cells: bool) -> list[float]:
        cells = self._cells(index, may_omit_cells)
        try:
            return list(map(float, cells))
        except ValueError:
            return [self._number(cell, index, column) for column, cell in enumerate(cells)]

    def _cells(self, index: int, may_omit_cells: bool) -> list[str]:
        """Return the cells of a line, padded or trimmed to `width`."""
        cells = self._split(index)
        while len(cells) > self.width and is_blank(cells[-1]):
            cells.pop()
        missing = self.width - len(cells)
        if missing < 0 or 2 * missing > self.width or missing % 3 or (missing and not may_omit_cells):
            raise self._wrong_width(index, len(cells))
        return cells + [""] * missing

    def _split(self, index: int) -> list[str]:
        """Return the cells of a line, split at white space if only that gives the full width."""
        cells = split_cells(self.lines[index], self.separator)
        if len(cells) != self.width and '"' in self.lines[index]:
            cells = self.lines[index].split(self.separator)
        if len(cells) != self.width and self.separator == "\t":
            words = self.lines[index].split()
            return words if len(words) == self.width else cells
        return cells

    def _wrong_width(self, index: int, columns: int) -> CaptureError:
        need = f"{self.required_by} need {self.width}"
        return CaptureError(f"{self.source}, line {self._line(index)}: {columns} columns, {need}")

    def _line(self, index: int) -> int:
        """Return the number of a line in the file, from 1."""
        return self.lines_before + index + 1

    def _number(self, cell: str, index: int, column: int) -> float:
        text = cell.strip(" \"'\0")
        if column in self.text_columns or text.lower() in _BLANK_WORDS:
            return math.nan
        try:
            return float(text)
        except ValueError:
            location = f"{self.source}, line {self._line(index)}, column {column + 1}"
            raise CaptureError(f"{location}: {quoted(text)}, expected a number or a blank") from None


def parse_number(text: str) -> float | None:
    """Return the finite number in a header's cell, or None."""
    try:
        value = float(text.strip(" \"'"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def count_warnings(counts: dict[str, tuple[float | None, int]]) -> tuple[str, ...]:
    """Return a warning for each count on which header and data disagree.

    counts: what is counted -> number in the header, None if not stated; and number in the data.
    """
    return tuple(
        f"the header says {header_count:g} {things}, the data holds {actual}"
        for things, (header_count, actual) in counts.items()
        if header_count is not None and header_count != actual
    )
