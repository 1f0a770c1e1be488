"""The files of a solved take, which are written all or not at all."""

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import api
from .files import json_bytes, written_whole
from .pipeline.evidence.angle_curves import AngleCurves
from .pipeline.evidence.conditions import Outcome
from .pipeline.report_page.content import ReviewedTake
from .pipeline.report_page.page import page
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


@dataclass(frozen=True, slots=True, eq=False)
class TakeContent:
    """What the files of a take hold."""

    take: Take
    report: Mapping[str, Any]
    html: str = ""
    """The report page."""


def write_files(files: TakeFiles, content: TakeContent, before_replacing: Callable[[], None] = lambda: None) -> None:
    """Write the files of a take, all or none.

    before_replacing: called when all are written, before the first replaces an older file of its name.

    Raises FileError if one cannot be written.
    """
    with ExitStack() as stack:
        if files.joints is not None:
            write_arrays(stack.enter_context(written_whole(files.joints)), api.joints(content.take))
        if files.evidence is not None:
            write_arrays(stack.enter_context(written_whole(files.evidence)), content.take.evidence.arrays())
        if files.html is not None:
            stack.enter_context(written_whole(files.html)).write_text(content.html, encoding="utf-8")
        if files.report is not None:
            stack.enter_context(written_whole(files.report)).write_bytes(json_bytes(dict(content.report)))
        if files.blend is not None:
            from .rig import blend_file

            blend_file.write(stack.enter_context(written_whole(files.blend)), files.blend)
        before_replacing()


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as .npz, without pickles."""
    # In memory first: of a file that cannot be written, zipfile prints a traceback of its own (Python 3.11).
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


def page_of_open_take(armature: str, name: str, judged: Sequence[Outcome] = ()) -> str:
    """Return the page of the take that an armature of the open scene plays, with pictures."""
    from .rig.problem_pictures import problem_pictures
    from .rig.reviewed_file import take_in_scene

    playing, take = take_in_scene(armature, name)
    return page([take], problem_pictures(take, playing), judged)
