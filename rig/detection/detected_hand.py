"""What the detection says of an armature's hands."""

from dataclasses import dataclass

from ...hand.joints import Side

SURE_SIDE = 0.15
"""A side less sure than this is told of, and gives way to the other hand's."""

PICK_WHERE = "in the panel Rig's Hands (in a shell: by --mapping with a preset exported from there)"
"""How sentences end that ask a person to pick bones."""


@dataclass(frozen=True, slots=True)
class DetectedHand:
    """A hand of an armature."""

    side: Side
    bones: dict[str, str]
    """joint -> the bone to key"""
    confidence: dict[str, float]
    """digit -> 0..1, for the digits that it has"""
    side_confidence: float
    carrier: str
    """The bone that carries the digits: the wrist's own, or the one that follows it."""
    family: str | None = None
    """The table that knows its names."""
    doubts: tuple[str, ...] = ()
    """What was ambiguous, each a sentence's end."""
