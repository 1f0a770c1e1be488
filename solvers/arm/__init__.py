"""Inverse kinematics of an arm with seven degrees of freedom, whose wrist is the hand's root."""

from ..tree import SkeletonError
from .arm_fitting import RestArm, from_rest
from .arm_model import Arm, ArmPose, ArmState, at_rest, excess, frames, human, shoulder_frames
from .closed_form import solve
from .elbow_circle import reach_range

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
    "reach_range",
    "shoulder_frames",
    "solve",
]
