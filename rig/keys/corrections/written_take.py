"""Corrections of a take that has just been written, and their description in the report."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

from ....errors import KnuckleError
from ....files import exists
from ....pipeline.corrections.correction import Correction
from ....pipeline.corrections.correction_json import encode, to_list
from ....pipeline.recipe import Recipe
from ....pipeline.take import Take
from ..take_report import report_in
from .corrected_take import (
    CORRECTIONS_PROPERTY,
    SOLVED_WITH_PROPERTY,
    correct_take,
    corrections_of,
)
from .take_base import base_of, composed_of
from .take_clock import clock_of
from .waiting import waiting_of

if TYPE_CHECKING:
    from bpy.types import Action, Object, Scene


def correct_written(
    armatures: "Sequence[Object]", corrections: tuple[Correction, ...] | None, scene: "Scene", take: Take
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Apply corrections, or with None the take's own, to the take that armatures play; return them for the report, and
    notes.

    take: the written frames; if they are a part, the rest was not solved with the corrections. Failures become notes:
    the take is written, and the corrections are kept with it.
    """
    notes, waiting, whole = list[str](), dict[str, str](), take.recipe.into == "new"
    for armature in armatures:
        base = base_of(armature)
        try:
            own = corrections_of(armature) if corrections is None else corrections
            if own:
                notes += correct_take(armature, own, scene, unsolved=take.waiting if whole else None)
                waiting |= waiting_of(base)
            if whole and base is not None:
                base[SOLVED_WITH_PROPERTY] = encode(
                    tuple(correction for correction in own if correction.is_before_solving)
                )
        except KnuckleError as error:
            notes.append(f"the corrections wait: {error}")
    return corrections_report(armatures, scene, waiting), tuple(dict.fromkeys(notes))


def composed_actions(armatures: "Iterable[Object]") -> "list[Action]":
    """Return the corrected actions that armatures play."""
    return [composed for armature in armatures if (composed := composed_of(armature)) is not None]


def corrections_report(
    armatures: "Sequence[Object]", scene: "Scene", waiting: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the corrections of the take that armatures play as a report lists them, JSON-ready.

    Each has id, name, kind, hand, scene frames and state: on, muted, or why it waits.
    """
    listed: dict[str, dict[str, Any]] = {}
    for armature in armatures:
        base = base_of(armature)
        if base is None:
            continue
        clock, reasons = clock_of(base, scene), waiting_of(base) if waiting is None else waiting
        for correction in corrections_of(armature):
            first, last = clock.frames([correction.range.start, correction.range.end]).tolist()
            state = "muted" if correction.muted else reasons.get(correction.id, "on")
            listed[correction.id] = {
                "id": correction.id,
                "name": correction.name,
                "kind": correction.kind,
                "hand": correction.hand,
                "at": [round(first, 3), round(last, 3)],
                "state": state,
            }
    return list(listed.values())


def kept_corrections(armature: "Object | None", capture: str) -> list[dict[str, Any]] | None:
    """Return the corrections of the take that an armature plays, in the format of a recipe, to apply them to a new
    solve.

    None if it plays no take of this capture, or one that was never corrected. Raises RecipeError if they are damaged.
    """
    base = base_of(armature)
    report = None if base is None else report_in(base)
    if (
        base is None
        or base.get(CORRECTIONS_PROPERTY) is None
        or report is None
        or not _is_same_file(str(report.get("capture", "")), capture)
    ):
        return None
    return to_list(corrections_of(armature))


def left_corrections_note(armature: "Object", recipe: Recipe) -> str:
    """Return a sentence about corrections that a new take of an armature would lose; empty if there are none."""
    base = base_of(armature)
    if base is None or recipe.corrections is not None or recipe.into != "new" or not corrections_of(armature):
        return ""
    return (
        f"the corrections stay with the take '{base.name}', because this is another capture: save them there and load "
        "them here"
    )


def is_same_capture(action: "Action", other_action: "Action") -> bool:
    """Return whether two actions are takes of the same capture."""
    reports = report_in(action), report_in(other_action)
    captures = [str(report.get("capture", "")) for report in reports if report is not None]
    return len(captures) == 2 and _is_same_file(captures[0], captures[1])


def _is_same_file(path: str, other_path: str) -> bool:
    if path == other_path:
        return True
    first, second = (Path(bpy.path.abspath(either)) for either in (path, other_path))
    # A missing file was moved.
    return first.name == second.name and (first.resolve() == second.resolve() or not exists(first))
