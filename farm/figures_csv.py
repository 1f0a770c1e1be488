"""The figures of all takes as CSV."""

import csv
import io
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from ..files import written_whole
from .take_rows import TakeRow

COLUMNS = tuple(each.name for each in fields(TakeRow) if each.name not in ("files", "heat"))
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of texts that spreadsheets take for formulas."""


def write_csv(path: Path, rows: Iterable[TakeRow]) -> None:
    """Write a line for each take, in the order given. Raises FileError."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(getattr(row, name)) for name in COLUMNS] for row in rows)
    with written_whole(path) as half:
        half.write_text(text.getvalue(), encoding="utf-8", errors="backslashreplace", newline="")


def _cell(value: object) -> object:
    """Return the text of a cell; a text that a spreadsheet would run as a formula is quoted."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
