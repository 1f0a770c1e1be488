"""The result of detection."""

from dataclasses import dataclass

from ...hand.joints import Side

MIN_SIDE_CONFIDENCE = 0.15
"""A side with less confidence than this is reported, and switched if both hands are detected on the same side."""

PICK_WHERE = "in the panel Hand Mapping (in a shell: by --mapping with a mapping exported from there)"
"""The end of messages that ask the user to pick bones."""


@dataclass(frozen=True, slots=True)
class DetectedHand:
    """A detected hand of an armature."""

    side: Side
    bones: dict[str, str]
    """joint -> the bone to key"""
    confidence: dict[str, float]
    """digit -> 0..1, for the digits of the hand"""
    side_confidence: float
    carrier: str
    """The bone that carries the digits: the wrist's own, or one that follows it."""
    family: str | None = None
    """The family of rigs that uses its bone names."""
    doubts: tuple[str, ...] = ()
    """Ambiguities, each the end of a sentence."""
