"""Mode `follow`: the hand follows its targets from frame to frame at the gain and within velocity limits.

Dynamical 3.1: ω* = ω + K sk(R R̂ᵀ)^∨, v* = v + K (p − p̂). Errors decay as exp(−K t). A step of h seconds corrects the
share 1 − exp(−K h), which is stable for any gain; K h, as in Euler's method, would overshoot from K h = 1 on. A frame's
targets are those at its end. They are extrapolated back along their velocities to the start of each step, so that a
hand follows a steady motion without lag.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.jacobians import cross_matrix, integrate
from ...hand.scalar_math import ARRAY, SCALAR
from ...hand.targets import Targets
from ..wrist_alignment import PalmTargets, fit_wrist
from .dynamical_plan import DynamicalPlan
from .limb_kinematics import SiteTarget, evaluate, normal_equations, rotation_error
from .limb_step import StepLimit, add_couplings, solve_step, step_bounds
from .limb_targets import observed_dofs, one_frame, site_targets
from .limbs import LimbModel
from .settle_limb import add_damping

Floats = NDArray[np.float64]
RANK_TOLERANCE = 1e-9
"""Fraction of the largest eigenvalue below which the palm's targets do not determine a direction of its motion."""


@dataclass(frozen=True, slots=True)
class FollowMethod:
    """Gain, velocity limit and step count of mode `follow`."""

    gain: float
    """1/s, K"""
    max_speed: float
    """rad/s, v_max"""
    slope: float
    """1/rad, k of the limits' tanh"""
    damping: float
    """m², λ"""
    substeps: int
    """Steps for each frame."""

    def share(self, seconds: float) -> float:
        """Return the fraction of the error that is corrected in this time."""
        return -math.expm1(-self.gain * max(seconds, 0.0))

    def limit(self, seconds: float) -> StepLimit:
        """Return the limit of a step of this time."""
        return StepLimit(self.max_speed * max(seconds, 0.0), self.slope)


def follow(
    plan: DynamicalPlan,
    targets: Targets,
    time_steps: Floats,
    start: tuple[Floats, Floats, Floats],
    method: FollowMethod,
) -> tuple[Floats, Floats, Floats]:
    """Follow the targets from frame to frame.

    Args:
        plan: the hand's limbs and sites.
        targets: F frames.
        time_steps: (F,) s from the previous frame.
        start: root (4, 4) and angles (D,) before the first frame, and the root (4, 4) fitted to the palm there.
        method: gain and limits.

    Returns:
        (F, 4, 4) roots, (F, D) angles, and (4, 4) the root fitted to the palm's targets in the last frame.
    """
    root, start_angles, palm_root = start
    palm_roots = fit_wrist(plan.palm, targets, palm_root, plan.weights.rotation)
    palm_roots = np.broadcast_to(palm_roots, (len(targets), 4, 4))
    roots, solved = np.empty((len(targets), 4, 4)), np.empty((len(targets), len(start_angles)))
    angles = start_angles.tolist()
    palm_seen = plan.palm.seen(targets).tolist()
    for frame, time_step in enumerate(time_steps.tolist()):
        twist = np.zeros(6)
        if palm_seen[frame]:
            twist = palm_twist(plan.palm, targets, palm_roots[frame], frame, plan.weights.rotation)
            root = _follow_wrist(root, palm_roots[frame], twist, time_step, method)
        frames = one_frame(targets, palm_roots[frame], frame)
        for limb in plan.limbs:
            limb_targets = site_targets(SCALAR, limb, frames)
            if limb_targets:
                moving = _moving_targets(limb, limb_targets, targets, frame, (palm_roots[frame], twist))
                limb_angles = _follow_limb(limb, [angles[dof] for dof in limb.hand_dofs], moving, time_step, method)
                for dof, angle in zip(limb.hand_dofs, limb_angles, strict=True):
                    angles[dof] = angle
        roots[frame], solved[frame] = root, angles
    return roots, solved, palm_roots[-1]


def _follow_limb(
    limb: LimbModel, angles: list[float], targets: list["MovingTarget"], time_step: float, method: FollowMethod
) -> list[float]:
    """Return the angles (n,) of a limb at the end of a frame."""
    observed = observed_dofs(SCALAR, limb, [moving.target for moving in targets])
    substep = time_step / method.substeps
    fraction, limit = method.share(substep), method.limit(substep)
    for number in range(method.substeps):
        current = [moving.at_earlier_time(time_step - number * substep, substep) for moving in targets]
        posed = evaluate(SCALAR, limb, angles, current)
        program = normal_equations(limb, posed, current, fraction)
        add_couplings(SCALAR, limb, angles, program, fraction)
        bounds = step_bounds(SCALAR, limb, angles, limit, observed)
        step = solve_step(SCALAR, limb, add_damping(program, method.damping), bounds)
        # Rounding must not carry a joint beyond its limit.
        angles = [
            min(max(angle + change, min(angle, low)), max(angle, high))
            for angle, change, low, high in zip(angles, step, limb.low, limb.high, strict=True)
        ]
    return angles


@dataclass(frozen=True, slots=True)
class MovingTarget:
    """A target of a frame and its velocity relative to the palm."""

    target: SiteTarget[float]
    velocity: Floats | None
    """(3,) m/s"""
    angular_velocity: Floats | None
    """(3,) rad/s"""

    def at_earlier_time(self, seconds: float, substep: float) -> SiteTarget[float]:
        """Return the target `seconds` earlier, and its motion during `substep` seconds from there."""
        position, linear_motion, angular_motion = self.target.position, None, None
        rotation: Any = self.target.rotation
        if self.velocity is not None and position is not None:
            x, y, z = (np.array(position) - self.velocity * seconds).tolist()
            position, linear_motion = (x, y, z), tuple((self.velocity * substep).tolist())
        if self.angular_velocity is not None and rotation is not None:
            matrix = exp_rotation(-self.angular_velocity * seconds) @ np.array(rotation).T
            rotation = tuple(tuple(column) for column in matrix.T.tolist())
            angular_motion = tuple((self.angular_velocity * substep).tolist())
        return self.target._replace(
            position=position, rotation=rotation, linear_motion=linear_motion, angular_motion=angular_motion
        )


def _moving_targets(
    limb: LimbModel,
    limb_targets: list[SiteTarget[float]],
    targets: Targets,
    frame: int,
    palm_motion: tuple[Floats, Floats],
) -> list[MovingTarget]:
    """Return the limb's targets with their velocities relative to the palm with root (4, 4) and twist (6,)."""
    palm_root, twist = palm_motion
    result = []
    for limb_target in limb_targets:
        column = limb.sites[limb_target.site].target
        velocity = angular_velocity = None
        if targets.velocities is not None and limb_target.position is not None:
            arm = targets.positions[frame, column] - palm_root[:3, 3]
            palm_velocity = twist[:3] + np.cross(twist[3:], arm)
            velocity = (targets.velocities[frame, column] - palm_velocity) @ palm_root[:3, :3]
        if targets.angular_velocities is not None and limb_target.rotation is not None:
            angular_velocity = (targets.angular_velocities[frame, column] - twist[3:]) @ palm_root[:3, :3]
        result.append(MovingTarget(limb_target, velocity, angular_velocity))
    return result


def palm_twist(palm: PalmTargets, targets: Targets, root: Floats, frame: int, rotation_weight: float) -> Floats:
    """Return (6,) m/s and rad/s of the wrist in the world, by least squares; 0 in directions that no target
    determines."""
    matrix, right_side = np.zeros((6, 6)), np.zeros(6)
    for jacobian, velocity, weight in _palm_velocities(palm, targets, root, frame, rotation_weight):
        matrix += weight * jacobian.T @ jacobian
        right_side += weight * jacobian.T @ velocity
    if not matrix.any():
        return right_side
    eigenvalues, axes = np.linalg.eigh(matrix)
    determined = eigenvalues > RANK_TOLERANCE * eigenvalues[-1]
    axes = axes[:, determined]
    twist: Floats = axes @ ((axes.T @ right_side) / eigenvalues[determined])
    return twist


def _palm_velocities(
    palm: PalmTargets, targets: Targets, root: Floats, frame: int, rotation_weight: float
) -> Iterator[tuple[Floats, Floats, float]]:
    """Least-squares rows of the palm's measured velocities: Jacobian (3, 6), velocity (3,) and weight."""
    if targets.velocities is not None:
        for column in palm.markers.columns:
            if targets.weights[frame, column] > 0:
                arm = targets.positions[frame, column] - root[:3, 3]
                jacobian = np.hstack([np.eye(3), -cross_matrix(arm)])
                yield jacobian, targets.velocities[frame, column], float(targets.weights[frame, column])
    if targets.angular_velocities is not None and targets.rotation_weights is not None:
        for column in palm.rotation_columns:
            if targets.rotation_weights[frame, column] > 0:
                jacobian = np.hstack([np.zeros((3, 3)), np.eye(3)])
                weight = float(targets.rotation_weights[frame, column]) * rotation_weight**2
                yield jacobian, targets.angular_velocities[frame, column], weight


def _follow_wrist(root: Floats, palm_root: Floats, twist: Floats, time_step: float, method: FollowMethod) -> Floats:
    """Return T_world_wrist (4, 4) after a frame in which it follows the pose fitted to its targets."""
    substep = time_step / method.substeps
    for number in range(method.substeps):
        seconds = time_step - number * substep
        rotation = exp_rotation(-twist[3:] * seconds) @ palm_root[:3, :3]
        angular_error, _ = rotation_error(ARRAY, _columns(rotation), _columns(root[:3, :3]))
        error = np.concatenate([palm_root[:3, 3] - twist[:3] * seconds - root[:3, 3], np.ravel(angular_error)])
        root = integrate(root[None], np.zeros((1, 0)), (method.share(substep) * error + twist * substep)[None])[0][0]
    return root


def _columns(matrix: Floats) -> tuple[tuple[Floats, ...], ...]:
    return tuple(tuple(np.array([value]) for value in column) for column in matrix.T)


def exp_rotation(vector: Floats) -> Floats:
    """Return the exponential map (3, 3) of a rotation vector (3,) in rad."""
    angle = np.linalg.norm(vector, axis=-1)
    return rot.to_matrix(rot.from_axis_angle(vector / max(float(angle), 1e-300), angle))
