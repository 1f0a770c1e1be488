"""Rows of tables, kept in build/skin as they are measured, so that a method can be measured without the others."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from skin_takes import ROOT

FOLDER = ROOT / "build" / "skin" / "rows"


def kept(table: str, keys: int, order: list[str], measured: Iterable[list[str]]) -> Iterator[list[str]]:
    """The rows of a table in the order of their methods: those measured now, and those kept of the others.

    keys: how many cells at the beginning of a row tell it from others; the first names its method.
    """
    path = FOLDER / f"{table}.json"
    for row in measured:
        rows = {tuple(other[:keys]): other for other in _read(path)} | {tuple(row[:keys]): row}
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(list(rows.values()), indent=1, ensure_ascii=False))
    for method in order:
        yield from (row for row in _read(path) if row[0] == method)


def _read(path: Path) -> list[list[str]]:
    if not path.is_file():
        return []
    rows: list[list[str]] = json.loads(path.read_text())
    return rows
