"""The problems of a take that a review has visited, in the order of visits, as stored in the take's action.

A mend changes the ranking. The remainder of a visited problem counts as visited, so frames and parts of visits are
stored, and not only their keys.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .take_problems import TakeProblem, problem_in
from .take_report import VISITED_PROPERTY, action_with_report

if TYPE_CHECKING:
    from bpy.types import Object

MAX_VISITS = 2000
"""Maximum number of stored visits, the latest ones: twice the number of problems of a report and of their
remainders."""


@dataclass(frozen=True, slots=True)
class Visits:
    """The problems that a review has visited; in each round it visits every problem once."""

    order: tuple[TakeProblem, ...] = ()
    """The problems as they were when they were visited."""
    round_start: int = 0
    """Index of the first visit of this round; earlier visits belong to the previous round."""

    def at(self, shown: TakeProblem | None, problems: Sequence[TakeProblem]) -> int | None:
        """Return the index of the last visit of a problem of the take, None if it has none."""
        if shown is None:
            return None
        keys = {problem.key for problem in problems}
        for i, visit in reversed([*enumerate(self.order)]):
            if visit.key == shown.key or (visit.key not in keys and _is_left_of(shown, visit)):
                return i
        return None

    def unvisited(self, problems: Sequence[TakeProblem]) -> list[TakeProblem]:
        """Return the problems of the take that this round has not visited, the worst first."""
        visited = {visit.key: visit for visit in self.order[self.round_start :]}
        unlisted = [visited[key] for key in visited.keys() - {problem.key for problem in problems}]
        new = (problem for problem in problems if problem.key not in visited)
        return [problem for problem in new if not any(_is_left_of(problem, visit) for visit in unlisted)]

    def later(self, shown: TakeProblem | None, problems: Sequence[TakeProblem]) -> Iterator[TakeProblem]:
        """Yield the problems of the take that were visited after the one that is shown, for going forward again."""
        at = self.at(shown, problems)
        return _listed(self.order[at + 1 :] if at is not None else (), problems)

    def earlier(self, shown: TakeProblem | None, problems: Sequence[TakeProblem]) -> Iterator[TakeProblem]:
        """Yield the problems of the take that were visited before the one that is shown, the last first.

        It wraps around from the first visit to the last.
        """
        at = self.at(shown, problems)
        before = self.order if at is None else (*self.order[at:], *self.order[:at])
        return _listed(reversed(before), problems)

    def with_visit(self, problem: TakeProblem) -> "Visits":
        """Return these visits and one more."""
        return _last_visits((*self.order, problem), self.round_start)

    def with_remains(self, shown: TakeProblem, remains: Sequence[TakeProblem]) -> "Visits":
        """Return these visits with the remains that a mend has left of the shown problem: they count as visited,
        too."""
        at = next((i for i in reversed(range(len(self.order))) if self.order[i].key == shown.key), None)
        if at is None:
            return self
        order = (*self.order[: at + 1], *remains, *self.order[at + 1 :])
        added = len(remains) if at < self.round_start else 0
        return _last_visits(order, self.round_start + added)

    def next_round(self) -> "Visits":
        """Return the visits with a new round started; visits before the current round are dropped."""
        return Visits(self.order[self.round_start :], len(self.order) - self.round_start)


def _last_visits(order: tuple[TakeProblem, ...], round_start: int) -> Visits:
    """Return the last MAX_VISITS of these visits."""
    dropped = max(len(order) - MAX_VISITS, 0)
    return Visits(order[dropped:], max(round_start - dropped, 0))


def _is_left_of(problem: TakeProblem, visit: TakeProblem) -> bool:
    """Return whether at least half of a problem lies in a visited one with which it shares a part."""
    common = min(problem.last, visit.last) - max(problem.first, visit.first)
    return problem.is_beside(visit) and 2 * common >= problem.last - problem.first


def _listed(visits: Iterable[TakeProblem], problems: Sequence[TakeProblem]) -> Iterator[TakeProblem]:
    """Yield the take's problems in the order of visits: the visited problem itself, or else its remains."""
    by_key = {problem.key: problem for problem in problems}
    for visit in visits:
        if visit.key in by_key:
            yield by_key[visit.key]
        else:
            yield from (problem for problem in problems if _is_left_of(problem, visit))


def visits_of(armature: "Object | None") -> Visits:
    """Return the visits to problems of the take that an armature plays; none if they are damaged."""
    action = action_with_report(armature)
    text = None if action is None else action.get(VISITED_PROPERTY)
    try:
        stored: Any = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        stored = None
    order, round_start = (stored.get("order"), stored.get("round_start")) if isinstance(stored, dict) else (None, None)
    visits = [problem_in(entry) for entry in order[:MAX_VISITS]] if isinstance(order, list) else []
    known = tuple(visit for visit in visits if visit is not None)
    if len(known) < len(visits) or type(round_start) is not int or not 0 <= round_start <= len(known):
        return Visits()
    return Visits(known, round_start)


def keep_visits(armatures: "Iterable[Object]", visits: Visits) -> None:
    """Store visits in the actions of armatures that play a take; linked actions keep them only until the file is
    closed."""
    text = json.dumps(
        {"order": [visit.problems_as_json() for visit in visits.order], "round_start": visits.round_start}
    )
    for armature in armatures:
        action = action_with_report(armature)
        if action is not None:
            action[VISITED_PROPERTY] = text
