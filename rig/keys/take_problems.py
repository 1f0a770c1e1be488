"""The problems of the take that an armature plays, as its action keeps them, and which of them are marked as seen."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...hand.joints import SIDES, Side
from ...pipeline.evidence.evidence import PARTS
from ...pipeline.evidence.ranking import MAX_REPORTED
from .frame_times import LAST_FRAME
from .take_report import SEEN_PROPERTY, action_with_report, play_same_take, report_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpy.types import Action, Object, Scene

MAX_REASON = 200
"""Maximum number of characters of a reason that are shown."""


@dataclass(frozen=True, slots=True)
class TakeProblem:
    """A problem on the frames of the scene."""

    hand: Side
    parts: tuple[str, ...]
    """The worst first, at least one."""
    first: float
    last: float
    worst: float
    """The frame to look at."""
    severity: float
    reason: str
    measure: str = ""
    """Name of the worst measure of evidence."""

    @property
    def is_unseen(self) -> bool:
        """Whether the problem is that markers were not seen."""
        return self.measure == "unseen"

    @property
    def key(self) -> str:
        """Unique among the take's."""
        return f"{self.hand} {self.parts[0]} {self.worst:.3f}"

    def is_beside(self, other: "TakeProblem") -> bool:
        """Return whether both problems share frames and a part of the hand."""
        overlap = self.first <= other.last and other.first <= self.last
        return overlap and self.hand == other.hand and not set(self.parts).isdisjoint(other.parts)

    def is_same_problem(self, other: "TakeProblem") -> bool:
        """Return whether both problems share a part and most of their frames."""
        common = min(self.last, other.last) - max(self.first, other.first)
        return self.is_beside(other) and 2 * common >= max(self.last, other.last) - min(self.first, other.first)

    def problems_as_json(self) -> dict[str, Any]:
        """Return the problem as `problem_in` reads it, JSON-ready."""
        return {
            "hand": self.hand,
            "parts": list(self.parts),
            "at": [self.first, self.last, self.worst],
            "severity": self.severity,
            "measure": self.measure,
            "reason": self.reason,
        }


def problems_of(armature: "Object | None") -> tuple[TakeProblem, ...]:
    """Return the problems of the take that an armature plays, the worst first; damaged ones are left out."""
    return problems_in(action_with_report(armature))


def problems_in(action: "Action | None") -> tuple[TakeProblem, ...]:
    """Return the problems of the take in an action, the worst first; damaged ones are left out."""
    report = None if action is None else report_in(action)
    listed = report.get("problems") if report is not None else None
    if not isinstance(listed, list):
        return ()
    return tuple(problem for entry in listed[:MAX_REPORTED] if (problem := problem_in(entry)) is not None)


def problem_in(entry: Any) -> TakeProblem | None:
    """Return a problem of a report, which the user or another add-on may have edited; None if it is damaged."""
    if not isinstance(entry, dict):
        return None
    at, parts = entry.get("at"), entry.get("parts")
    numbers = [*at, entry.get("severity")] if isinstance(at, list) else []
    if len(numbers) != 4 or not all(is_number(number) for number in numbers):
        return None
    if entry.get("hand") not in SIDES or not isinstance(parts, list) or not parts or not {*map(str, parts)} <= {*PARTS}:
        return None
    names = tuple(str(part) for part in parts)
    first, last, worst, severity = map(float, numbers)
    if severity < 0 or not first <= worst <= last:
        return None
    reason, measure = (str(entry.get(name, ""))[:MAX_REASON] for name in ("reason", "measure"))
    return TakeProblem(entry["hand"], names, first, last, worst, severity, reason, measure)


def is_number(value: Any) -> bool:
    """Return whether a value of a report is a number that a frame can be."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # The comparison is False for NaN; an integer may be too large for a float.
    return is_number and abs(value) <= LAST_FRAME


def seen_problems(armature: "Object | None") -> frozenset[str]:
    """Return the keys of the problems of an armature's take that are marked as seen."""
    return seen_in(action_with_report(armature))


def seen_in(action: "Action | None") -> frozenset[str]:
    """Return the keys of the problems of the take in an action that are marked as seen."""
    text = None if action is None else action.get(SEEN_PROPERTY)
    try:
        keys = json.loads(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        keys = []
    return frozenset(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else frozenset()


def mark_seen(armatures: "Iterable[Object]", keys: frozenset[str]) -> None:
    """Store which problems are seen in the actions of armatures that play a take; linked actions do not change."""
    for armature in armatures:
        action = action_with_report(armature)
        if action is not None and action.is_editable:
            action[SEEN_PROPERTY] = json.dumps(sorted(keys))


def playing_with(armature: "Object", scene: "Scene") -> "list[Object]":
    """Return an armature and all others in the scene that play the same take, as new hands of both sides do."""
    others = [obj for obj in scene.objects if obj.type == "ARMATURE" and obj != armature]
    return [armature, *(obj for obj in others if play_same_take(armature, obj))]
