"""The floating-base problem of the paper: wrist and joints in one program, driven by all targets (Dynamical 3.2)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.jacobians import ROOT_DOFS, PosedJoints, integrate, pose_joints
from ...hand.model import HandModel
from ...hand.scalar_math import ARRAY, SCALAR
from ...hand.targets import Targets
from ..qp import quadratic_program as qp
from .follow import FollowMethod, exp_rotation
from .limb_kinematics import rotation_error
from .limbs import LimbWeights

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FrameGoals:
    """The targets of one frame."""

    sites: NDArray[np.int64]
    positions: Floats
    """(T, 3) m"""
    weights: Floats
    """(T,)"""
    velocities: Floats
    """(T, 3) m/s"""
    rotations: Floats
    """(T, 3, 3)"""
    rotation_weights: Floats
    """(T,) m² per rad²"""
    angular_velocities: Floats
    """(T, 3) rad/s"""

    def at_earlier_time(self, seconds: float) -> "FrameGoals":
        """Return the targets `seconds` earlier, extrapolated back along their velocities."""
        if not (self.velocities.any() or self.angular_velocities.any()):
            return self
        pairs = zip(self.angular_velocities, self.rotations, strict=True)
        rotations = np.stack([exp_rotation(-velocity * seconds) @ rotation for velocity, rotation in pairs])
        return replace(self, positions=self.positions - seconds * self.velocities, rotations=rotations)


def goals_of(targets: Targets, frame: int, rotation_weight: float) -> FrameGoals:
    """Return the targets of one frame; missing ones have a weight of 0."""
    count, weights = len(targets.sites), targets.weights[frame]
    velocities = angular_velocities = np.zeros((count, 3))
    quaternions, rotation_weights = np.tile(rot.IDENTITY, (count, 1)), np.zeros(count)
    if targets.velocities is not None:
        velocities = np.where(weights[:, None] > 0, targets.velocities[frame], 0.0)
    if targets.rotations is not None and targets.rotation_weights is not None:
        rotation_weights = targets.rotation_weights[frame] * rotation_weight**2
        quaternions = np.where(rotation_weights[:, None] > 0, targets.rotations[frame], quaternions)
    if targets.angular_velocities is not None:
        angular_velocities = np.where(rotation_weights[:, None] > 0, targets.angular_velocities[frame], 0.0)
    rotations = rot.to_matrix(quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True))
    positions = np.where(weights[:, None] > 0, targets.positions[frame], 0.0)
    return FrameGoals(targets.sites, positions, weights, velocities, rotations, rotation_weights, angular_velocities)


def follow_floating(
    hand: HandModel,
    targets: Targets,
    time_steps: Floats,
    start: tuple[Floats, Floats],
    method: tuple[FollowMethod, LimbWeights],
) -> tuple[Floats, Floats]:
    """Return roots (F, 4, 4) and angles (F, D); each frame starts from the previous one.

    time_steps: (F,) s from the previous frame; start: root (4, 4) and angles (D,) before the first frame.
    """
    root, angles = start[0][None], start[1][None]
    roots, solved = np.empty((len(targets), 4, 4)), np.empty((len(targets), hand.dofs))
    follow, weights = method
    working = None
    for frame, time_step in enumerate(time_steps.tolist()):
        goals, substep = goals_of(targets, frame, weights.rotation), time_step / follow.substeps
        if substep > 0 and (goals.weights.any() or goals.rotation_weights.any()):
            for number in range(follow.substeps):
                current = goals.at_earlier_time(time_step - number * substep)
                solution = qp.solve(
                    step_program(pose_joints(hand, root, angles), angles[0], current, method, substep), working
                )
                working = solution.working
                root, angles = integrate(root, angles, solution.x[None])
                angles = np.clip(angles, *hand.limits.T)
        roots[frame], solved[frame] = root[0], angles[0]
    return roots, solved


def step_program(
    posed: PosedJoints, angles: Floats, goals: FrameGoals, method: tuple[FollowMethod, LimbWeights], substep: float
) -> qp.QuadraticProgram:
    """Return the quadratic program whose solution (6 + D,) is the step ν · substep of one frame.

    Dynamical 3.2: minimise Σ w ‖J ν − v*‖² + λ ‖ν‖² within the joints' limits and the couplings.
    """
    follow, weights = method
    hand, fraction, limit = posed.hand, follow.share(substep), follow.limit(substep)
    linear, angular = (jacobian[0] for jacobian in posed.jacobians(goals.sites))
    joints = [hand.sites[site].joint for site in goals.sites]
    translation = fraction * (goals.positions - posed.site_positions(goals.sites)[0]) + substep * goals.velocities
    error, _ = rotation_error(ARRAY, _columns(goals.rotations), _columns(posed.rotations[0, joints]))
    rotation = fraction * np.stack(error, axis=-1) + substep * goals.angular_velocities
    hessian = np.einsum("t,tik,til->kl", goals.weights, linear, linear)
    hessian += np.einsum("t,tik,til->kl", goals.rotation_weights, angular, angular)
    hessian += follow.damping * np.eye(ROOT_DOFS + hand.dofs)
    right_side = np.einsum("t,tik,ti->k", goals.weights, linear, translation)
    right_side += np.einsum("t,tik,ti->k", goals.rotation_weights, angular, rotation)
    low, high = np.full(ROOT_DOFS + hand.dofs, -np.inf), np.full(ROOT_DOFS + hand.dofs, np.inf)
    low[ROOT_DOFS:] = -np.asarray(limit.max_step_towards(ARRAY, angles - hand.limits[:, 0]))
    high[ROOT_DOFS:] = limit.max_step_towards(ARRAY, hand.limits[:, 1] - angles)
    rows = []
    for coupling in hand.couplings:
        row = np.concatenate([np.zeros(ROOT_DOFS), coupling.coefficients])
        total = float(coupling.coefficients @ angles)
        if coupling.soft:
            violation = min(max(total, coupling.lower), coupling.upper) - total
            if violation or coupling.lower == coupling.upper:
                hessian += weights.coupling**2 * np.outer(row, row)
                right_side += weights.coupling**2 * fraction * violation * row
        else:
            rows.append(row)
            low = np.append(low, -limit.max_step_towards(SCALAR, total - coupling.lower))
            high = np.append(high, limit.max_step_towards(SCALAR, coupling.upper - total))
    return qp.QuadraticProgram(hessian, -right_side, low, high, np.reshape(rows, (-1, ROOT_DOFS + hand.dofs)))


def _columns(matrices: Floats) -> tuple[tuple[Floats, ...], ...]:
    """Return the columns of matrices (T, 3, 3) as tuples of arrays (T,)."""
    return tuple(tuple(matrices[:, i, j] for i in range(3)) for j in range(3))
