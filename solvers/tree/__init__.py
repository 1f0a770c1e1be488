"""FABRIK for any tree of joints: an arm, a tail, a tentacle, a hand that is not five digits on a rigid palm."""

from .bone_list import RestBone, chain, from_bones
from .goals import Goals, TreePose, TreeState, goals_by_name
from .tree_skeleton import Skeleton, SkeletonError, SwingTwistLimit, ball, cone, fixed, frames, hinge
from .tree_solver import TreeSettings, at_rest, solve, solve_from

__all__ = [
    "Goals",
    "RestBone",
    "Skeleton",
    "SkeletonError",
    "SwingTwistLimit",
    "TreePose",
    "TreeSettings",
    "TreeState",
    "at_rest",
    "ball",
    "chain",
    "cone",
    "fixed",
    "frames",
    "from_bones",
    "goals_by_name",
    "hinge",
    "solve",
    "solve_from",
]
