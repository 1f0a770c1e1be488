"""Problems that corrections of a take's keys mend.

Evidence is measured on the solve, so it does not show the effect.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....errors import KnuckleError, RecipeError
from ....pipeline.corrections.correction import PALM, Correction, OtherMethods, PoseChange
from ....pipeline.corrections.resolving import has_other_methods
from ..take_problems import TakeProblem, problems_in, seen_in
from .corrected_take import corrections_on
from .resolved_take import recipe_of_take, solved_as_they_are
from .take_base import base_in, composed_in
from .take_clock import TakeClock, clock_of
from .waiting import waiting_of

if TYPE_CHECKING:
    from bpy.types import Action, Scene

MAX_UNCOVERED_FRAMES = 0.5
"""Frames at either end of a problem that a correction need not cover: it begins and ends on whole frames."""
MIN_WEIGHT = 0.5
"""Minimum weight of a correction on the worst frame of a problem that it mends."""


@dataclass(frozen=True, slots=True)
class Mend:
    """A correction, with its frames and parts."""

    correction: Correction
    first: float
    last: float
    """Scene frames."""
    parts: frozenset[str]
    """The parts of the hand that it moves."""

    @classmethod
    def of(cls, correction: Correction, clock: TakeClock) -> "Mend":
        """Return a correction of a take with its frames and parts."""
        first, last = clock.frames([correction.range.start, correction.range.end]).tolist()
        change = correction.change
        moves_palm = not isinstance(change, PoseChange) or "wrist" in change.joints
        return cls(correction, first, last, frozenset((*correction.digits, *((PALM,) if moves_palm else ()))))

    def covers(self, problem: TakeProblem, clock: TakeClock) -> bool:
        """Return whether it affects a problem's frames and some of its parts, and the evidence does not include it."""
        change = self.correction.change
        return (
            self.first - MAX_UNCOVERED_FRAMES <= problem.first
            and problem.last <= self.last + MAX_UNCOVERED_FRAMES
            and self.correction.hand == problem.hand
            and not self.parts.isdisjoint(problem.parts)
            and (isinstance(change, PoseChange) or (isinstance(change, OtherMethods) and problem.is_unseen))
            and bool(self.correction.weights(clock.times([problem.worst]))[0] >= MIN_WEIGHT)
        )


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The problems of a take, and which of them are mended or marked as seen."""

    problems: tuple[TakeProblem, ...]
    """The worst first."""
    seen: frozenset[str]
    """Keys of the problems that are marked as seen."""
    mended: dict[str, tuple[str, ...]]
    """Key -> names of the corrections that mend it."""

    @classmethod
    def of(cls, action: "Action | None", scene: "Scene") -> "Reviewed":
        """Return the problems of the take in an action."""
        problems = problems_in(action)
        return cls(problems, seen_in(action), mended_problems(action, problems, scene))

    @property
    def left(self) -> tuple[TakeProblem, ...]:
        """The problems that are neither mended nor marked as seen."""
        return tuple(
            problem for problem in self.problems if problem.key not in self.seen and problem.key not in self.mended
        )


def corrections_of_keys(action: "Action | None") -> tuple[Correction, ...]:
    """Return the corrections that change the keys of the take in an action, which its evidence does not include."""
    return tuple(correction for correction in _effective(action) if not correction.is_before_solving)


def _effective(action: "Action | None") -> tuple[Correction, ...]:
    """Return the corrections of the take in an action that have an effect; none if they are damaged."""
    with suppress(RecipeError):
        waiting = waiting_of(composed_in(action) or base_in(action))
        return tuple(
            correction for correction in corrections_on(action) if correction.counts and correction.id not in waiting
        )
    return ()


def mended_problems(
    action: "Action | None", problems: Iterable[TakeProblem], scene: "Scene"
) -> dict[str, tuple[str, ...]]:
    """Return, for each mended problem of an action's take, its key -> the names of the corrections that mend it."""
    base, effective = base_in(action), _effective(action)
    if base is None or not effective:
        return {}
    clock = clock_of(base, scene)
    of_keys = [correction for correction in effective if not correction.is_before_solving]
    mends = [Mend.of(correction, clock) for correction in (*of_keys, *_other_solves(base, effective))]
    found = ((problem.key, mending(problem, mends, clock)) for problem in problems)
    return {key: tuple(correction.name for correction in by) for key, by in found if by}


def mending(problem: TakeProblem, mends: Sequence[Mend], clock: TakeClock) -> list[Correction]:
    """Return the mends of a problem; empty unless together they move all of its parts.

    Corrections that take effect in the solve are already in the evidence. The exception is another solver in frames
    with unseen markers: they stay unseen, so the evidence stays bad.
    """
    found = [mend for mend in mends if mend.covers(problem, clock)]
    moved = {part for mend in found for part in mend.parts}
    return [mend.correction for mend in found] if moved.issuperset(problem.parts) else []


def _other_solves(base: "Action", corrections: Sequence[Correction]) -> list[Correction]:
    """Return the effective corrections that solved a range of a take with another method than the rest."""
    chosen = [correction for correction in corrections if isinstance(correction.change, OtherMethods)]
    if not chosen:
        return []
    with suppress(KnuckleError):
        recipe = recipe_of_take(base, ())
        return [correction for correction in solved_as_they_are(base, chosen) if has_other_methods(correction, recipe)]
    return []
