"""OptiTrack Motive CSV, format versions 1.x: a line of settings, rows that describe the columns, a row a frame.

The rows Type, Name, ID (from 1.24 also Parent), Rotation/Position and Frame/Time/X/Y/Z are found by what they hold,
as versions leave some out. Rotations, rigid bodies, bones and errors are skipped. Y up.
"""

import csv
from dataclasses import dataclass

import numpy as np

from ..errors import CaptureError
from .conventions import unit_from
from .names import duplicates, shown, unique
from .tabular import Table, count_notes, number_in, text_lines
from .take import Take

_MARKERS = {"marker": 0, "rigid body marker": 1, "bone marker": 1, "skeleton marker": 1, "asset marker": 1}
"""Types of column that are markers; 0 measured, 1 where the solved body has it."""
_HEADER = 20
"""Lines in which the description of the columns is looked for."""


@dataclass(slots=True)
class _Column:
    label: str
    solved: int
    axes: dict[str, int]


def sniff(head: bytes) -> bool:
    """True if the first cell is `Format Version`."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n\"")[:14].lower() == b"format version"


def read(data: bytes, source: str) -> Take:
    """The markers of a Motive export. Raises CaptureError naming the line."""
    lines = text_lines(data)
    rows = [next(csv.reader([line[:10_000_000]], strict=False), []) for line in lines[:_HEADER]]
    settings = dict(zip((cell.strip().lower() for cell in rows[0][::2]), rows[0][1::2], strict=False))
    titles_at = next((index for index, row in enumerate(rows) if row and row[0].strip().lower() == "frame"), None)
    if titles_at is None:
        raise CaptureError(f"{source}: no line that begins with Frame, expected the titles of the columns")
    columns = _columns(rows, titles_at)
    if not columns:
        raise CaptureError(f"{source}, line {titles_at + 1}: no columns of the type Marker, expected markers exported")
    titles = [title.strip().lower() for title in rows[titles_at]]
    numbers, notes = _numbers(source, lines, titles_at, len(titles), titles)
    time_at = next((place for place, title in enumerate(titles) if title.startswith("time (")), None)
    labels = [column.label for column in columns]
    order = [column.axes[axis] for column in columns for axis in "xyz"]
    frames = number_in(settings.get("total exported frames", ""))
    return Take(
        format="Motive CSV",
        names=unique(labels),
        positions=np.ascontiguousarray(numbers[:, order]).reshape(len(numbers), len(columns), 3),
        times=numbers[:, time_at] if time_at is not None else None,
        rate=number_in(settings.get("export frame rate", settings.get("capture frame rate", ""))),
        unit=_unit(settings, source),
        up="y",
        up_is_sure=True,
        warnings=notes + count_notes({"frames": (frames, len(numbers))}) + duplicates(labels),
    )


def _numbers(source: str, lines: list[str], titles_at: int, width: int, titles: list[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    raise NotImplementedError
