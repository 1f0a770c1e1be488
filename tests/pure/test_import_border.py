"""Imports point one way: captures, cga, streams, hand ← solvers ← the path and its recipe ← rig ← operators, panels."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    {"errors", "files"},
    {"captures", "cga", "streams", "hand", "temporal"},
    {"recipe", "performer"},
    {"solvers"},
    {"report", "denoise", "labels", "assigning", "retarget", "onto_rig", "pipeline", "calibrate", "calibrate_choices"},
    {"live", "posing"},
    {"rig"},
    {"operators", "panels", "cli", "cli_options", "cli_output", "cli_streams"},
    {"registration"},
]
ROW_OF = {room: row for row, rooms in enumerate(ROWS) for room in rooms}
FILES = sorted(path for room in ROW_OF for path in [*(ROOT / room).rglob("*.py"), *ROOT.glob(f"{room}.py")])


def imported_rooms(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the top folder of every relative import in a file."""
    here = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*here[: len(here) - node.level + 1], *(node.module or "").split(".")]
            inside = [part for part in base if part]
            for room in inside[:1] or [alias.name for alias in node.names]:
                yield node.lineno, room


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_imports_point_one_way(path: Path) -> None:
    row = ROW_OF[path.relative_to(ROOT).parts[0].removesuffix(".py")]
    against = [f"line {line}: {room}" for line, room in imported_rooms(path) if ROW_OF.get(room, 0) > row]
    assert against == []


def test_every_package_is_installed() -> None:
    """What is not listed is missing from an installed Knuckle, and nowhere else."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {path.parent.relative_to(ROOT) for room in ROW_OF for path in (ROOT / room).rglob("__init__.py")}
    assert sorted(listed) == sorted(["knuckle", *(".".join(("knuckle", *folder.parts)) for folder in there)])


def test_what_few_need_is_imported_where_it_is_needed() -> None:
    """Every start of the shell command and of Blender waits for what is imported: numpy, and nothing else of others."""
    modules = ["cli", *(f"streams.{path.stem}" for path in (ROOT / "streams").glob("*.py"))]
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
