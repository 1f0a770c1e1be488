"""The report of a take, stored in its action."""

import json
import zlib
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ...pipeline.evidence.angle_curves import AngleCurves, pack_angles
from ...pipeline.evidence.packing import pack
from ...pipeline.take import Take

if TYPE_CHECKING:
    from bpy.types import Action, Object

Floats = NDArray[np.float64]

REPORT_PROPERTY = "knuckle_result"
"""Custom property of a take's action that holds its report, as JSON; not of the armature, because a library override
keeps no new properties."""
EVIDENCE_PROPERTY = "knuckle_evidence"
"""Custom property of a take's action: the evidence of each frame, as pipeline.evidence.packing packs it."""
EVIDENCE_ID_PROPERTY = "knuckle_evidence_id"
"""Custom property of a take's action: a short text that identifies the evidence and its scene frames."""
ANGLES_PROPERTY = "knuckle_angles"
"""Custom property of a take's action: the angles that a report page draws, as pipeline.evidence.angle_curves has it."""
SEEN_PROPERTY = "knuckle_seen"
"""Custom property of a take's action: the keys of the problems that are marked as seen, as JSON."""
VISITED_PROPERTY = "knuckle_visited"
"""Custom property of a take's action: the problems that a review has gone to, as JSON."""
TIMING_PROPERTY = "knuckle_timing"
"""Custom property of a take's action: a frame, and the capture's time in s that falls on it."""
REVIEW_PROPERTIES = (SEEN_PROPERTY, VISITED_PROPERTY)
"""Custom properties of a take's action that a person's review of it has made."""
TIMECODE_PROPERTY = "knuckle_timecode"
"""Custom property of an action that holds the timecode of its first key, if the capture or the device has one."""


def report_of(armature: "Object | None") -> dict[str, Any] | None:
    """Return the report of the take that an armature plays, in its action or else in its topmost NLA strip.

    None if it plays no take or the report is damaged.
    """
    action = action_with_report(armature)
    return None if action is None else report_in(action)


def report_in(action: "Action") -> dict[str, Any] | None:
    """Return the report in an action, None if there is none or it is damaged."""
    return parsed_report(action.get(REPORT_PROPERTY))


def parsed_report(text: object) -> dict[str, Any] | None:
    """Return the report of a text as an action keeps it, None if that is damaged."""
    try:
        report = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return report if _is_report(report) else None


def store_report(action: "Action", report: dict[str, Any], take: Take, frames: Floats) -> None:
    """Store a take's report and evidence in its action; frames (F,): the scene frames of its keys.

    The stored report and its problems also have their scene frames `at`: first and last, and for problems the worst.
    """
    problems = [
        problem | {"at": [float(frames[problem[name] - 1]) for name in ("first", "last", "worst")]}
        for problem in report.get("problems", ())
    ]
    span = [float(frames[0]), float(frames[-1])]
    action[REPORT_PROPERTY] = json.dumps(report | {"problems": problems, "at": span})
    packed = pack(take.evidence)
    _store_bytes(action, EVIDENCE_PROPERTY, packed)
    action[EVIDENCE_ID_PROPERTY] = f"{zlib.crc32(packed):08x} {span[0]:.3f} {span[1]:.3f}"
    _store_bytes(action, ANGLES_PROPERTY, pack_angles([AngleCurves.of(hand.keyed) for hand in take.hands]))
    for name in REVIEW_PROPERTIES:
        action.pop(name, None)


def _store_bytes(action: "Action", name: str, content: bytes) -> None:
    """Store bytes in a custom property of an action.

    It is deleted first, since Blender 4.5 and 5.2 cut overwritten bytes at the first zero.
    """
    action.pop(name, None)
    action[name] = content


def notes_of_keying(armature: "Object", take: Take) -> list[str]:
    """Return the warnings that keying has added to the report of a take, which the armature plays."""
    report = report_of(armature) or take.report
    notes: list[str] = report["warnings"][len(take.report.get("warnings", ())) :]
    return notes


def play_same_take(armature: "Object", other: "Object") -> bool:
    """Return whether two armatures play the same take, such as the new hands of both sides."""
    text = _report_text(armature)
    return text is not None and _report_text(other) == text


def _report_text(armature: "Object | None") -> str | None:
    action = action_with_report(armature)
    text = None if action is None else action.get(REPORT_PROPERTY)
    return text if isinstance(text, str) else None


def action_with_report(armature: "Object | None") -> "Action | None":
    """Return the action that an armature plays, or else that of its topmost NLA strip, which has a report."""
    animation = armature.animation_data if armature is not None else None
    if animation is None:
        return None
    strips = [strip for track in reversed(animation.nla_tracks) for strip in track.strips]
    played = [action for action in (animation.action, *(strip.action for strip in strips)) if action]
    return next((action for action in played if has_report(action)), None)


def has_report(action: "Action") -> bool:
    """Return whether an action has a report, which may be damaged."""
    return action.get(REPORT_PROPERTY) is not None


def _is_report(report: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a report, which the user or another add-on may have edited, has the structure needed to show
    it."""
    hands = report.get("hands") if isinstance(report, dict) else None
    return isinstance(hands, dict) and all(
        isinstance(hand, dict)
        and isinstance(hand.get("fingers"), dict)
        and all(isinstance(finger, dict) for finger in hand["fingers"].values())
        for hand in hands.values()
    )
