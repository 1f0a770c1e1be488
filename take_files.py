"""The files of a solved take, which are written all or not at all."""

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import api
from .files import json_bytes, temporary_folder, written_whole
from .hand.generators import Progress, Steps, part_of
from .pipeline.evidence.angle_curves import AngleCurves
from .pipeline.evidence.conditions import Condition, Outcome, outcomes
from .pipeline.job import SolveJob
from .pipeline.pieces.joined_take import JoinedTake
from .pipeline.pieces.long_solve import LongSolve, open_if_long
from .pipeline.recipe import Recipe
from .pipeline.report_page.content import ReviewedTake
from .pipeline.report_page.page import NO_PICTURES, page
from .pipeline.take import Take

if TYPE_CHECKING:
    from .rig.blend_file import TakeInScene


@dataclass(frozen=True, slots=True)
class TakeFiles:
    """Where the files of a take go; those that are None are not written."""

    joints: Path | None = None
    """.npz"""
    evidence: Path | None = None
    """.npz"""
    html: Path | None = None
    report: Path | None = None
    """.json"""
    blend: Path | None = None
    """The file that is open in Blender's module, with the keyed take."""


class Content(Protocol):
    """Contents of a take's files."""

    @property
    def report(self) -> Mapping[str, Any]:
        """The report, JSON-ready."""
        ...

    @property
    def html(self) -> str:
        """The report page."""
        ...

    def write_joints(self, path: Path) -> None:
        """Write the joints as .npz."""
        ...

    def write_evidence(self, path: Path) -> None:
        """Write the evidence as .npz."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class TakeContent:
    """Contents of the files of a take that was solved at once; see Content."""

    take: Take
    report: Mapping[str, Any]
    html: str = ""

    def write_joints(self, path: Path) -> None:
        """See Content."""
        write_arrays(path, api.joints(self.take))

    def write_evidence(self, path: Path) -> None:
        """See Content."""
        write_arrays(path, self.take.evidence.arrays())


@dataclass(frozen=True, slots=True, eq=False)
class LongContent:
    """Contents of the files of a take that was solved in pieces; see Content."""

    joined: JoinedTake
    html: str = ""

    @property
    def report(self) -> Mapping[str, Any]:
        """See Content."""
        return self.joined.report

    def write_joints(self, path: Path) -> None:
        """See Content."""
        self.joined.write_joints(path)

    def write_evidence(self, path: Path) -> None:
        """See Content."""
        self.joined.write_evidence(path)


def write_files(files: TakeFiles, content: Content, before_replacing: Callable[[], None] = lambda: None) -> None:
    """Write the files of a take, all or none.

    before_replacing: called when all are written, before the first replaces an older file of its name.

    Raises FileError if one cannot be written.
    """
    with ExitStack() as stack:
        if files.joints is not None:
            content.write_joints(stack.enter_context(written_whole(files.joints)))
        if files.evidence is not None:
            content.write_evidence(stack.enter_context(written_whole(files.evidence)))
        if files.html is not None:
            stack.enter_context(written_whole(files.html)).write_text(content.html, encoding="utf-8")
        if files.report is not None:
            stack.enter_context(written_whole(files.report)).write_bytes(json_bytes(dict(content.report)))
        if files.blend is not None:
            from .rig import blend_file

            blend_file.write(stack.enter_context(written_whole(files.blend)), files.blend)
        before_replacing()


@dataclass(frozen=True, slots=True, eq=False)
class SolvedContent:
    """A take that was solved without Blender, at once or in pieces."""

    content: Content
    judged: tuple[Outcome, ...]
    """Outcome of each condition."""
    reviewed: ReviewedTake | None
    """Data for the report page, if one is written."""


@dataclass(frozen=True, slots=True)
class SolveChoices:
    """Choices for solving a take and checking its conditions."""

    name: str
    """Title of the report page."""
    processes: int = 1
    """Worker processes for a long take."""
    conditions: tuple[Condition, ...] = ()
    html: bool = False
    """Whether a report page is made."""
    joints: bool = True
    """Whether joints are written."""
    review: bool = False
    """Whether the data of the report page is returned; the evidence of a long take is then read into memory."""


def solve_to_files(recipe: Recipe, files: TakeFiles, choices: SolveChoices) -> Steps[SolvedContent]:
    """Solve a take and write its files, all but the .blend file, all or none; a long one in pieces.

    Raises KnuckleError.
    """
    beside = next(path for path in (files.joints, files.evidence, files.report, files.html) if path is not None)
    with ExitStack() as held:
        solved = yield from part_of(0.0, 0.95, "", solve_content(recipe, choices, beside, held))
        yield Progress(0.95, "Writing")
        write_files(files, solved.content)
    return solved


def solve_content(recipe: Recipe, choices: SolveChoices, beside: Path, held: ExitStack) -> Steps[SolvedContent]:
    """Solve a take; a long one in pieces, in a folder beside a path, which lasts until `held` ends.

    Raises KnuckleError.
    """
    capture = open_if_long(recipe)
    if capture is not None:
        folder = held.enter_context(temporary_folder(beside))
        long = LongSolve(recipe, capture, folder, choices.processes, joints=choices.joints)
        if (yield from long.steps()) and long.joined is not None:
            return _long_content(long.joined, choices)
    job = SolveJob(recipe, reader=api.reader(recipe))
    yield from job.steps()
    assert job.take is not None
    judged = outcomes(choices.conditions, job.take.evidence, job.take.problems)
    reviewed_take = reviewed(job.take, choices.name) if choices.review or choices.html else None
    return SolvedContent(
        TakeContent(job.take, job.take.report, _page(reviewed_take, choices, judged)), judged, reviewed_take
    )


def _long_content(joined: JoinedTake, choices: SolveChoices) -> SolvedContent:
    """Return a take that was solved in pieces. Its evidence is read only when needed."""
    if not (choices.review or choices.html or choices.conditions):
        return SolvedContent(LongContent(joined), (), None)
    evidence = joined.judged()
    judged = outcomes(choices.conditions, evidence, joined.problems)
    if not (choices.review or choices.html):
        return SolvedContent(LongContent(joined), judged, None)
    frames = (1.0, float(len(evidence.times)))
    reviewed_take = ReviewedTake(choices.name, joined.report, evidence, joined.curves(), frames)
    return SolvedContent(LongContent(joined, _page(reviewed_take, choices, judged)), judged, reviewed_take)


def _page(reviewed_take: ReviewedTake | None, choices: SolveChoices, judged: Sequence[Outcome]) -> str:
    return page([reviewed_take], outcomes=judged) if choices.html and reviewed_take is not None else ""


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as .npz, without pickles."""
    # In memory first: for a file that cannot be written, zipfile prints a traceback (Python 3.11).
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    path.write_bytes(content.getvalue())


def with_keying(report: dict[str, Any], written: "TakeInScene") -> dict[str, Any]:
    """Return a report with the time that keying took, the warnings about the rig, and the corrections on the take."""
    seconds = report["seconds"] | {"key": round(written.seconds, 4)}
    notes = [*report["warnings"], *written.notes]
    return report | {"seconds": seconds, "warnings": notes, "corrections": list(written.corrections)}


def reviewed(take: Take, name: str) -> ReviewedTake:
    """Return a take that is in no scene as a report page shows it: its frames are counted from 1."""
    angles = tuple(AngleCurves.of(hand.keyed) for hand in take.hands)
    return ReviewedTake(name, take.report, take.evidence, angles, (1.0, float(len(take.times))))


def page_of_open_take(armature: str, name: str, judged: Sequence[Outcome] = (), *, pictures: bool = True) -> str:
    """Return the page of the take that an armature of the open scene plays."""
    from .rig.problem_pictures import problem_pictures
    from .rig.reviewed_file import take_in_scene

    playing, take = take_in_scene(armature, name)
    return page([take], problem_pictures(take, playing) if pictures else NO_PICTURES, judged)
