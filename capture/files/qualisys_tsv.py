"""Qualisys Track Manager TSV: header lines of a key and values, then one row per frame; millimetres, Z up.

A marker that was not seen is 0 0 0 or blank. Whether there are columns Frame and Time and a row of titles depends on
the settings of the export.
"""

import numpy as np

from ...errors import CaptureError
from ..marker_labels import duplicate_warning, quoted, unique
from ..recording import Recording
from .text_table import TextTable, count_warnings, is_blank, parse_number, text_lines

_KEYS = ("NO_OF_FRAMES", "NO_OF_CAMERAS", "NO_OF_MARKERS", "MARKER_NAMES", "TRAJECTORY_TYPES", "DATA_INCLUDED")


def sniff(head: bytes) -> bool:
    """Return whether the file starts with a header key of a Qualisys export."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:40].upper()
    return first.startswith(tuple(key.encode() for key in _KEYS))


def read(data: bytes, source: str) -> Recording:
    """Read the markers of a TSV export. Raises CaptureError, naming the line."""
    lines = text_lines(data, source)
    header, first = _header(lines)
    if not header.get("MARKER_NAMES"):
        raise CaptureError(f"{source}: the header has no MARKER_NAMES, expected a name per marker")
    included = _value(header, "DATA_INCLUDED").upper()
    if included not in {"", "3D", "2D3D"}:
        raise CaptureError(f"{source}: the data included is {quoted(included)}, expected 3D markers")
    labels = [name.strip() or f"marker_{index + 1}" for index, name in enumerate(header["MARKER_NAMES"])]
    titles = [cell.strip() for cell in lines[first].split("\t")] if first < len(lines) else []
    leading = _lead_columns(titles, 3 * len(labels))
    first += bool(titles) and parse_number(titles[0]) is None
    width = leading + 3 * len(labels)
    table, notes = TextTable(source, lines, first, "\t", width, f"{len(labels)} markers").numbers()
    positions = table[:, leading:].reshape(len(table), len(labels), 3)
    missing = (positions == 0).all(axis=-1)
    counts = count_warnings(
        {
            "frames": (parse_number(_value(header, "NO_OF_FRAMES")), len(table)),
            "markers": (parse_number(_value(header, "NO_OF_MARKERS")), len(labels)),
        }
    )
    return Recording(
        format="Qualisys TSV",
        names=unique(labels),
        positions=np.where(missing[..., None], np.nan, positions),
        times=table[:, leading - 1] if leading == 2 else None,
        rate=parse_number(_value(header, "FREQUENCY")),
        unit="mm",
        up="z",
        up_is_defined=True,
        warnings=notes + counts + duplicate_warning(labels),
    )


def _header(lines: list[str]) -> tuple[dict[str, list[str]], int]:
    """Return the header's values by key, and the index of the first line after the header."""
    header: dict[str, list[str]] = {}
    for index, line in enumerate(lines):
        cells = line.split("\t")
        key = cells[0].strip().upper()
        if is_blank(line):
            continue
        if not key.isascii() or ("_" not in key and key not in {"FREQUENCY", "DESCRIPTION"}):
            return header, index
        while len(cells) > 1 and not cells[-1].strip():
            cells.pop()
        header[key] = cells[1:]
    return header, len(lines)


def _value(header: dict[str, list[str]], key: str) -> str:
    """Return the first value of a key, empty if there is none."""
    return next(iter(header.get(key, [])), "").strip()


def _lead_columns(titles: list[str], width: int) -> int:
    """Return the number of columns before the markers: 0, or 2 for Frame and Time."""
    while titles and not titles[-1]:
        titles.pop()
    if titles and parse_number(titles[0]) is None:
        return 2 if titles[0].lower() == "frame" and len(titles) > 1 and titles[1].lower() == "time" else 0
    return 2 if len(titles) == width + 2 else 0
