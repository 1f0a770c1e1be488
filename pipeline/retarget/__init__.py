"""Retarget a performer's hand to a rig's hand of other proportions, keeping directions, fingertips or pinches."""

from .bone_directions import ObservedDirections, observed_directions, with_solved_directions
from .character_hand import Character, RestHand, build_character
from .digit_mapping import FINGERS, is_mitten
from .retarget_report import retarget_figures
from .retargeting import RetargetedHand, RetargetMode, retarget

__all__ = [
    "FINGERS",
    "Character",
    "ObservedDirections",
    "RestHand",
    "RetargetMode",
    "RetargetedHand",
    "build_character",
    "is_mitten",
    "observed_directions",
    "retarget",
    "retarget_figures",
    "with_solved_directions",
]
