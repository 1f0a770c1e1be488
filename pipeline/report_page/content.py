"""The content of a report page: takes from a Blender file, and pictures of their worst frames."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import SIDES, Side
from ..evidence.angle_curves import AngleCurves
from ..evidence.evidence import Evidence, HandEvidence
from ..evidence.ranking import Problem, rank

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Marks:
    """The state of a take's problems in the review: mended, or marked as seen."""

    mended: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Rank of a problem, 0 for the worst -> names of the corrections that mend it."""
    seen: frozenset[int] = frozenset()
    """Ranks of the problems that are marked as seen."""
    corrections: int = 0
    """Number of corrections that are applied to the keys, but not to evidence and angles."""


@dataclass(frozen=True, eq=False)
class ReviewedTake:
    """A reviewed take: its report, evidence and angles."""

    name: str
    report: Mapping[str, Any]
    """The report as read from a file, not validated."""
    evidence: Evidence
    """Evidence of at least one frame, with finite, non-decreasing times."""
    angles: tuple[AngleCurves, ...]
    frames: tuple[float, float]
    """The scene frames of the first and the last frame."""
    marks: Marks = Marks()

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the take, the worst first."""
        return rank(self.evidence)

    @property
    def left(self) -> int:
        """Number of problems that are neither mended nor marked as seen."""
        return len(self.problems) - len(self.marks.seen.union(self.marks.mended))

    @property
    def sides(self) -> tuple[Side, ...]:
        """The hands, left before right."""
        solved_sides = {hand.side for hand in self.evidence.hands}
        return tuple(side for side in SIDES if side in solved_sides)

    @property
    def seconds(self) -> Floats:
        """(F,) s since the take's first frame."""
        since: Floats = self.evidence.times - self.evidence.times[0]
        return since

    @property
    def period(self) -> float:
        """s, the median time between two frames; 1 for a single frame."""
        return float(np.median(np.diff(self.seconds))) or 1.0 if len(self.seconds) > 1 else 1.0

    def hand(self, side: Side) -> HandEvidence | None:
        """Return the evidence of a hand, None if the take has none."""
        return next((hand for hand in self.evidence.hands if hand.side == side), None)

    def curves(self, side: Side) -> AngleCurves | None:
        """Return the angles of a hand, None if they are not known."""
        return next((curves for curves in self.angles if curves.side == side), None)

    def frame(self, row: int) -> float:
        """Return the scene frame of a frame of the take, in proportion to the times."""
        duration = float(self.seconds[-1])
        fraction = float(self.seconds[row]) / duration if duration > 0 else 0.0
        first, last = self.frames
        return first + fraction * (last - first)


@dataclass(frozen=True, slots=True)
class ProblemPicture:
    """A picture of a problem's worst frame."""

    rank: int
    """Rank of the problem, 0 for the worst."""
    view: str
    """The view, such as "from the back"."""
    jpeg: bytes
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Pictures:
    """Pictures of the worst frames, and the reason if some are missing."""

    found: tuple[ProblemPicture, ...] = ()
    note: str = ""


NOT_REQUESTED = Pictures(note="No pictures were requested.")
