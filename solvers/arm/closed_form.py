"""Closed-form inverse kinematics of a 7-DOF arm within limits. CGA-arm section 4, FABRIK-CGA exercise 3.3.

The wrist's pose leaves one degree of freedom, the swivel: the elbow's position on the circle in which the sphere of the
upper arm about the shoulder meets the sphere of the forearm about the wrist. swivel.py chooses it.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..solver import hold_last
from .arm_model import Arm, ArmPose, ArmState, at_rest, shoulder_frames
from .ball_joints import BallJoint, ball_joint
from .elbow_circle import ArmTriangle, arm_triangle
from .nearest_arm import nearest_arm
from .swivel import choose_swivel

Floats = NDArray[np.float64]


def solve(
    arm: Arm, wrist: Floats, shoulder: Floats, pole: Floats | None = None, state: ArmState | None = None
) -> tuple[ArmPose, ArmState]:
    """Solve every frame. Solving in pieces gives the same poses as solving at once.

    A wrist target out of reach, or too near for the elbow to fold, is approached on the straight line to it. The elbow
    points to the pole if that is within the limits; else the swivel is the nearest one within the limits, or of two
    equally near, the one closer to the frame before. If no swivel is within the limits, the arm comes as near to the
    target as its limits allow. A frame with values that are not finite keeps the last pose.

    Args:
        arm: lengths and limits.
        wrist: (F, 4, 4) T_world_wrist, the target.
        shoulder: T_world_shoulder (4, 4) or (F, 4, 4), or its position (3,) or (F, 3) m if it does not rotate.
        pole: (3,) or (F, 3) m in the world, the point that the elbow points to: a pole target or an elbow marker.
            By default arm.pole.
        state: the state that the previous piece returned; None at the start of a take.

    Returns:
        The pose of each frame, and the state for the next piece.

    Raises:
        SkeletonError: the shoulder has another shape, or a limit is contradictory.
    """
    state = state or at_rest(arm)
    base = shoulder_frames(shoulder, len(wrist))
    poles = _poles(arm, base, pole)
    finite = np.all(np.isfinite(wrist), axis=(1, 2)) & np.all(np.isfinite(base), axis=(1, 2))
    frames = np.flatnonzero(finite)
    last = state.last
    values = [np.repeat(x, len(wrist), 0) for x in (last.shoulder, last.elbow, last.wrist, last.swivel)]
    if len(frames):
        joints = ball_joint(arm.shoulder, "shoulder"), ball_joint(arm.wrist, "wrist")
        triangle, goal = arm_triangle(arm, wrist[frames], base[frames], poles[frames])
        solution = _within_limits(arm, joints, triangle, goal, float(last.swivel[0]))
        for value, solved in zip(values, solution, strict=True):
            value[frames] = solved
    firsts = (last.shoulder[0], last.elbow[0], last.wrist[0], last.swivel[0])
    pose = ArmPose(*(hold_last(value, finite, first) for value, first in zip(values, firsts, strict=True)))
    if not len(pose):
        return pose, state
    return pose, ArmState(ArmPose(pose.shoulder[-1:], pose.elbow[-1:], pose.wrist[-1:], pose.swivel[-1:]))


def _within_limits(
    arm: Arm, joints: tuple[BallJoint, BallJoint], triangle: ArmTriangle, goal: Floats, last: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return shoulder (N, 4), elbow (N,), wrist (N, 4) and swivel (N,) within limits.

    goal: (N, 3) m, the wrist's target in the shoulder's frame. last: rad, the swivel before the first frame.
    """
    swivel = choose_swivel(joints, triangle, last)
    upper, elbow = triangle.upper_rotation(swivel), triangle.elbow.copy()
    outside = ~joints[0].inside(upper)
    if outside.any():
        upper[outside], elbow[outside] = nearest_arm(arm, goal[outside])
    wrist = joints[1].nearest(triangle.wrist_rotation(upper, elbow))
    return rot.from_matrix(upper), elbow, rot.from_matrix(wrist), swivel


def _poles(arm: Arm, base: Floats, pole: Floats | None) -> Floats:
    """Return positions of the poles in the world, (F, 3) m; arm.pole where none is given or the pole is not finite."""
    default: Floats = base[:, :3, 3] + base[:, :3, :3] @ np.array(arm.pole)
    if pole is None:
        return default
    entered_poles = np.broadcast_to(pole, default.shape)
    poles: Floats = np.where(np.all(np.isfinite(entered_poles), axis=-1, keepdims=True), entered_poles, default)
    return poles
