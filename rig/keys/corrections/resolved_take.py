"""Corrections that take effect in the solve: a take's keys in their ranges are replaced by those of a new solve."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....capture.cleaning import runs
from ....errors import KnuckleError, RigError
from ....pipeline.corrections.correction import Correction
from ....pipeline.corrections.correction_json import effect_of, encode, to_list
from ....pipeline.recipe import Recipe, from_dict
from ....pipeline.take import Take
from ..frame_times import LAST_FRAME
from ..predicted_keys import mark_predicted
from ..spliced_keys import Blend, splice_keys
from ..take_report import REVIEW_PROPERTIES, report_in, store_report
from ..take_scene import bound_hands, own_hands
from .corrected_take import (
    SOLVED_WITH_PROPERTY,
    check_correctable,
    correct_take,
    decoded,
    hands_of_take,
)
from .single_user_take import make_take_single_user
from .solved_keys import keep_edits, remember_keys
from .solved_rest import has_other_rest
from .take_base import composed_of, playing_base
from .take_clock import clock_of
from .written_take import corrections_report

if TYPE_CHECKING:
    from bpy.types import Action, Object, Scene

Floats = NDArray[np.float64]
FRAME_TOLERANCE = 1e-4
"""Maximum distance of a frame from the whole frame that it counts as."""


def solved_with(base: "Action") -> tuple[Correction, ...]:
    """Return the corrections with which a take was solved; empty if its record is missing or unreadable."""
    text = base.get(SOLVED_WITH_PROPERTY)
    try:
        return decoded(text, "solve") if isinstance(text, str) else ()
    except KnuckleError:
        return ()


def is_unsolved(base: "Action", corrections: Sequence[Correction]) -> bool:
    """Return whether a take was solved with corrections other than these, so that ranges of it must be solved again."""
    return _effects(solved_with(base)) != _effects(corrections)


def solved_as_they_are(base: "Action", corrections: Sequence[Correction]) -> list[Correction]:
    """Return those corrections with which a take was solved and that have not changed since."""
    known = _effects(solved_with(base))
    return [correction for correction in corrections if not correction.muted and effect_of(correction) in known]


def _effects(corrections: Sequence[Correction]) -> list[dict[str, Any]]:
    """Return the effects of the corrections that take effect in the solve, without their names."""
    return [
        effect_of(correction) for correction in corrections if correction.is_before_solving and not correction.muted
    ]


def recipe_of_take(base: "Action", corrections: tuple[Correction, ...]) -> Recipe:
    """Return the recipe with which a take was solved, with these corrections. Raises KnuckleError if it has none."""
    report = report_in(base)
    if report is None or "recipe" not in report:
        raise RigError(f"the take '{base.name}' has no recipe to solve it again: solve the capture again")
    recipe = from_dict(report["recipe"], f"recipe of the take '{base.name}'")
    # The recipe's transform already places the capture.
    return replace(recipe, corrections=to_list(corrections), into="new", reduce=False, align="off", align_points=None)


def is_on_rig(base: "Action") -> bool:
    """Return whether a take was solved for a rig, rather than for hands built for the take."""
    hands = (report_in(base) or {}).get("hands", {})
    return any("rig" in hand for hand in hands.values())


def write_ranges(
    take: Take, armatures: "Sequence[Object]", corrections: tuple[Correction, ...], scene: "Scene"
) -> tuple[str, ...]:
    """Replace the keys of the take that armatures play in the ranges of corrections by those of a new solve.

    These are the ranges of the corrections of the old solve and of the new one, which are stored with the take. Return
    notes. Raises KnuckleError before anything has changed.
    """
    bases, notes = [check_correctable(armature) for armature in armatures], list[str]()
    for armature, base in zip(armatures, bases, strict=True):
        # If the take cannot be composed, this raises before any key is replaced.
        hands_of_take(armature, base)
        if has_other_rest(base, armature):
            raise RigError(
                f"armature '{armature.name}' does not have the rest pose that it had when the take '{base.name}' was "
                "solved: solve the capture again, which keeps the corrections"
            )
    of_rig = any(hand.retargeted is not None for hand in take.hands)
    hands = dict(bound_hands(tuple(armatures), take) if of_rig else own_hands(armatures, take))
    for armature in armatures:
        make_take_single_user(armature)
        base = check_correctable(armature)
        frames = clock_of(base, scene).frames(take.times)
        frames = np.where(np.abs(frames - np.round(frames)) < FRAME_TOLERANCE, np.round(frames), frames)
        if np.abs(frames).max() > LAST_FRAME:
            raise RigError(f"the take '{base.name}' would be on frames that Blender does not have")
        whole = take.recipe.hold_contacts or take.recipe.keep_apart
        # Separating digits and holding contacts also changes frames beside the ranges.
        replaced = [slice(None)] if whole else _ranges(take.times, (*solved_with(base), *corrections))
        notes += keep_edits(base, [(frames[rows][0], frames[rows][-1]) for rows in replaced if hands.get(armature)])
        for rows in replaced:
            keyed = [hand.select(rows) for hand in hands.get(armature, [])]
            if not keyed:
                continue
            with playing_base(armature):
                splice_keys(armature, keyed, frames[rows], Blend())
            mark_predicted(base, keyed, frames[rows], {hand.side: hand.predicted[rows] for hand in take.hands})
            remember_keys(base, (frames[rows][0], frames[rows][-1]))
        if whole:
            notes.append(
                f"all keys of the take '{base.name}' were replaced, because it holds contacts or keeps digits apart"
            )
        notes += correct_take(armature, corrections, scene, unsolved=take.waiting)
        base[SOLVED_WITH_PROPERTY] = encode(
            tuple(correction for correction in corrections if correction.is_before_solving)
        )
        report = take.report | {"corrections": corrections_report(armatures, scene)}
        for action in filter(None, (base, composed_of(armature))):
            reviewed = {name: value for name in REVIEW_PROPERTIES if (value := action.get(name)) is not None}
            store_report(action, report, take, frames)
            for name, value in reviewed.items():
                # Problems elsewhere do not change, and neither do their marks and visits.
                action[name] = value
    return tuple(dict.fromkeys(notes))


def _ranges(times: Floats, corrections: Sequence[Correction]) -> list[slice]:
    """Return the frames of a take in the ranges of corrections in the solve, as disjoint slices."""
    inside = np.zeros(len(times), bool)
    for correction in corrections:
        if correction.is_before_solving:
            inside |= correction.range.contains(times)
    _, starts, stops = runs(inside[:, None])
    return [slice(first, stop) for first, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
