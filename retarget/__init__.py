"""From the performer's hand to a character's of other proportions: directions, fingertips or pinches kept."""

from .character import Character, RigHand, character
from .figures import figures_of
from .keeping import Keeping, Kept, keep
from .seen import Seen, seen_bones

__all__ = ["Character", "Keeping", "Kept", "RigHand", "Seen", "character", "figures_of", "keep", "seen_bones"]
