"""The tasks of workers: solve a bundle of takes, and measure a performer. Blender is started once, when it is needed.

A bundle may be started twice, because another worker takes over the bundle of one that dies. Finished takes have a
record and are not solved again.
"""

import atexit
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from .. import api
from ..errors import KnuckleError
from ..files import FileError, delete_temporary, make_folder, write_json, written_whole
from ..hand.generators import run_to_end
from ..pipeline import performer as performers
from ..pipeline import recipe as recipes
from ..pipeline.calibration import CalibrationJob
from ..pipeline.calibration_choices import CalibrationChoices
from ..pipeline.recipe import Recipe
from ..pipeline.report_page.page import page
from ..pipeline.versions import knuckle_version
from ..take_files import (
    SolveChoices,
    SolvedContent,
    TakeContent,
    TakeFiles,
    page_of_open_take,
    reviewed,
    solve_content,
    with_keying,
    write_files,
)
from .output_folder import is_of_run
from .take_key import take_key
from .take_orders import TakeOrder
from .take_rows import RECORD, State, TakeRecord, TakeRow, read_record, row_of

TAKES, PERFORMERS = "takes", "performers"
"""Folders in the output."""
PERFORMER_FILE = "performer.json"
TRACEBACK_FILE = "error.txt"
"""File in a take's folder with the traceback of a bug."""
FILE_NAMES = {
    "joints": "joints.npz",
    "evidence": "evidence.npz",
    "html": "report.html",
    "report": "report.json",
    "blend": "take.blend",
}
"""Output -> its file in a take's folder."""


@dataclass(frozen=True, slots=True)
class FarmSettings:
    """Settings of all takes in a run."""

    out: str
    """The output's folder, an absolute path."""
    outputs: tuple[str, ...]
    """Some of FILE_NAMES."""
    pictures: bool
    """Whether report pages get pictures of the worst frames; they need the .blend file."""
    version: str
    """Knuckle's, of the command."""
    run: str = ""
    """Unique id of the run."""

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of the files that each take gets."""
        return tuple(FILE_NAMES[output] for output in self.outputs)

    def folder(self, order: TakeOrder) -> Path:
        """Return the folder of a take's files."""
        return Path(self.out, TAKES, *order.name.split("/"))

    def performer_folder(self, performer: str) -> Path:
        """Return the folder of a performer's measurements."""
        return Path(self.out, PERFORMERS, *performer.split("/"))


class WorkerError(KnuckleError):
    """Raised by a worker that cannot work for this command."""


def solve_bundle(orders: tuple[TakeOrder, ...], settings: FarmSettings) -> tuple[TakeRow, ...]:
    """Solve takes one after another and return their rows. Raises WorkerError if this is another Knuckle."""
    _check_version(settings)
    return tuple(_solve(order, settings) for order in orders)


def measure_performer(order: TakeOrder, settings: FarmSettings) -> str:
    """Measure the performer of a take; return why that is not possible, empty if the measurements are written.

    They are kept, as those of takes are. Raises WorkerError if this is another Knuckle.
    """
    _check_version(settings)
    folder = settings.performer_folder(order.performer)
    try:
        recipe = _recipe(order)
        key = take_key([order.capture], order.recipe, ["performer", settings.version])
        known = read_record(folder)
        if known is not None and known.key == key and known.whole(folder) == known.sizes:
            return ""
        job = CalibrationJob(recipe, CalibrationChoices(), api.reader(recipe))
        for _ in job.steps():
            pass
        assert job.performer is not None
        row = TakeRow(order.performer, order.capture, "solved", files=(PERFORMER_FILE,))
        with _recorded(folder, key, settings.run) as record:
            _expect_run(settings)
            (folder / RECORD).unlink(missing_ok=True)
            write_json(folder / PERFORMER_FILE, performers.to_dict(job.performer))
            record.append(row)
    except KnuckleError as problem:
        return str(problem)
    except Exception as bug:
        _keep_traceback(folder)
        return f"an error of Knuckle, {type(bug).__name__}: {bug}; see {folder / TRACEBACK_FILE}"
    return ""


def _check_version(settings: FarmSettings) -> None:
    if knuckle_version() != settings.version:
        raise WorkerError(
            f"a worker has Knuckle {knuckle_version()}, expected {settings.version} as this command: install the same "
            "version there"
        )


def _expect_run(settings: FarmSettings) -> None:
    """Raise FileError if another run holds the output: then its workers write these files."""
    if not is_of_run(Path(settings.out), settings.run):
        raise FileError(f"{settings.out}: belongs to another run now")


def _solve(order: TakeOrder, settings: FarmSettings) -> TakeRow:
    """Solve a take unless it is already solved; its row reports any error."""
    folder, failed = settings.folder(order), TakeRow(order.name, order.capture, "failed")
    if order.problem:
        return replace(failed, problem=order.problem)
    try:
        rig = str(order.recipe["rig"])
        inputs = [order.capture, order.performer_file, "" if rig == "default" else rig]
        key = take_key(inputs, order.recipe, [settings.version, str(settings.pictures)])
        known = read_record(folder)
        if known is not None and known.key == key and {*settings.file_names} <= {*known.whole(folder)}:
            # Another worker may have solved it in this run, and died before it reported.
            state: State = "solved" if known.run == settings.run else "unchanged"
            return replace(known.row, name=order.name, capture=order.capture, state=state)
        return _solve_again(order, settings, key, known)
    except KnuckleError as problem:
        return replace(failed, problem=str(problem))
    except MemoryError:
        return replace(failed, problem="not enough memory in its worker, expected a smaller capture")
    except Exception as bug:
        # No error in one take stops the run; the traceback is kept for a report.
        _keep_traceback(folder)
        return replace(failed, problem=f"an error of Knuckle, {type(bug).__name__}: {bug}; see {TRACEBACK_FILE}")


def _solve_again(order: TakeOrder, settings: FarmSettings, key: str, known: TakeRecord | None) -> TakeRow:
    """Solve a take and write its files; known: the record of the existing files."""
    started, recipe = time.perf_counter(), _recipe(order)
    if order.performer_file:
        recipe = replace(recipe, performer=recipes.read_json(order.performer_file))
    with ExitStack() as held:
        solved = _solved(recipe, settings, order.name, held)
        return _write_solved(order, settings, solved, key=key, known=known, started=started)


def _write_solved(
    order: TakeOrder,
    settings: FarmSettings,
    solved: SolvedContent,
    *,
    key: str,
    known: TakeRecord | None,
    started: float,
) -> TakeRow:
    """Write the files of a solved take; key: of its inputs; known: see _solve_again; started: s, by perf_counter."""
    folder = settings.folder(order)
    assert solved.reviewed is not None
    row = row_of(solved.reviewed, order.capture, order.performer or Path(order.performer_file).stem)
    # Keep files that were written earlier from the same inputs; files of other inputs would be taken for this take's.
    same = known.whole(folder) if known is not None and known.key == key else {}
    others = [name for name in FILE_NAMES.values() if name not in {*settings.file_names, *same}]

    def forget() -> None:
        _expect_run(settings)
        for name in (RECORD, *others, TRACEBACK_FILE):
            (folder / name).unlink(missing_ok=True)

    files = TakeFiles(**{output: folder / FILE_NAMES[output] for output in settings.outputs})
    with _recorded(folder, key, settings.run) as record:
        write_files(files, solved.content, forget)
        names = tuple(name for name in FILE_NAMES.values() if name in settings.file_names or name in same)
        row = replace(row, files=names, seconds=round(time.perf_counter() - started, 3))
        record.append(row)
    return row


def kept_row(order: TakeOrder, settings: FarmSettings) -> TakeRow | None:
    """Return the row in the record of a take that was not reached in this run; None without a record."""
    known = read_record(settings.folder(order))
    if known is None:
        return None
    return replace(known.row, state="solved" if known.run == settings.run else "unchanged")


def _recipe(order: TakeOrder) -> Recipe:
    return recipes.from_dict(order.recipe | {"capture": order.capture}, order.name)


@contextmanager
def _recorded(folder: Path, key: str, run: str) -> Iterator[list[TakeRow]]:
    """Make a folder for files that are written in this block; then write the record of the row that it appends.

    The old record is removed before the first file is replaced, since files without a record are written again.

    Raises FileError if something cannot be written.
    """
    make_folder(folder)
    delete_temporary(folder)
    rows: list[TakeRow] = []
    try:
        with written_whole(folder / RECORD) as half:
            yield rows
            (row,) = rows
            sizes = {name: (folder / name).stat().st_size for name in row.files}
            half.write_bytes(TakeRecord(key, run, row, sizes).as_line())
    except OSError as error:
        raise FileError(f"{folder}: cannot be written ({error.strerror})") from error


def _solved(recipe: Recipe, settings: FarmSettings, name: str, held: ExitStack) -> SolvedContent:
    """Solve a take, with a .blend file also key it in Blender's module; files on the disk exist as long as `held` is
    open."""
    html = "html" in settings.outputs
    if "blend" not in settings.outputs and recipe.rig == "default":
        choices = SolveChoices(name, html=html, joints="joints" in settings.outputs, review=True)
        solved = run_to_end(solve_content(recipe, choices, Path(settings.out, name.rpartition("/")[2]), held))
        _end_without_blender()
        return solved
    take = api.solve(recipe)
    shown = reviewed(take, name)
    _end_without_blender()
    if "blend" not in settings.outputs:
        return SolvedContent(TakeContent(take, take.report, page([shown]) if html else ""), (), shown)
    api.expect_blender()
    _end_without_blender()
    from ..rig import blend_file

    written = blend_file.new_scene_with_take(take, recipe.rig, blend_file.RigChoice.of(recipe))
    report = with_keying(take.report, written)
    if not html:
        return SolvedContent(TakeContent(take, report), (), shown)
    made = page_of_open_take(written.armatures[0], name, pictures=settings.pictures)
    return SolvedContent(TakeContent(take, report, made), (), shown)


def _end_without_blender() -> None:
    """Let a worker that has started Blender's module end at once.

    dask runs tasks in a thread. Blender is started there, and crashes if another thread ends it.
    """
    if "bpy" in sys.modules and threading.current_thread() is not threading.main_thread():
        atexit.unregister(_end_at_once)
        atexit.register(_end_at_once)


def _end_at_once() -> None:
    os._exit(0)


def _keep_traceback(folder: Path) -> None:
    try:
        make_folder(folder)
        with written_whole(folder / TRACEBACK_FILE) as half:
            half.write_text(traceback.format_exc(), encoding="utf-8", errors="backslashreplace")
    except KnuckleError:
        return  # the row reports the error in any case


def settings_of(out: Path, outputs: tuple[str, ...], *, pictures: bool) -> FarmSettings:
    """Return the settings of a run of this Knuckle."""
    return FarmSettings(str(out), outputs, pictures, knuckle_version(), uuid4().hex)
