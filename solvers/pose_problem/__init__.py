"""Pose problems: bring points of a hand to positions within limits, with the least change from a starting pose."""

from .problem import (
    Objective,
    PoseProblem,
    Preferences,
    SoftLimit,
    angles_of,
    middle_finger_length,
    relative_size,
    sites_of,
)
from .retry import half_closed, retry_strayed
from .search import Solution, solve
from .separation import Separation

__all__ = [
    "Objective",
    "PoseProblem",
    "Preferences",
    "Separation",
    "SoftLimit",
    "Solution",
    "angles_of",
    "half_closed",
    "middle_finger_length",
    "relative_size",
    "retry_strayed",
    "sites_of",
    "solve",
]
