"""Pose problems: bring points of a hand to positions within limits, with the least change from a starting pose."""

from .chains import chains
from .problem import USUAL_LENGTH, Objective, PoseProblem, angles_of, middle_finger_length
from .search import Solution, retried, solve

__all__ = [
    "USUAL_LENGTH",
    "Objective",
    "PoseProblem",
    "Solution",
    "angles_of",
    "chains",
    "middle_finger_length",
    "retried",
    "solve",
]
