"""Pose problems: bring points of a hand to positions within limits, with the least change from a starting pose."""

from .problem import (
    REFERENCE_LENGTH,
    Objective,
    PoseProblem,
    Preferences,
    SoftLimit,
    angles_of,
    middle_finger_length,
    sites_of,
)
from .retry import half_closed, retry_strayed
from .search import Solution, solve
from .separation import Separation

__all__ = [
    "REFERENCE_LENGTH",
    "Objective",
    "PoseProblem",
    "Preferences",
    "Separation",
    "SoftLimit",
    "Solution",
    "angles_of",
    "half_closed",
    "middle_finger_length",
    "retry_strayed",
    "sites_of",
    "solve",
]
