"""Takes that are to be solved, from folders, globs, captures and lists, and the recipe of each."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..capture.formats import SUFFIXES
from ..capture.scene_files import SCENE_SUFFIXES
from ..errors import KnuckleError, RecipeError
from ..pipeline import recipe as recipes
from ..pipeline.performer import FORMAT as PERFORMER_FORMAT
from .names import check_name, name_of
from .output_folder import LOCK
from .take_lists import HEAD_BYTES, ListedTake, listed_takes

TEXT_SUFFIX = ".txt"
"""Suffix of captures that are read if named, but not searched for in folders, where notes have it too."""
CAPTURE_SUFFIXES = frozenset({*SUFFIXES, *SCENE_SUFFIXES} - {TEXT_SUFFIX})
MAX_TAKES = 2_000_000


@dataclass(frozen=True, slots=True)
class TakeOrder:
    """One take that is to be solved. A worker gets it as it is."""

    name: str
    """Also its folder in the output."""
    capture: str
    """An absolute path, as the workers see it."""
    size: int
    """Size of the capture in bytes, by which work is distributed."""
    recipe: dict[str, Any] = field(default_factory=dict)
    """A recipe as JSON, without the capture; other takes may share it. Empty if there is a problem."""
    performer: str = ""
    """Name of the performer, who is measured once for all takes; empty if the take measures itself."""
    performer_file: str = ""
    """Path of the performer's measurements; empty if there is none."""
    problem: str = ""
    """Why the take cannot be solved, in one sentence."""


def read_orders(sources: Iterable[str], recipe: Path | None, rig: str | None, out: Path) -> tuple[TakeOrder, ...]:
    """Return the takes of folders, globs, captures and lists.

    In folders, hidden files, those of this run and of others, the recipe, the rig and performers are no captures.

    Raises RecipeError for a source without captures, a recipe or list that cannot be understood, and for two takes or
    performers of one name.
    """
    reader = _RecipeReader(recipe, rig)
    named = {absolute(Path(path)) for path in (recipe, rig) if path is not None}
    search = _FileSearch(out, named)
    orders = []
    for source in sources:
        for listed in _takes_of(source, search):
            orders.append(_order(listed, reader))
            if len(orders) > MAX_TAKES:
                raise RecipeError(f"{source}: more than {MAX_TAKES} takes, expected several runs")
    _check_names(orders)
    return tuple(orders)


def _takes_of(source: str, search: "_FileSearch") -> Iterator[ListedTake]:
    if "\0" in source:
        raise RecipeError("a path with a zero byte, expected folders, globs, captures or lists")
    path = Path(source)
    if path.is_dir():
        yield from search.captures(path, path.rglob("*"), source)
    elif path.is_file() or not any(char in source for char in "*?["):
        listed = listed_takes(path)
        yield from listed if listed is not None else (ListedTake(name_of(path, path.parent), path, str(path)),)
    else:
        fixed = path.parts[: next(n for n, part in enumerate(path.parts) if any(char in part for char in "*?["))]
        root = Path(*fixed)
        yield from search.captures(root, root.glob(str(path.relative_to(root))), source)


class _FileSearch:
    """Finds captures among the files of folders."""

    def __init__(self, out: Path, named: set[Path]) -> None:
        self._out, self._named = absolute(out), named
        self._of_runs: dict[Path, bool] = {}

    def captures(self, root: Path, paths: Iterable[Path], source: str) -> Iterator[ListedTake]:
        """Yield the captures among paths below a root. Raises RecipeError if there are none."""
        try:
            found = sorted(path for path in paths if self._is_capture(root, path))
        except (OSError, ValueError) as error:
            raise RecipeError(f"{source}: cannot be searched ({error})") from error
        if not found:
            suffixes = " ".join(sorted(CAPTURE_SUFFIXES))
            raise RecipeError(f"{source}: no captures there, expected files that end in {suffixes}")
        for path in found:
            yield ListedTake(name_of(path, root), path, str(path))

    def _is_capture(self, root: Path, path: Path) -> bool:
        inside, whole = path.relative_to(root), absolute(path)
        if path.suffix.lower() not in CAPTURE_SUFFIXES or any(part.startswith(".") for part in inside.parts):
            return False
        if whole in self._named or whole.is_relative_to(self._out) or not path.is_file():
            return False
        folders = [root / parent for parent in inside.parents]
        return not any(map(self._is_of_run, folders)) and not _is_performer(path)

    def _is_of_run(self, folder: Path) -> bool:
        if folder not in self._of_runs:
            self._of_runs[folder] = (folder / LOCK).exists()
        return self._of_runs[folder]


def _is_performer(path: Path) -> bool:
    """Return whether a file holds a performer's measurements."""
    if path.suffix.lower() != ".json":
        return False
    try:
        with path.open("rb") as file:
            return PERFORMER_FORMAT.encode() in file.read(HEAD_BYTES)
    except OSError:
        return False  # its row reports why it cannot be read


class _RecipeReader:
    """Reads each recipe once; takes that differ in nothing else share it, be they a million."""

    def __init__(self, base: Path | None, rig: str | None) -> None:
        self._base, self._rig = base, rig
        self._known: dict[tuple[Path | None, str], dict[str, Any]] = {}
        if base is not None:
            self._read(base, "")

    def recipe_of(self, listed: ListedTake) -> dict[str, Any]:
        """Return the recipe of a take as JSON, without its capture. Raises KnuckleError."""
        key = (listed.recipe or self._base, listed.rig or self._rig or "")
        if key not in self._known:
            self._known[key] = self._read(*key)
        return self._known[key]

    def _read(self, path: Path | None, rig: str) -> dict[str, Any]:
        data = {} if path is None else recipes.read_json(path)
        # A recipe stored with a take names that take's capture: replace it.
        recipe = recipes.from_dict(data | {"capture": ""} if isinstance(data, dict) else data, str(path))
        rig = rig or recipe.rig
        recipe = replace(recipe, rig=rig if rig == "default" else str(absolute(Path(rig))))
        return {name: value for name, value in recipes.to_dict(recipe).items() if name != "capture"}


def _order(listed: ListedTake, reader: _RecipeReader) -> TakeOrder:
    capture = absolute(listed.capture)
    try:
        recipe = reader.recipe_of(listed)
        performer = listed.performer or ("" if recipe["performer"] is not None else str(recipe["subject"]))
        check_name(performer or "-", f"{listed.where}, performer")
    except KnuckleError as problem:
        return TakeOrder(listed.name, str(capture), 0, problem=str(problem))
    try:
        size = capture.stat().st_size
    except (OSError, ValueError):
        size = 0  # the worker reports why it cannot be read
    if listed.performer_file is not None:
        measured = str(absolute(listed.performer_file))
        return TakeOrder(listed.name, str(capture), size, recipe, performer_file=measured)
    return TakeOrder(listed.name, str(capture), size, recipe, performer)


def absolute(path: Path) -> Path:
    """Return an absolute path, independent of the folder in which workers start.

    Links are kept, since they may differ between machines.
    """
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def _check_names(orders: Sequence[TakeOrder]) -> None:
    """Raise RecipeError for two takes that would be written to one folder, also if their names differ in case alone."""
    known: dict[str, TakeOrder] = {}
    for order in orders:
        other = known.setdefault(order.name.casefold(), order)
        if other is not order:
            raise RecipeError(
                f"{other.capture} and {order.capture}: both would be written as '{order.name}', expected names that "
                "differ (a glob such as '*.c3d', or a list with the column 'name')"
            )
    performers: dict[str, str] = {}
    for order in orders:
        same = performers.setdefault(order.performer.casefold(), order.performer)
        if same != order.performer:
            raise RecipeError(
                f"performers '{same}' and '{order.performer}': expected names that differ in more than case"
            )
