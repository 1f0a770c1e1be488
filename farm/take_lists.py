"""Lists of takes: CSV with a header, or JSON, an array of objects.

Columns, or keys of an object: capture (required), name, performer, rig and recipe. Paths are relative to the list.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import RecipeError
from ..pipeline.recipe import read_json
from .names import check_name, name_of

COLUMNS = ("capture", "name", "performer", "rig", "recipe")
MAX_LIST_BYTES = 256 * 2**20
"""Maximum size of a CSV list in bytes."""
HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class ListedTake:
    """A take named in a list or found in a folder."""

    name: str
    capture: Path
    where: str
    """The list and its line, or the capture's path, for messages."""
    performer: str = ""
    """Name of a performer."""
    performer_file: Path | None = None
    """Measurements that `calibrate` has saved."""
    rig: str = ""
    """A path, or `default`; empty for the recipe's."""
    recipe: Path | None = None


def listed_takes(path: Path) -> tuple[ListedTake, ...] | None:
    """Return the takes of a list, or None if the file is not a list, such as a capture.

    Raises RecipeError for a list that cannot be read or has no takes, and for an entry that names no capture.
    """
    rows = _rows(path)
    if rows is None:
        return None
    takes = tuple(_take(row, f"{path}, {where}", path.parent) for where, row in rows)
    if not takes:
        raise RecipeError(f"{path}: a list without takes, expected at least one")
    return takes


def _rows(path: Path) -> Iterable[tuple[str, dict[str, str]]] | None:
    """Return the location and fields of each entry, or None if the file is not a list."""
    suffix = path.suffix.lower()
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")
    except OSError:
        return None  # treated as a capture, whose row reports that it cannot be read
    if suffix == ".csv" and _is_header(head):
        return _csv_rows(path)
    if suffix == ".json" and head.lstrip()[:1] == b"[" and b'"capture"' in head:
        return _json_rows(path)
    return None


def _is_header(head: bytes) -> bool:
    first = head.partition(b"\n")[0].decode("utf-8", "replace")
    return "capture" in [cell.strip().strip('"') for cell in first.split(",")]


def _csv_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    if path.stat().st_size > MAX_LIST_BYTES:
        raise RecipeError(f"{path}: larger than {MAX_LIST_BYTES >> 20} MiB, the most for a list")
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")), strict=True, skipinitialspace=True)
        heads = [head.strip() for head in reader.fieldnames or ()]
        if len({*heads}) < len(heads):
            raise RecipeError(f"{path}, line 1: two columns have the same name, expected some of {', '.join(COLUMNS)}")
        reader.fieldnames = heads
        for row in reader:
            where = f"line {reader.line_num}"
            if None in row or None in row.values():
                raise RecipeError(f"{path}, {where}: expected {len(heads)} cells, as many as the header has")
            yield where, row
    except (csv.Error, ValueError) as error:
        raise RecipeError(f"{path}: not a CSV list in UTF-8 ({error})") from error


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for number, row in enumerate(read_json(path), 1):
        where = f"entry {number}"
        if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
            raise RecipeError(f"{path}, {where}: expected an object with strings for some of {', '.join(COLUMNS)}")
        yield where, row


def _take(row: dict[str, str], where: str, folder: Path) -> ListedTake:
    unknown = [name for name in row if name not in COLUMNS]
    if unknown:
        raise RecipeError(f"{where}: '{unknown[0]}' is not known, expected {', '.join(COLUMNS)}")
    fields = {name: value.strip() for name, value in row.items()}
    if not fields.get("capture"):
        raise RecipeError(f"{where}: names no capture")
    capture, performer, rig = folder / fields["capture"], fields.get("performer", ""), fields.get("rig", "")
    is_file = performer.lower().endswith(".json")
    return ListedTake(
        check_name(fields["name"], where) if fields.get("name") else name_of(capture, capture.parent),
        capture,
        where,
        performer="" if is_file else performer,
        performer_file=folder / performer if is_file else None,
        rig=rig if rig in ("", "default") else str(folder / rig),
        recipe=folder / fields["recipe"] if fields.get("recipe") else None,
    )
