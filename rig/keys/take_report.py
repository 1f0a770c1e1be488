"""The report of a take, stored in its action."""

import json
from typing import TYPE_CHECKING, Any, TypeGuard

from ...pipeline.job import Take

if TYPE_CHECKING:
    from bpy.types import Object

REPORT_PROPERTY = "knuckle_result"
"""Custom property of a take's action that holds its report, as JSON; not of the armature, because a library override
keeps no new properties."""
TIMING_PROPERTY = "knuckle_timing"
"""Custom property of a take's action: a frame, and the capture's time in s that falls on it."""
TIMECODE_PROPERTY = "knuckle_timecode"
"""Custom property of an action that holds the timecode of its first key, if the capture or the device has one."""


def report_of(armature: "Object | None") -> dict[str, Any] | None:
    """Return the report of the take that an armature plays, in its action or else in its topmost NLA strip.

    None if it plays no take or the report is damaged.
    """
    text = _report_text(armature)
    if text is None:
        return None
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return report if _is_report(report) else None


def notes_of_keying(armature: "Object", take: Take) -> list[str]:
    """Return the warnings that keying has added to the report of a take, which the armature plays."""
    report = report_of(armature) or take.report
    notes: list[str] = report["warnings"][len(take.report.get("warnings", ())) :]
    return notes


def play_same_take(armature: "Object", other: "Object") -> bool:
    """Whether two armatures play the same take, such as the new hands of both sides."""
    text = _report_text(armature)
    return text is not None and _report_text(other) == text


def _report_text(armature: "Object | None") -> str | None:
    animation = armature.animation_data if armature is not None else None
    if animation is None:
        return None
    strips = [strip for track in reversed(animation.nla_tracks) for strip in track.strips]
    played = [action for action in (animation.action, *(strip.action for strip in strips)) if action]
    text = next((text for action in played if (text := action.get(REPORT_PROPERTY)) is not None), None)
    return text if isinstance(text, str) else None


def _is_report(report: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a report, which the user or another add-on may have edited, has the structure needed to show it."""
    hands = report.get("hands") if isinstance(report, dict) else None
    return isinstance(hands, dict) and all(
        isinstance(hand, dict)
        and isinstance(hand.get("fingers"), dict)
        and all(isinstance(finger, dict) for finger in hand["fingers"].values())
        for hand in hands.values()
    )
