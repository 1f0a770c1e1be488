"""What is told of corrections of a take: which wait, and why, and which are held shorter than asked."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....pipeline.corrections.correction import Correction, PoseChange
from ....pipeline.corrections.correction_json import effect_of
from ..take_report import report_in
from .composing import moved_joints
from .hand_of_take import HandOfTake
from .take_clock import TakeClock

if TYPE_CHECKING:
    from bpy.types import Action

WAITING_PROPERTY = "knuckle_waiting"
"""Custom property of a take's action, the base: id -> why a correction has no effect, as JSON."""


HURRIED_PROPERTY = "knuckle_hurried"
"""Custom property of a take's action: id -> that it is held shorter than asked, or not where, of contacts, as JSON."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of corrections, as a take keeps it."""

    waiting: str
    """JSON, see WAITING_PROPERTY."""
    hurried: str
    """JSON, see HURRIED_PROPERTY."""

    @classmethod
    def by(cls, action: "Action") -> "Told":
        """Return what a take keeps."""
        return cls(_text(action, WAITING_PROPERTY), _text(action, HURRIED_PROPERTY))

    def keep(self, action: "Action") -> None:
        """Keep it with a take."""
        action[WAITING_PROPERTY], action[HURRIED_PROPERTY] = self.waiting, self.hurried


def waiting_of(base: "Action | None") -> dict[str, str]:
    """Return id -> why it has no effect, of the corrections of a take that have none."""
    return _told(_text(base, WAITING_PROPERTY))


def hurried_of(base: "Action | None") -> dict[str, str]:
    """Return id -> that it is held shorter than asked, or not where it was asked, of the contacts of a take."""
    return _told(_text(base, HURRIED_PROPERTY))


def waiting_reasons(
    base: "Action", corrections: Sequence[Correction], hands: Sequence[HandOfTake], clock: TakeClock
) -> dict[str, str]:
    """Return id -> why it has no effect, of the corrections that have none; another armature may have their hand."""
    own, told = {of.hand.side for of in hands}, (report_in(base) or {}).get("hands", {})
    reasons = {
        one.id: _waiting_reason(one, hands, clock) for one in corrections if one.hand in own or one.hand not in told
    }
    return {of_id: reason for of_id, reason in reasons.items() if reason}


def unsolved_reasons(corrections: Sequence[Correction], known: Mapping[str, str]) -> dict[str, str]:
    """Return id -> why it could not take effect in the solve, of corrections.

    known: the same as told now, or at the last solve.
    """
    return {one.id: known[one.id] for one in corrections if one.is_before_solving and one.id in known}


def _waiting_reason(correction: Correction, hands: "Sequence[HandOfTake]", clock: TakeClock) -> str:
    """Return why a correction has no effect on these hands of a take, a sentence without its end; empty if it has."""
    own = [of for of in hands if of.hand.side == correction.hand]
    if not own:
        return f"there is no {correction.hand} hand in the take"
    if not own[0].rows(correction, clock).any():
        first, last = clock.frames([correction.range.start, correction.range.end])
        have = f"{own[0].frames[0]:.0f} to {own[0].frames[-1]:.0f}"
        return f"its frames {first:.0f} to {last:.0f} are not in the take, which has {have}"
    if isinstance(correction.change, PoseChange) and not moved_joints(own[0], correction):
        return "the take keys none of its digits"
    return ""


def _text(action: "Action | None", name: str) -> str:
    text = None if action is None else action.get(name)
    return text if isinstance(text, str) else "{}"


def _told(text: str) -> dict[str, str]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    return {str(of_id): str(reason) for of_id, reason in told.items()} if isinstance(told, dict) else {}


def hurried_changes(base: "Action", corrections: Sequence[Correction]) -> dict[str, dict[str, Any]]:
    """Return id -> what it does, of those of a take's corrections that are held shorter than asked."""
    hurried = hurried_of(base)
    return {one.id: effect_of(one) for one in corrections if one.id in hurried}


def waiting_notes(
    base: "Action", corrections: Sequence[Correction], told: Mapping[str, Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return a sentence about each correction of a take that has no effect, or is held shorter than asked.

    told: the `hurried_changes` of the take before, which are told once; the panel's list goes on to tell them.
    """
    waiting, hurried = waiting_of(base), hurried_of(base)
    waits = [f"correction '{one.name}' waits: {waiting[one.id]}" for one in corrections if one.id in waiting]
    new = [one for one in corrections if one.id in hurried and effect_of(one) != told.get(one.id)]
    return (*waits, *(f"correction '{one.name}': {hurried[one.id]}" for one in new))
