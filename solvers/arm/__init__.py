"""An arm of seven degrees of freedom that brings its wrist, the hand's root, where the capture has it."""

from ..tree import SkeletonError
from .fitting import RestArm, from_rest
from .model import Arm, ArmPose, ArmState, at_rest, excess, frames, human
from .solve import solve

__all__ = [
    "Arm",
    "ArmPose",
    "ArmState",
    "RestArm",
    "SkeletonError",
    "at_rest",
    "excess",
    "frames",
    "from_rest",
    "human",
    "solve",
]
