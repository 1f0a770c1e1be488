"""From the performer's hand to a character's of other proportions: directions, fingertips or pinches kept."""

from .character import Character, RigHand, character
from .figures import figures_of
from .keeping import Keeping, Kept, keep
from .seen import Seen, seen_bones
from .shares import FINGERS, is_mitten

__all__ = [
    "FINGERS",
    "Character",
    "Keeping",
    "Kept",
    "RigHand",
    "Seen",
    "character",
    "figures_of",
    "is_mitten",
    "keep",
    "seen_bones",
]
