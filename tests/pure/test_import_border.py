"""Imports point one way, from the row of a room to rows above it: see ROWS."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    {"errors"},
    {"files"},
    {"hand"},
    {"capture", "solvers"},
    {"posing"},
    {"pipeline"},
    {"rig"},
    {"operators"},
    {"panels"},
    {"api"},
    {"take_files"},
    {"farm"},
    {"cli"},
    {"registration"},
    {"__init__"},
]
"""Every room, in the order of the data's path. Rooms of one row do not import each other."""
ROW_OF = {room: row for row, rooms in enumerate(ROWS) for room in rooms}
LAYERS = {
    "capture": [{"files", "network"}, {"protocols"}, {"devices"}],
    "hand": [{"mesh"}, {"calibration"}, {"labelling", "camera"}],
    "pipeline": [{"corrections", "evidence", "retarget"}, {"contacts"}, {"live", "report_page", "pieces"}],
    "rig": [{"mappings"}, {"detection"}, {"limits"}, {"keys"}, {"sources"}, {"posing"}],
}
"""The folders inside a room, in the order in which they may import each other."""
BESIDE = {"tests", "tools"}
FOLDERS = [folder for folder in ROOT.glob("[!.]*/") if folder.name not in BESIDE | {"build"}]
FILES = sorted(path for folder in [ROOT, *FOLDERS] for path in folder.glob("*.py" if folder == ROOT else "**/*.py"))


def imports(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The line and the parts of every relative import in a file, from the root."""
    here = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*here[: len(here) - node.level + 1], *(node.module or "").split(".")]
            inside = [part for part in base if part]
            for alias in node.names:
                yield node.lineno, [*inside, alias.name]


def test_every_room_has_a_row() -> None:
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES}
    assert rooms == set(ROW_OF)


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    against = [
        f"line {line}: {'.'.join(parts)}"
        for line, parts in imports(path)
        if parts[0] != room and ROW_OF[parts[0]] >= ROW_OF[room]
    ]
    assert against == []


@pytest.mark.parametrize("room", LAYERS)
def test_folders_of_a_room_import_one_way(room: str) -> None:
    layer_of = {folder: layer for layer, folders in enumerate(LAYERS[room]) for folder in folders}
    assert set(layer_of) == {path.parent.name for path in (ROOT / room).glob("*/__init__.py")}
    against = []
    for path in sorted((ROOT / room).glob("*/**/*.py")):
        folder = path.relative_to(ROOT).parts[1]
        against += [
            f"{path.relative_to(ROOT)}, line {line}: {'.'.join(parts)}"
            for line, parts in imports(path)
            if parts[0] == room and layer_of.get(parts[1], -1) >= layer_of[folder] and parts[1] != folder
        ]
    assert against == []


def test_every_package_is_installed() -> None:
    """What is not listed is missing from an installed Knuckle, and nowhere else."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {path.parent.relative_to(ROOT) for room in ROW_OF for path in (ROOT / room).rglob("__init__.py")}
    assert sorted(listed) == sorted(["knuckle", *(".".join(("knuckle", *folder.parts)) for folder in there)])


def test_heavy_modules_are_imported_only_where_they_are_needed() -> None:
    """Every start of the shell command and of Blender waits for what is imported: numpy, and nothing else of others."""
    devices = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "capture").rglob("*.py")]
    modules = ["cli.commands", *(".".join(path.parts).removesuffix(".__init__") for path in devices)]
    script = f"""
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
import numpy.random
before = set(sys.modules)
spec = spec_from_file_location("knuckle", {str(ROOT / "__init__.py")!r}, submodule_search_locations=[{str(ROOT)!r}])
sys.modules["knuckle"] = module_from_spec(spec)
for name in {modules!r}:
    import_module(f"knuckle.{{name}}")
print(*(set(sys.modules) - before))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = set(run.stdout.split())
    assert "knuckle.capture.devices.device_table" in imported
    rooms = {name.partition(".")[0] for name in imported}
    assert rooms - sys.stdlib_module_names <= {"knuckle", "numpy"}
    assert not imported & {"asyncio", "email", "http.client", "ssl", "urllib.request", "xml.sax"}
