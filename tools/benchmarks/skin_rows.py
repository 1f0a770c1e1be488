"""Merge new rows into a table of a page, so that one method can be measured without the others."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from knuckle.tools.doc_sections import sections_of


def merged(page: Path, section: str, keys: int, order: list[str], measured: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield a table's rows in the order of their methods: the new rows, and those of other methods from the page.

    Args:
        page: the Markdown file.
        section: name of the page's section with the table, see doc_sections.
        keys: number of cells at the start of a row that identify it; the first is its method.
        order: names of the methods.
        measured: the new rows.
    """
    rows = {tuple(row[:keys]): row for row in _rows(page, section)} | {tuple(row[:keys]): row for row in measured}
    for method in order:
        yield from (row for row in rows.values() if row[0] == method)


def _rows(page: Path, section: str) -> list[list[str]]:
    lines = sections_of(page).get(section, "").splitlines()[2:]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
