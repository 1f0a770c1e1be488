"""Retarget a performer's hand to a rig's hand of other proportions, keeping directions, fingertips or pinches."""

from .bone_directions import SeenBones, seen_bones
from .character_hand import Character, RestHand, character
from .digit_mapping import FINGERS, is_mitten
from .retarget_report import figures_of
from .retargeting import RetargetedHand, RetargetMode, keep

__all__ = [
    "FINGERS",
    "Character",
    "RestHand",
    "RetargetMode",
    "RetargetedHand",
    "SeenBones",
    "character",
    "figures_of",
    "is_mitten",
    "keep",
    "seen_bones",
]
