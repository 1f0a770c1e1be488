"""Finding hands in any armature: from where its bones are and how they hang together, with their names as a hint.

Pure: an armature comes in as plain data (`bones.Bone`) in world space, so that scaled or mirrored parents do not
matter, and hands go out (`hands.detect`).
"""

from .detected_hand import SURE_SIDE, DetectedHand
from .hand_search import detect
from .skeleton import Bone

__all__ = ["SURE_SIDE", "Bone", "DetectedHand", "detect"]
