"""Following geometric primitives with the wrist or a fingertip. CGA-arm section 5.

touching.py        whether a point can be touched: the three cases, and where the joint before the last bone is
primitives.py      lines in which planes meet, curves and spheres as paths of a fingertip or the wrist
digit_reach.py     inverse kinematics of a digit for a fingertip position
arm_and_digit.py   arm, wrist and digit along a path
"""

from .arm_and_digit import End, FollowedPath, Shoulder, reach_with_digit, solve_path
from .primitives import (
    GuideSphere,
    HandPath,
    Tool,
    along_line,
    along_points,
    around_sphere,
    line_direction,
    nearest_on_line,
    plane_intersection,
    plane_of,
    sphere_through,
)
from .touching import REACHED, Case, Shell, Touch, touch

__all__ = [
    "REACHED",
    "Case",
    "End",
    "FollowedPath",
    "GuideSphere",
    "HandPath",
    "Shell",
    "Shoulder",
    "Tool",
    "Touch",
    "along_line",
    "along_points",
    "around_sphere",
    "line_direction",
    "nearest_on_line",
    "plane_intersection",
    "plane_of",
    "reach_with_digit",
    "solve_path",
    "sphere_through",
    "touch",
]
