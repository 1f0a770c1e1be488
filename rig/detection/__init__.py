"""Detection of hands in any armature, from the positions and hierarchy of its bones, with their names as a hint.

Free of Blender: the input is plain data (`skeleton.Bone`) in world space, so that scaled or mirrored parents do not
matter; the output are hands (`hand_search.detect`).
"""

from .detected_hand import MIN_SIDE_CONFIDENCE, DetectedHand
from .hand_search import detect
from .skeleton import Bone

__all__ = ["MIN_SIDE_CONFIDENCE", "Bone", "DetectedHand", "detect"]
