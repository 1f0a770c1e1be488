"""Numbers in text tables, quickly: what TRC, Motive, Qualisys and plain tables share."""

import math
from array import array
from dataclasses import dataclass

import numpy as np

from ...errors import CaptureError
from ..marker_labels import shown
from ..markers import Floats

_BLANKS = {
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


def text_lines(data: bytes) -> list[str]:
    """The lines of a text file: UTF-8 or UTF-16 by its mark, else as Latin-1; CR, LF and CRLF alike."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        text = data.decode("utf-16", errors="replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def blank(line: str) -> bool:
    """True for a line that holds nothing but separators."""
    return not line.strip("\t ,;\0")


@dataclass(frozen=True, slots=True)
class Table:
    """Where the rows of numbers are in a file, and how they are divided."""

    source: str
    lines: list[str]
    first: int
    """Index of the first line that may hold numbers."""
    separator: str
    width: int
    """Columns in a full row."""
    need: str
    """What asks for that width, for the sentence: `21 markers`."""
    texts: frozenset[int] = frozenset()
    """Columns that are no numbers, such as a time code; NaN in the result."""
    may_be_short: bool = True
    """True where blank cells at the end of a row may be left out."""

    def numbers(self) -> tuple[Floats, tuple[str, ...]]:
        """((R, width) with NaN for blank cells, warnings).

        Trailing blank cells may be left out, but not more than half a row: what is made stays in proportion to the
        file. A last line that was cut off is left out. Raises CaptureError naming the line.
        """
        values = array("d")
        filled = [index for index in range(self.first, len(self.lines)) if not blank(self.lines[index])]
        warnings: tuple[str, ...] = ()
        for index in filled:
            # A file that ends without a line end may have been cut off in its last line.
            may_be_cut = index == len(self.lines) - 1 and index != filled[0]
            try:
                values.extend(self._row(index, self.may_be_short and not may_be_cut))
            except CaptureError:
                if not may_be_cut:
                    raise
                warnings = (f"the last line ({index + 1}) is cut off and was left out",)
        if filled and not any(len(self._parts(index)) >= self.width for index in filled):
            # Blanks may be left out here and there; where they are in all rows, the columns themselves are missing.
            raise self._wrong(filled[0], len(self._parts(filled[0])))
        table = np.frombuffer(values, np.float64) if values else np.empty(0)
        return table.reshape(-1, self.width), warnings

    def _row(self, index: int, may_be_short: bool) -> list[float]:
        cells = self._cells(index, may_be_short)
        try:
            return list(map(float, cells))
        except ValueError:
            return [self._number(cell, index, column) for column, cell in enumerate(cells)]

    def _cells(self, index: int, may_be_short: bool) -> list[str]:
        """The cells of a line, exactly `width` of them."""
        cells = self._parts(index)
        while len(cells) > self.width and blank(cells[-1]):
            cells.pop()
        short = self.width - len(cells)
        if short < 0 or 2 * short > self.width or short % 3 or (short and not may_be_short):
            raise self._wrong(index, len(cells))
        return cells + [""] * short

    def _parts(self, index: int) -> list[str]:
        """The cells of a line as they are; by words where that is how it has all of them."""
        cells = self.lines[index].split(self.separator)
        if len(cells) != self.width and self.separator == "\t":
            words = self.lines[index].split()
            return words if len(words) == self.width else cells
        return cells

    def _wrong(self, index: int, columns: int) -> CaptureError:
        return CaptureError(f"{self.source}, line {index + 1}: {columns} columns, {self.need} need {self.width}")

    def _number(self, cell: str, index: int, column: int) -> float:
        text = cell.strip(" \"'\0")
        if column in self.texts or text.lower() in _BLANKS:
            return math.nan
        try:
            return float(text)
        except ValueError:
            raise CaptureError(
                f"{self.source}, line {index + 1}, column {column + 1}: {shown(text)}, expected a number or a blank"
            ) from None


def number_in(text: str) -> float | None:
    """A finite number from a header's cell, or None."""
    try:
        value = float(text.strip(" \"'"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def count_notes(says: dict[str, tuple[float | None, int]]) -> tuple[str, ...]:
    """A warning for each thing of which the header names another count than the data holds."""
    return tuple(
        f"the header says {stated:g} {thing}, the data holds {found}"
        for thing, (stated, found) in says.items()
        if stated is not None and stated != found
    )
