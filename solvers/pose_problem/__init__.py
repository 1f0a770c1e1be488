"""A hand's points at positions: of all poses that bring them there, or as near as limits let them, the nearest one."""

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
