"""Corrections and visited problems of a take, for its report page."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ....pipeline.evidence.ranking import MAX_REPORTED, Problem
from ....pipeline.report_page.content import Marks, ReviewedTake
from ..fcurves import FRAME_TOLERANCE
from ..reviewed_takes import reviewed_take
from ..take_problems import TakeProblem
from .mended_problems import Reviewed, corrections_of_keys

if TYPE_CHECKING:
    from bpy.types import Action, Scene


def marked_take(action: "Action", scene: "Scene", name: str = "") -> ReviewedTake:
    """Return the take in an action with the marks of its problems, as the panel Review shows them.

    name: by default that of the action. Raises RigError as `reviewed_take`.
    """
    take, reviewed = reviewed_take(action, name), Reviewed.of(action, scene)
    ranks = dict(_ranks(take, reviewed))
    mended = {ranks[key]: by for key, by in reviewed.mended.items() if key in ranks}
    seen = frozenset(ranks[key] for key in reviewed.seen if key in ranks)
    return replace(take, marks=Marks(mended, seen, len(corrections_of_keys(action))))


def _ranks(take: ReviewedTake, reviewed: Reviewed) -> Iterator[tuple[str, int]]:
    """Yield key and rank of each problem of a report that was mended or seen."""
    left = {problem.key for problem in reviewed.left}
    for listed in reviewed.problems:
        if listed.key not in left:
            ranked = enumerate(take.problems[:MAX_REPORTED])
            yield from ((listed.key, rank) for rank, problem in ranked if _is_same(take, problem, listed))


def _is_same(take: ReviewedTake, problem: Problem, listed: TakeProblem) -> bool:
    """Return whether a problem of the evidence is one of the report, which may have been edited."""
    if (problem.side, problem.parts) != (listed.hand, listed.parts):
        return False
    rows, frames = (problem.first, problem.last, problem.worst), (listed.first, listed.last, listed.worst)
    return all(abs(take.frame(row) - frame) < FRAME_TOLERANCE for row, frame in zip(rows, frames, strict=True))
