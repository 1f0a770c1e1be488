"""Notes about the corrections of a take: which have no effect and why, and which hold for less than their range."""

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
SHORTENED_PROPERTY = "knuckle_hurried"
"""Custom property of a take's action: id -> how a contact is held shorter than its range, or elsewhere, as JSON."""
MAX_NAMED = 3
"""Corrections that wait, each with its reason, in a message."""


@dataclass(frozen=True, slots=True)
class CorrectionNotes:
    """Notes about corrections, as an action stores them."""

    waiting: str
    """JSON, see WAITING_PROPERTY."""
    shortened: str
    """JSON, see SHORTENED_PROPERTY."""

    @classmethod
    def of(cls, action: "Action") -> "CorrectionNotes":
        """Return the notes that an action stores."""
        return cls(_text(action, WAITING_PROPERTY), _text(action, SHORTENED_PROPERTY))

    def keep(self, action: "Action") -> None:
        """Store the notes with an action."""
        action[WAITING_PROPERTY], action[SHORTENED_PROPERTY] = self.waiting, self.shortened


def waiting_of(base: "Action | None") -> dict[str, str]:
    """Return id -> reason of the corrections of a take that have no effect."""
    return _parsed(_text(base, WAITING_PROPERTY))


def shortened_of(base: "Action | None") -> dict[str, str]:
    """Return id -> sentence of the contacts of a take that are held shorter than its range, or elsewhere."""
    return _parsed(_text(base, SHORTENED_PROPERTY))


def waiting_reasons(
    base: "Action", corrections: Sequence[Correction], hands: Sequence[HandOfTake], clock: TakeClock
) -> dict[str, str]:
    """Return id -> reason of the corrections that have no effect; another armature may have their hand."""
    own, solved = {take_hand.hand.side for take_hand in hands}, (report_in(base) or {}).get("hands", {})
    reasons = {
        correction.id: _waiting_reason(correction, hands, clock)
        for correction in corrections
        if correction.hand in own or correction.hand not in solved
    }
    return {of_id: reason for of_id, reason in reasons.items() if reason}


def unsolved_reasons(corrections: Sequence[Correction], known: Mapping[str, str]) -> dict[str, str]:
    """Return id -> reason of the corrections that could not take effect in the solve.

    known: the present reasons, or those of the last solve.
    """
    return {
        correction.id: known[correction.id]
        for correction in corrections
        if correction.is_before_solving and correction.id in known
    }


def _waiting_reason(correction: Correction, hands: "Sequence[HandOfTake]", clock: TakeClock) -> str:
    """Return why a correction has no effect on these hands of a take, as the start of a sentence; empty if it has
    one."""
    own = [take_hand for take_hand in hands if take_hand.hand.side == correction.hand]
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


def _parsed(text: str) -> dict[str, str]:
    try:
        reasons = json.loads(text)
    except (ValueError, RecursionError):
        reasons = None
    return {str(of_id): str(reason) for of_id, reason in reasons.items()} if isinstance(reasons, dict) else {}


def shortened_changes(base: "Action", corrections: Sequence[Correction]) -> dict[str, dict[str, Any]]:
    """Return id -> effect of the corrections of a take that are held shorter than its range."""
    shortened = shortened_of(base)
    return {correction.id: effect_of(correction) for correction in corrections if correction.id in shortened}


def waiting_notes(
    base: "Action", corrections: Sequence[Correction], before: Mapping[str, Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return sentences about the corrections of a take that have no effect, or are held shorter than its range.

    before: the `shortened_changes` of the take before. Corrections listed there get no sentence here; the panel's list
    still shows them.
    """
    waiting, shortened = waiting_of(base), shortened_of(base)
    waits = [
        f"correction '{correction.name}' waits: {waiting[correction.id]}"
        for correction in corrections
        if correction.id in waiting
    ]
    if len(waits) > MAX_NAMED:
        waits[MAX_NAMED:] = [f"{len(waits) - MAX_NAMED} more wait, select them in the panel Corrections to see why"]
    new = [
        correction
        for correction in corrections
        if correction.id in shortened and effect_of(correction) != before.get(correction.id)
    ]
    return (*waits, *(f"correction '{correction.name}': {shortened[correction.id]}" for correction in new))
