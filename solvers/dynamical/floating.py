"""The floating-base problem of the paper: wrist and joints in one program, driven by all targets (Dynamical 3.2)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.jacobians import ROOT_DOFS, PosedJoints, integrate
from ...hand.jacobians import pose_joints as placed_at
from ...hand.model import HandModel
from ...hand.scalar_math import ARRAY, SCALAR
from ...hand.targets import Targets
from ..qp import quadratic_program as qp
from .limb_kinematics import turn_error
from .limbs import LimbWeights
from .rate_limited import FollowRate, turned_by

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FrameGoals:
    """The targets of one frame."""

    sites: NDArray[np.int64]
    places: Floats
    """(T, 3) m"""
    weights: Floats
    """(T,)"""
    velocities: Floats
    """(T, 3) m/s"""
    turns: Floats
    """(T, 3, 3)"""
    turn_weights: Floats
    """(T,) m² per rad²"""
    spins: Floats
    """(T, 3) rad/s"""

    def before(self, earlier: float) -> "FrameGoals":
        """The targets `earlier` seconds before, extrapolated back along their velocities."""
        if not (self.velocities.any() or self.spins.any()):
            return self
        turns = np.stack([turned_by(-spin * earlier) @ turn for spin, turn in zip(self.spins, self.turns, strict=True)])
        return replace(self, places=self.places - earlier * self.velocities, turns=turns)


def goals_of(targets: Targets, frame: int, turn_length: float) -> FrameGoals:
    """The targets of one frame; missing ones have a weight of 0."""
    count, weights = len(targets.sites), targets.weights[frame]
    velocities = spins = np.zeros((count, 3))
    turns, turn_weights = np.tile(rot.IDENTITY, (count, 1)), np.zeros(count)
    if targets.velocities is not None:
        velocities = np.where(weights[:, None] > 0, targets.velocities[frame], 0.0)
    if targets.rotations is not None and targets.rotation_weights is not None:
        asked = targets.rotation_weights[frame]
        turns, turn_weights = np.where(asked[:, None] > 0, targets.rotations[frame], turns), asked * turn_length**2
    if targets.angular_velocities is not None:
        spins = np.where(turn_weights[:, None] > 0, targets.angular_velocities[frame], 0.0)
    matrices = rot.to_matrix(turns / np.linalg.norm(turns, axis=1, keepdims=True))
    places = np.where(weights[:, None] > 0, targets.positions[frame], 0.0)
    return FrameGoals(targets.sites, places, weights, velocities, matrices, turn_weights, spins)


def floated(
    hand: HandModel, targets: Targets, spans: Floats, begin: tuple[Floats, Floats], pace: tuple[FollowRate, LimbWeights]
) -> tuple[Floats, Floats]:
    """(F, 4, 4) roots and (F, D) angles, each frame from the one before.

    spans: (F,) s from the previous frame; begin: root (4, 4) and angles (D,) before the first frame.
    """
    root, angles = begin[0][None], begin[1][None]
    roots, found = np.empty((len(targets), 4, 4)), np.empty((len(targets), hand.dofs))
    how, worth = pace
    working = None
    for frame, span in enumerate(spans.tolist()):
        goals, time = goals_of(targets, frame, worth.turn), span / how.substeps
        if time > 0 and (goals.weights.any() or goals.turn_weights.any()):
            for number in range(how.substeps):
                program = program_of(
                    placed_at(hand, root, angles), angles[0], goals.before(span - number * time), pace, time
                )
                solution = qp.solve(program, working)
                working = solution.working
                root, angles = integrate(root, angles, solution.x[None])
                angles = np.clip(angles, *hand.limits.T)
        roots[frame], found[frame] = root[0], angles[0]
    return roots, found


def program_of(
    placed: PosedJoints, angles: Floats, goals: FrameGoals, pace: tuple[FollowRate, LimbWeights], time: float
) -> qp.QuadraticProgram:
    """The quadratic program whose solution (6 + D,) is the step ν · time of one frame.

    Dynamical 3.2: minimise Σ w ‖J ν − v*‖² + λ ‖ν‖² within the joints' limits and the couplings.
    """
    how, worth = pace
    hand, share, room = placed.hand, how.share(time), how.room(time)
    moves, turns = (each[0] for each in placed.jacobians(goals.sites))
    joints = [hand.sites[site].joint for site in goals.sites]
    missed = share * (goals.places - placed.site_positions(goals.sites)[0]) + time * goals.velocities
    error, _ = turn_error(ARRAY, _by_columns(goals.turns), _by_columns(placed.rotations[0, joints]))
    turned = share * np.stack(error, axis=-1) + time * goals.spins
    hessian = np.einsum("t,tik,til->kl", goals.weights, moves, moves)
    hessian += np.einsum("t,tik,til->kl", goals.turn_weights, turns, turns) + how.damping * np.eye(
        ROOT_DOFS + hand.dofs
    )
    pull = np.einsum("t,tik,ti->k", goals.weights, moves, missed)
    pull += np.einsum("t,tik,ti->k", goals.turn_weights, turns, turned)
    low, high = np.full(ROOT_DOFS + hand.dofs, -np.inf), np.full(ROOT_DOFS + hand.dofs, np.inf)
    low[ROOT_DOFS:] = -np.asarray(room.up_to(ARRAY, angles - hand.limits[:, 0]))
    high[ROOT_DOFS:] = room.up_to(ARRAY, hand.limits[:, 1] - angles)
    rows = []
    for row in hand.couplings:
        along = np.concatenate([np.zeros(ROOT_DOFS), row.coefficients])
        total = float(row.coefficients @ angles)
        if row.soft:
            way = min(max(total, row.lower), row.upper) - total
            if way or row.lower == row.upper:
                hessian += worth.coupling**2 * np.outer(along, along)
                pull += worth.coupling**2 * share * way * along
        else:
            rows.append(along)
            low = np.append(low, -room.up_to(SCALAR, total - row.lower))
            high = np.append(high, room.up_to(SCALAR, row.upper - total))
    return qp.QuadraticProgram(hessian, -pull, low, high, np.reshape(rows, (-1, ROOT_DOFS + hand.dofs)))


def _by_columns(matrices: Floats) -> tuple[tuple[Floats, ...], ...]:
    """The columns of matrices (T, 3, 3) as tuples of arrays (T,)."""
    return tuple(tuple(matrices[:, i, j] for i in range(3)) for j in range(3))
