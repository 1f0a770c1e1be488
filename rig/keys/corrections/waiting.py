"""Which corrections of a take wait, and why: those that have no effect on it are kept."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....pipeline.corrections.correction import Correction

if TYPE_CHECKING:
    from bpy.types import Action

WAITING_PROPERTY = "knuckle_waiting"
"""Custom property of a take's action, the base: id -> why a correction has no effect, as JSON."""


def waiting_text(action: "Action | None") -> str:
    """Return which corrections of a take wait, as it keeps that."""
    text = None if action is None else action.get(WAITING_PROPERTY)
    return text if isinstance(text, str) else "{}"


def waiting_of(base: "Action | None") -> dict[str, str]:
    """Return id -> why it has no effect, of the corrections of a take that have none."""
    try:
        told = json.loads(waiting_text(base))
    except (ValueError, RecursionError):
        told = None
    return {str(of_id): str(reason) for of_id, reason in told.items()} if isinstance(told, dict) else {}


def waiting_notes(base: "Action", corrections: Sequence[Correction]) -> tuple[str, ...]:
    """Return a sentence about each correction of a take that has no effect."""
    waiting = waiting_of(base)
    return tuple(
        f"correction '{correction.name}' waits: {waiting[correction.id]}"
        for correction in corrections
        if correction.id in waiting
    )
