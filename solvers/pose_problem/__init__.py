"""Pose problems: bring points of a hand to positions within limits, with the least change from a starting pose."""

from .problem import REFERENCE_LENGTH, Objective, PoseProblem, angles_of, middle_finger_length, sites_of
from .retry import retry_strayed
from .search import Solution, solve

__all__ = [
    "REFERENCE_LENGTH",
    "Objective",
    "PoseProblem",
    "Solution",
    "angles_of",
    "middle_finger_length",
    "retry_strayed",
    "sites_of",
    "solve",
]
