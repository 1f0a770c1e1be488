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
from .limb_kinematics import SiteTarget, normal, place, turn_error
from .limb_step import TurnBounds, add_couplings, bounds, step
from .limb_targets import look, one_frame, told
from .limbs import LimbModel
from .steady_limb import damped

Floats = NDArray[np.float64]
STILL: Floats = np.zeros(6)
TOLD = 1e-9
"""Part of the largest eigenvalue below which the palm's targets do not determine a direction of its motion."""


@dataclass(frozen=True, slots=True)
class FollowRate:
    """Gain, velocity limit and step count of mode `follow`."""

    gain: float
    """1/s, K"""
    fastest: float
    """rad/s, v_max"""
    slope: float
    """1/rad, k of the limits' tanh"""
    damping: float
    """m², λ"""
    substeps: int
    """Steps for each frame."""

    def share(self, seconds: float) -> float:
        """The share of the error that is corrected in this time."""
        return -math.expm1(-self.gain * max(seconds, 0.0))

    def room(self, seconds: float) -> TurnBounds:
        """The bounds of a step of this time."""
        return TurnBounds(self.fastest * max(seconds, 0.0), self.slope)


def followed(
    plan: DynamicalPlan, targets: Targets, spans: Floats, begin: tuple[Floats, Floats, Floats], pace: FollowRate
) -> tuple[Floats, Floats, Floats]:
    """(F, 4, 4) roots and (F, D) angles, each frame from the one before, and (4, 4) the wrist as last fitted.

    spans: (F,) s from the previous frame; begin: root and angles before the first frame, and the wrist as fitted there.
    """
    root, angles, last = begin
    laid = np.broadcast_to(fit_wrist(plan.base, targets, last, plan.worth.turn), (len(targets), 4, 4))
    roots, found = np.empty((len(targets), 4, 4)), np.empty((len(targets), len(angles)))
    now = angles.tolist()
    carried = plan.base.seen(targets).tolist()
    for frame, span in enumerate(spans.tolist()):
        twist = palm_twist(plan.base, targets, laid[frame], frame, plan.worth.turn) if carried[frame] else STILL
        if carried[frame]:
            root = _after(root, laid[frame], twist, span, pace)
        sights = _Sights(targets, laid[frame], twist, frame)
        for limb in plan.limbs:
            seen = look(SCALAR, limb, sights.frames)
            if seen:
                solved = _limb(limb, [now[dof] for dof in limb.dofs], sights.moving(limb, seen), span, pace)
                for dof, angle in zip(limb.dofs, solved, strict=True):
                    now[dof] = angle
        roots[frame], found[frame] = root, now
    return roots, found, laid[-1]


def _limb(
    limb: LimbModel, angles: list[float], seen: list["MovingTarget"], span: float, pace: FollowRate
) -> list[float]:
    """The angles (n,) of a limb at the end of a frame."""
    known = told(SCALAR, limb, [each.seen for each in seen])
    time = span / pace.substeps
    share, room = pace.share(time), pace.room(time)
    for number in range(pace.substeps):
        there = [each.before(span - number * time, time) for each in seen]
        placed = place(SCALAR, limb, angles, there)
        program = normal(limb, placed, there, share)
        add_couplings(SCALAR, limb, angles, program, share)
        move = step(SCALAR, limb, damped(program, pace.damping), bounds(SCALAR, limb, angles, room, known))
        # Rounding must not carry a joint beyond its limit.
        angles = [
            min(max(angle + way, min(angle, low)), max(angle, high))
            for angle, way, low, high in zip(angles, move, limb.low, limb.high, strict=True)
        ]
    return angles


@dataclass(frozen=True, slots=True)
class MovingTarget:
    """A target of a frame and its velocity relative to the palm."""

    seen: SiteTarget[float]
    velocity: Floats | None
    """(3,) m/s"""
    spin: Floats | None
    """(3,) rad/s"""

    def before(self, earlier: float, time: float) -> SiteTarget[float]:
        """The target `earlier` seconds before, and its motion during `time` seconds from there."""
        place_, move, spin = self.seen.place, None, None
        turn: Any = self.seen.turn
        if self.velocity is not None and place_ is not None:
            x, y, z = (np.array(place_) - self.velocity * earlier).tolist()
            place_, move = (x, y, z), tuple((self.velocity * time).tolist())
        if self.spin is not None and turn is not None:
            back = turned_by(-self.spin * earlier) @ np.array(turn).T
            one, two, three = (tuple(column) for column in back.T.tolist())
            turn, spin = (one, two, three), tuple((self.spin * time).tolist())
        return self.seen._replace(place=place_, turn=turn, move=move, spin=spin)


class _Sights:
    """A frame's targets relative to the wrist as fitted to the palm's targets."""

    def __init__(self, targets: Targets, root: Floats, twist: Floats, frame: int) -> None:
        self.frames = one_frame(targets, root, frame)
        self.velocities, self.spins = targets.velocities, targets.angular_velocities
        self.targets, self.root, self.twist, self.frame = targets, root, twist, frame

    def moving(self, limb: LimbModel, seen: list[SiteTarget[float]]) -> list[MovingTarget]:
        """The targets with their velocities relative to the palm."""
        result = []
        for each in seen:
            column = limb.marks[each.mark].column
            velocity = spin = None
            if self.velocities is not None and each.place is not None:
                arm = self.targets.positions[self.frame, column] - self.root[:3, 3]
                carried = self.twist[:3] + np.cross(self.twist[3:], arm)
                velocity = (self.velocities[self.frame, column] - carried) @ self.root[:3, :3]
            if self.spins is not None and each.turn is not None:
                spin = (self.spins[self.frame, column] - self.twist[3:]) @ self.root[:3, :3]
            result.append(MovingTarget(each, velocity, spin))
        return result


def palm_twist(base: PalmTargets, targets: Targets, root: Floats, frame: int, turn_length: float) -> Floats:
    """(6,) m/s and rad/s of the wrist in the world, by least squares; 0 in directions that no target determines."""
    matrix, right = np.zeros((6, 6)), np.zeros(6)
    for rows, wanted, weight in _palm_rates(base, targets, root, frame, turn_length):
        matrix += weight * rows.T @ rows
        right += weight * rows.T @ wanted
    if not matrix.any():
        return right
    sizes, axes = np.linalg.eigh(matrix)
    tells = sizes > TOLD * sizes[-1]
    along = axes[:, tells]
    found: Floats = along @ ((along.T @ right) / sizes[tells])
    return found


def _palm_rates(
    base: PalmTargets, targets: Targets, root: Floats, frame: int, turn_length: float
) -> Iterator[tuple[Floats, Floats, float]]:
    """Least-squares rows of the palm's measured velocities: Jacobian (3, 6), velocity (3,) and weight."""
    if targets.velocities is not None:
        for column in base.palm.columns:
            if targets.weights[frame, column] > 0:
                rows = np.hstack([np.eye(3), -cross_matrix(targets.positions[frame, column] - root[:3, 3])])
                yield rows, targets.velocities[frame, column], float(targets.weights[frame, column])
    if targets.angular_velocities is not None and targets.rotation_weights is not None:
        for column in base.rotation_columns:
            if targets.rotation_weights[frame, column] > 0:
                rows = np.hstack([np.zeros((3, 3)), np.eye(3)])
                weight = float(targets.rotation_weights[frame, column]) * turn_length**2
                yield rows, targets.angular_velocities[frame, column], weight


def _after(root: Floats, laid: Floats, twist: Floats, span: float, pace: FollowRate) -> Floats:
    """(4, 4) T_world_wrist after a frame in which it follows the pose `laid` fitted to its targets."""
    time = span / pace.substeps
    for number in range(pace.substeps):
        earlier = span - number * time
        turn = turned_by(-twist[3:] * earlier) @ laid[:3, :3]
        found, _ = turn_error(ARRAY, _columns(turn), _columns(root[:3, :3]))
        missed = np.concatenate([laid[:3, 3] - twist[:3] * earlier - root[:3, 3], np.ravel(found)])
        root = integrate(root[None], np.zeros((1, 0)), (pace.share(time) * missed + twist * time)[None])[0][0]
    return root


def _columns(matrix: Floats) -> tuple[tuple[Floats, ...], ...]:
    return tuple(tuple(np.array([value]) for value in column) for column in matrix.T)


def turned_by(vector: Floats) -> Floats:
    """(3, 3) the exponential map of a rotation vector (3,) in rad."""
    angle = np.linalg.norm(vector, axis=-1)
    return rot.to_matrix(rot.from_axis_angle(vector / max(float(angle), 1e-300), angle))
