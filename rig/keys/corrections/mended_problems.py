"""Problems of a take on which corrections lie: evidence is that of the solve, so poses on top do not change it."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ....errors import RecipeError
from ....pipeline.corrections.correction import PALM, Correction, OtherMethods, PoseChange
from ..take_problems import TakeProblem
from .corrected_take import base_of, composed_of, corrections_of
from .take_clock import TakeClock, clock_of
from .waiting import waiting_of

if TYPE_CHECKING:
    from bpy.types import Object, Scene

NEAR = 0.5
"""Frames by which a correction may begin after a problem, and end before it: it begins and ends on whole frames."""


def mended_problems(
    armature: "Object | None", problems: Iterable[TakeProblem], scene: "Scene"
) -> dict[str, tuple[str, ...]]:
    """Return key -> names of the corrections that mend it, of the mended ones of the problems of an armature's take."""
    base, corrections = base_of(armature), tuple[Correction, ...]()
    with suppress(RecipeError):
        corrections = corrections_of(armature)
    if base is None or not corrections:
        return {}
    waiting, clock = waiting_of(composed_of(armature) or base), clock_of(base, scene)
    effective = [each for each in corrections if each.counts and each.id not in waiting]
    found = ((problem.key, mends(problem, effective, clock)) for problem in problems)
    return {key: tuple(each.name for each in mending) for key, mending in found if mending}


def mends(problem: TakeProblem, corrections: Sequence[Correction], clock: TakeClock) -> list[Correction]:
    """Return the corrections that lie on a problem, of those that have an effect; none unless they move all its parts.

    What takes effect in the solve was judged by the evidence, except for a solver that was chosen where markers were
    not seen: what it guesses there is as unseen as before.
    """
    found = [each for each in corrections if each.hand == problem.hand and _lies_on(each, problem, clock)]
    moved = {part for each in found for part in _parts(each)}
    return found if moved.issuperset(problem.parts) else []


def _lies_on(correction: Correction, problem: TakeProblem, clock: TakeClock) -> bool:
    is_judged = isinstance(correction.change, PoseChange) or (
        isinstance(correction.change, OtherMethods) and problem.is_unseen
    )
    first, last = clock.frames([correction.range.start, correction.range.end])
    covers = first - NEAR <= problem.first and problem.last <= last + NEAR
    return bool(is_judged and covers and not set(_parts(correction)).isdisjoint(problem.parts))


def _parts(correction: Correction) -> tuple[str, ...]:
    """Return the parts of the hand that a correction moves."""
    change = correction.change
    moves_palm = not isinstance(change, PoseChange) or "wrist" in change.joints
    return (*correction.digits, PALM) if moves_palm else correction.digits
