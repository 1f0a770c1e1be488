"""Pose problems: bring points of a hand to positions within limits, with the least change from a starting pose."""

from .problem import USUAL_LENGTH, Objective, PoseProblem, angles_of, middle_finger_length, sites_of
from .retry import retried
from .search import Solution, solve

__all__ = [
    "USUAL_LENGTH",
    "Objective",
    "PoseProblem",
    "Solution",
    "angles_of",
    "middle_finger_length",
    "retried",
    "sites_of",
    "solve",
]
