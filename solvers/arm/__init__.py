"""An arm of seven degrees of freedom that brings its wrist, the hand's root, where the capture has it."""

from ..tree import SkeletonError
from .fitting import RestArm, from_rest
from .model import Arm, ArmPose, ArmState, at_rest, base_of, excess, frames, human
from .solve import solve
from .triangle import distances

__all__ = [
    "Arm",
    "ArmPose",
    "ArmState",
    "RestArm",
    "SkeletonError",
    "at_rest",
    "base_of",
    "distances",
    "excess",
    "frames",
    "from_rest",
    "human",
    "solve",
]
