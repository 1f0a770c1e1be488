"""TRC, the text table of Motion Analysis and OpenSim.

Five header lines (path, names of fields, their values, labels, X1 Y1 Z1 ...), then one row per frame. Programs differ
in blank lines, in tabs between labels, and in the reliability of the header's counts, so the data decides. No field
says which axis is up: OpenSim, Motive and Pose2Sim write Y, Motion Analysis Z.
"""

from ...errors import CaptureError
from ..marker_labels import duplicate_warning, unique
from ..recording import Recording
from .text_table import Table, count_warnings, is_blank, parse_number, text_lines


def sniff(head: bytes) -> bool:
    """True if the file starts with PathFileType, or its header names DataRate and NumMarkers."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:2000].lower()
    return start.startswith(b"pathfiletype") or (b"datarate" in start and b"nummarkers" in start)


def read(data: bytes, source: str) -> Recording:
    """Read the markers of a TRC file. Raises CaptureError, naming the line."""
    lines = text_lines(data, source)
    fields, next_line = _fields(lines, source)
    labels_line = next((row for row in range(next_line, len(lines)) if lines[row].lower().startswith("frame")), None)
    if labels_line is None:
        raise CaptureError(f"{source}: no line that begins with Frame#, expected the labels of the markers")
    labels = _labels(lines[labels_line])
    first = _first_row(lines, labels_line + 1)
    labels, extra = _with_unnamed(labels, lines[first : first + 50])
    if not labels:
        raise CaptureError(
            f"{source}, line {labels_line + 1}: no labels after Frame# and Time, expected one per marker"
        )
    width = 2 + 3 * len(labels)
    numbers, notes = Table(source, lines, first, "\t", width, f"{len(labels)} markers").numbers()
    counts = count_warnings(
        {
            "frames": (parse_number(fields.get("numframes", "")), len(numbers)),
            "markers": (parse_number(fields.get("nummarkers", "")), len(labels)),
        }
    )
    return Recording(
        format="TRC",
        names=unique(labels),
        positions=numbers[:, 2:].reshape(len(numbers), len(labels), 3),
        times=numbers[:, 1],
        rate=parse_number(fields.get("datarate", "")),
        unit_text=fields.get("units", ""),
        default_up="y",
        warnings=notes + counts + extra + duplicate_warning(labels),
    )


def _fields(lines: list[str], source: str) -> tuple[dict[str, str], int]:
    """The header's fields by name in lower case, and the index of the line after their values."""
    for index, line in enumerate(lines[:20]):
        if "datarate" in line.lower():
            values = lines[index + 1] if index + 1 < len(lines) else ""
            cells = [cell.strip() for cell in values.split("\t")]
            return dict(zip((name.strip().lower() for name in line.split("\t")), cells, strict=False)), index + 2
    raise CaptureError(f"{source}: no line with DataRate in the header, expected the names of its fields")


def _labels(line: str) -> list[str]:
    """The labels after Frame# and Time, in every third column; some programs write other numbers of tabs."""
    cells = [cell.strip() for cell in line.split("\t")][2:]
    while cells and not cells[-1]:
        cells.pop()
    named = [index for index, cell in enumerate(cells) if cell]
    if named and all(index % 3 == 0 for index in named):
        return [cell or f"marker_{index + 1}" for index, cell in enumerate(cells[::3])]
    return [cells[index] for index in named] or line.split()[2:]


def _first_row(lines: list[str], start: int) -> int:
    """Index of the first line from `start` on that begins with a number."""
    for index in range(start, len(lines)):
        cells = lines[index].split()
        if cells and parse_number(cells[0]) is not None:
            return index
        if cells and not is_blank(lines[index]) and not cells[0][0].isalpha():
            return index
    return len(lines)


def _with_unnamed(labels: list[str], rows: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The labels, with numbered ones for further markers in the rows, and warnings."""
    columns = max((len(row.rstrip("\t \0").split("\t")) for row in rows if not is_blank(row)), default=0)
    unnamed = (columns - 2) // 3 - len(labels)
    if unnamed <= 0 or (columns - 2) % 3:
        return labels, ()
    numbered = [f"marker_{len(labels) + index + 1}" for index in range(unnamed)]
    return labels + numbered, (f"{unnamed} markers have no label and were numbered",)
