"""Draws docs/pictures/architecture.svg from the imports: the rooms, each below those that it imports.

    python tools/architecture.py

A room is a top-level folder of the package. An import cycle stops the script, which then names the files that form it.
"""

import ast
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"
EXCLUDED = ("tests", "tools", "docs", "data", "build")
"""Folders that are not part of the extension."""
BLENDER = {"bpy", "bpy_extras", "mathutils", "gpu", "gpu_extras", "blf"}
WIDTH, BOX, GAP, HEIGHT, RISE = 760, 232, 16, 104, 46
STYLE = """
text { font-family: sans-serif; font-size: 12px; fill: #24292f }
.name { font-size: 16px; font-weight: bold }
.parts { fill: #57606a; font-size: 11px }
rect { fill: #f6f8fa; stroke: #57606a; stroke-width: 1.2 }
.blender rect { fill: #fff1e5; stroke: #bc4c00 }
path { fill: none; stroke: #57606a; stroke-width: 1.4; marker-end: url(#tip) }
.tip { fill: #57606a }
@media (prefers-color-scheme: dark) {
  .name, text { fill: #e6edf3 } .parts { fill: #9da7b1 }
  rect { fill: #161b22; stroke: #9da7b1 } .blender rect { fill: #3a2413; stroke: #f0883e }
  path { stroke: #9da7b1 } .tip { fill: #9da7b1 }
}
"""


@dataclass(frozen=True, slots=True)
class Room:
    """A top-level folder of the package."""

    name: str
    about: str
    """The first sentence of the folder's docstring."""
    parts: tuple[str, ...]
    """Folders inside the room."""
    uses_blender: bool
    imports: Mapping[str, tuple[str, ...]]
    """Imported room -> the place of the import, as path:line."""


def main() -> None:
    """Draw the rooms. Exits at an import cycle."""
    rooms = read_rooms(ROOT)
    PICTURE.write_text(drawing(rooms, rows_of(rooms)), encoding="utf-8")


def read_rooms(root: Path) -> dict[str, Room]:
    """Return all rooms of a checkout by name."""
    folders = sorted(init.parent for init in root.glob("*/__init__.py") if init.parent.name not in EXCLUDED)
    return {folder.name: read_room(root, folder, {other.name for other in folders}) for folder in folders}


def read_room(root: Path, folder: Path, names: set[str]) -> Room:
    """Read a room from its files."""
    imports: dict[str, list[str]] = {}
    uses_blender = False
    for path in sorted(folder.rglob("*.py")):
        for line, imported, inside in imports_of(path, root):
            uses_blender |= not inside and imported in BLENDER
            if inside and imported in names - {folder.name}:
                imports.setdefault(imported, []).append(f"{path.relative_to(root)}:{line}")
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    description = re.split(r"[.;](?:\s|$)", " ".join(docstring.split()))[0].replace("`", "")
    parts = tuple(sorted(init.parent.name for init in folder.glob("*/__init__.py")))
    return Room(folder.name, description, parts, uses_blender, {name: tuple(where) for name, where in imports.items()})


def imports_of(path: Path, root: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield line, top-level name, and whether the package itself is imported, for every import in a file."""
    here = path.relative_to(root).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0], False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, (node.module or "").partition(".")[0], False
        elif isinstance(node, ast.ImportFrom):
            base = [*here[: len(here) - node.level + 1], *filter(None, (node.module or "").split("."))]
            yield from ((node.lineno, name, True) for name in base[:1] or [alias.name for alias in node.names])


def rows_of(rooms: Mapping[str, Room]) -> list[list[str]]:
    """Arrange the rooms in rows, each below all that it imports. Exits at an import cycle."""
    rows: list[list[str]] = []
    remaining = dict(rooms)
    while remaining:
        row = [name for name, room in remaining.items() if not room.imports.keys() & remaining.keys()]
        if not row:
            sys.exit("the imports form a cycle:\n" + "\n".join(cycle(remaining)))
        rows.append(row)
        remaining = {name: room for name, room in remaining.items() if name not in row}
    return rows


def cycle(remaining: Mapping[str, Room]) -> Iterator[str]:
    """Describe an import cycle: where each room imports the next."""
    path = [next(iter(remaining))]
    while path[-1] not in path[:-1]:
        path.append(next(name for name in remaining[path[-1]].imports if name in remaining))
    path = path[path.index(path[-1]) :]
    for importer, imported in pairwise(path):
        yield f"  {importer} imports {imported} in {remaining[importer].imports[imported][0]}"


def reduced_arrows(rooms: Mapping[str, Room]) -> list[tuple[str, str]]:
    """Return pairs of a room and one that uses it, without arrows that follow from others (transitive reduction)."""

    def below(name: str) -> set[str]:
        return set(rooms[name].imports).union(*map(below, rooms[name].imports))

    return [
        (imported, name)
        for name, room in rooms.items()
        for imported in room.imports
        if not any(imported in below(other) for other in room.imports)
    ]


def drawing(rooms: Mapping[str, Room], rows: list[list[str]]) -> str:
    """Draw the rooms as SVG."""
    positions: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        left = (WIDTH - len(row) * BOX - (len(row) - 1) * GAP) / 2
        positions |= {name: (left + k * (BOX + GAP), number * (HEIGHT + RISE) + 1) for k, name in enumerate(row)}
    height = len(rows) * (HEIGHT + RISE) - RISE + 2
    marks = [arrow(positions[first], positions[second]) for first, second in reduced_arrows(rooms)]
    marks += [box(rooms[name], *position) for name, position in positions.items()]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f"<style>{STYLE}</style>"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path class="tip" d="M0 0L8 4L0 8z" style="stroke: none; marker-end: none"/></marker></defs>'
    )
    return "\n".join([head, *marks, "</svg>"]) + "\n"


def arrow(first: tuple[float, float], second: tuple[float, float]) -> str:
    """Return an arrow from the bottom of a box to the top of another."""
    x, y = first[0] + BOX / 2, first[1] + HEIGHT
    to_x, to_y = second[0] + BOX / 2, second[1]
    # An arrow over several rows passes beside the boxes of the rows between.
    aside = 0.0 if to_y - y <= RISE else (BOX / 2 + 2 * GAP if x == to_x else 0.0)
    middle = (y + to_y) / 2
    if aside:
        return f'<path d="M{x + 60} {y}C{x + aside + 60} {y + 40} {to_x + aside + 60} {to_y - 40} {to_x + 60} {to_y}"/>'
    return f'<path d="M{x} {y}C{x} {middle} {to_x} {middle} {to_x} {to_y}"/>'


def box(room: Room, x: float, y: float) -> str:
    """Return a room's box: name, description and folders."""
    lines = textwrap.wrap(room.about, 33, max_lines=3, placeholder=" …")
    words = [f'<text class="name" x="{x + 10}" y="{y + 22}">{escape(room.name)}/</text>']
    words += [f'<text x="{x + 10}" y="{y + 40 + 15 * k}">{escape(line)}</text>' for k, line in enumerate(lines)]
    parts = textwrap.shorten(", ".join(room.parts), 40, placeholder=" …")
    words.append(f'<text class="parts" x="{x + 10}" y="{y + HEIGHT - 10}">{escape(parts)}</text>')
    kind = "room blender" if room.uses_blender else "room"
    return f'<g class="{kind}"><rect x="{x}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="6"/>{"".join(words)}</g>'


if __name__ == "__main__":
    main()
