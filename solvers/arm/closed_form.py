"""An arm of seven degrees of freedom in closed form, within limits. CGA-arm section 4, FABRIK-CGA exercise 3.3.

What is left free by a wrist's place and rotation is the swivel: the elbow on its circle, where the sphere of the upper
arm about the shoulder meets that of the forearm about the wrist. swivel.py chooses it.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..solver import hold_last
from .arm_model import Arm, ArmPose, ArmState, at_rest, base_of
from .ball_joints import BallJoint, joint
from .elbow_circle import ArmTriangle, triangle_of
from .nearest_arm import nearest
from .swivel import choose

Floats = NDArray[np.float64]


def solve(
    arm: Arm, wrist: Floats, shoulder: Floats, pole: Floats | None = None, state: ArmState | None = None
) -> tuple[ArmPose, ArmState]:
    """The arm that brings its wrist to T_world_wrist (F, 4, 4), and the state to hand to the next piece.

    shoulder: T_world_shoulder (4, 4) or (F, 4, 4), or its place (3,) or (F, 3) m when it does not turn. pole: the place
    (3,) or (F, 3) m that the elbow points to, a pole target or an elbow's marker; by default arm.pole.

    A wrist that is too far, or too near for the elbow to fold, is put straight towards its target. The swivel is the
    pole's if the limits hold there, else the nearest to it where they hold; of two, that which goes on from the frame
    before. Where they hold nowhere, shoulder and wrist turn as far as they may and the arm comes as near as its limits
    let it. A frame that is not finite keeps the last pose. Solving in pieces gives the poses of solving at once.
    """
    state = state or at_rest(arm)
    base = base_of(shoulder, len(wrist))
    poles = _poles(arm, base, pole)
    known = np.all(np.isfinite(wrist), axis=(1, 2)) & np.all(np.isfinite(base), axis=(1, 2))
    rows = np.flatnonzero(known)
    last = state.last
    values = [np.repeat(x, len(wrist), 0) for x in (last.shoulder, last.elbow, last.wrist, last.swivel)]
    if len(rows):
        joints = joint(arm.shoulder, "shoulder"), joint(arm.wrist, "wrist")
        triangle, goal = triangle_of(arm, wrist[rows], base[rows], poles[rows])
        found = _within_limits(arm, joints, triangle, goal, float(last.swivel[0]))
        for value, answer in zip(values, found, strict=True):
            value[rows] = answer
    firsts = (last.shoulder[0], last.elbow[0], last.wrist[0], last.swivel[0])
    pose = ArmPose(*(hold_last(value, known, first) for value, first in zip(values, firsts, strict=True)))
    if not len(pose):
        return pose, state
    return pose, ArmState(ArmPose(pose.shoulder[-1:], pose.elbow[-1:], pose.wrist[-1:], pose.swivel[-1:]))


def _within_limits(
    arm: Arm, joints: tuple[BallJoint, BallJoint], triangle: ArmTriangle, goal: Floats, last: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Shoulder, elbow, wrist and swivel of an arm whose wrist shall be at goal (N, 3) m in the shoulder's frame."""
    swivel = choose(joints, triangle, last)
    upper, elbow = triangle.upper_at(swivel), triangle.elbow.copy()
    outside = ~joints[0].inside(upper)
    if outside.any():
        upper[outside], elbow[outside] = nearest(arm, goal[outside])
    turn = joints[1].nearest(triangle.wrist_of(upper, elbow))
    return rot.from_matrix(upper), elbow, rot.from_matrix(turn), swivel


def _poles(arm: Arm, base: Floats, pole: Floats | None) -> Floats:
    """(F, 3) m the poles' places; a pole that is not finite is arm.pole's."""
    own: Floats = base[:, :3, 3] + base[:, :3, :3] @ np.array(arm.pole)
    if pole is None:
        return own
    given = np.broadcast_to(pole, own.shape)
    poles: Floats = np.where(np.all(np.isfinite(given), axis=-1, keepdims=True), given, own)
    return poles
