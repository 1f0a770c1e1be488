"""FABRIK for any tree of joints: an arm, a tail, a tentacle, a hand that is not five digits on a rigid palm."""

from .bone_list import Bone, chain, from_bones
from .goals import Goals, State, TreePose, places
from .skeleton import Limit, Skeleton, SkeletonError, ball, cone, fixed, frames, hinge
from .tree_fabrik import Settings, at_rest, solve, solve_from

__all__ = [
    "Bone",
    "Goals",
    "Limit",
    "Settings",
    "Skeleton",
    "SkeletonError",
    "State",
    "TreePose",
    "at_rest",
    "ball",
    "chain",
    "cone",
    "fixed",
    "frames",
    "from_bones",
    "hinge",
    "places",
    "solve",
    "solve_from",
]
