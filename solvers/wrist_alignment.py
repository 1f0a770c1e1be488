"""The wrist's pose from the targets on the palm: positions and rotations together, by least squares."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hand import kinematics
from ..hand import rotations as rot
from ..hand.jacobians import hand_topology
from ..hand.model import HandModel
from ..hand.scalar_math import ARRAY
from ..hand.targets import Targets
from .planar.palm_pose import PalmMarkers, attitude, palm_of, spans_a_plane
from .solver import hold_last

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PalmTargets:
    """The targets that are fixed to the palm."""

    palm: PalmMarkers
    turn_columns: list[int]
    """(R,) the targets whose rotation is the palm's, because no degree of freedom rotates their joint."""
    turns_at_rest: Floats
    """(R, 3, 3) in the wrist's frame."""

    def places_seen(self, targets: Targets) -> bool:
        """Whether any frame has a position target on the palm."""
        return bool(self.palm.columns) and bool(np.any(targets.weights[:, self.palm.columns] > 0))

    def turns_seen(self, targets: Targets) -> bool:
        """Whether any frame has a rotation target on the palm."""
        weights = targets.rotation_weights
        return bool(self.turn_columns) and weights is not None and bool(np.any(weights[:, self.turn_columns] > 0))

    def seen(self, targets: Targets) -> Bools:
        """(F,) whether the frame has a target on the palm, position or rotation."""
        seen: Bools = np.any(targets.weights[:, self.palm.columns] > 0, axis=1)
        if targets.rotation_weights is not None:
            seen = seen | np.any(targets.rotation_weights[:, self.turn_columns] > 0, axis=1)
        return seen


def base_of(hand: HandModel, sites: list[int]) -> PalmTargets:
    """Find the sites that are fixed to the palm."""
    joints = [hand.sites[site].joint for site in sites]
    columns = [column for column, joint in enumerate(joints) if not hand_topology(hand).affected_by[joint].any()]
    still = kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs)))
    turns = kinematics.joint_frames(hand, still)[0, [joints[column] for column in columns], :3, :3]
    return PalmTargets(palm_of(hand, sites), columns, turns)


def laid_roots(base: PalmTargets, targets: Targets, last: Floats, turn_length: float) -> Floats:
    """Fit the wrist to the targets on the palm by weighted least squares.

    Whatever the targets of a frame do not determine stays as in the frame before.

    Args:
        base: the targets on the palm.
        targets: F frames.
        last: (4, 4) T_world_wrist of the frame before the first.
        turn_length: m, the position error that an error of one radian counts as.

    Returns:
        (F, 4, 4) T_world_wrist; (1, 4, 4), `last`, if no target is on the palm.
    """
    weights = targets.rotation_weights
    if targets.rotations is None or weights is None or not base.turns_seen(targets):
        return base.palm.roots(targets, last) if base.places_seen(targets) else last[None]
    asked = weights[:, base.turn_columns]
    turns = asked_turns(targets.rotations[:, base.turn_columns], asked)
    seen = targets.weights[:, base.palm.columns]
    there = np.where(seen[..., None] > 0, targets.positions[:, base.palm.columns], 0.0)
    total = np.maximum(seen.sum(1), 1e-12)[:, None]
    middle, centre = (seen[..., None] * there).sum(1) / total, seen @ base.palm.at_rest / total
    spread = np.einsum("fp,fpi,fpj->fij", seen, there - middle[:, None], base.palm.at_rest - centre[:, None])
    # Positions cost a constant minus 2 tr(Rᵀ B), rotations a constant minus tr(Rᵀ M) with M = R_i R_restᵀ.
    spread = spread + turn_length**2 / 2 * np.einsum("fr,frij,rkj->fik", asked, turns, base.turns_at_rest)
    attitudes, tells = attitude(ARRAY, [[spread[:, i, j] for j in range(3)] for i in range(3)])
    known: Any = tells & np.any(asked > 0, axis=1)
    roots = base.palm.roots(targets, last)
    roots = np.broadcast_to(roots, (len(targets), 4, 4)).copy()
    laid = np.moveaxis(np.array(attitudes), -1, 0)
    turn = hold_last(
        np.where(known[:, None, None], laid, roots[:, :3, :3]),
        known | spans_a_plane(base.palm.at_rest, seen),
        last[:3, :3],
    )
    roots[:, :3, :3] = turn
    place = middle - np.einsum("fij,fj->fi", turn, centre)
    roots[:, :3, 3] = hold_last(place, seen.sum(1) > 0, last[:3, 3])
    return roots


def asked_turns(quaternions: Floats, weights: Floats) -> Floats:
    """Convert quaternions (F, R, 4) of any length to matrices (F, R, 3, 3), the identity where the weight is zero."""
    seen = np.where(weights[..., None] > 0, quaternions, rot.IDENTITY)
    return rot.to_matrix(seen / np.linalg.norm(seen, axis=-1, keepdims=True))
