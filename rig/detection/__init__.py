"""Detection of hands in any armature, from the positions and hierarchy of its bones, with their names as a hint.

It does not need Blender. The input is plain data (`skeleton.Bone`) in world space, so scaled or mirrored parents do not
matter. The output is a tuple of hands (`hand_search.detect`).
"""

from .detected_hand import MIN_SIDE_CONFIDENCE, DetectedHand
from .hand_search import detect
from .skeleton import Bone

__all__ = ["MIN_SIDE_CONFIDENCE", "Bone", "DetectedHand", "detect"]
