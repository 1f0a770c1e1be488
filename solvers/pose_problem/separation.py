"""Keep digits apart: squares of the depths by which capsules of flesh exceed the allowed depth in each other.

With p and q the points in which the axes of a pair are nearest, r their radii, and n = (p - q) / |p - q|, the pair is
d = r - |p - q| deep. The derivative of d is -n · (∂p - ∂q), with the points fixed to their bones: as they are the
nearest points, moving them along the axes changes |p - q| only to second order.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import STARTS, Flesh, touches
from ...hand.jacobians import PosedJoints, hand_topology, pose_joints
from ...hand.model import HandModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MAX_PAIRS = 12
"""Maximum number of pairs of a frame that are considered in a step: those that exceed their depth most."""
MIN_DISTANCE = 1e-5
"""m, minimum distance between axes for a pair to have a direction in which it separates."""


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Maximum depths of the K pairs of a hand's capsules in each other in F frames."""

    flesh: Flesh
    allowed: Floats
    """(F, K) m, maximum depth of each pair; inf for no limit."""
    closed: Bools | None = None
    """(F, K) whether a pair should have exactly its maximum depth, which also closes gaps; None for no pair."""
    weight: float | Floats = 1.0
    """Weight of flesh that is too deep, relative to an objective of weight 1: a number or (F,)."""

    def select(self, rows: Ints) -> "Separation":
        """Return some of the frames."""
        weight = self.weight[rows] if isinstance(self.weight, np.ndarray) else self.weight
        closed = None if self.closed is None else self.closed[rows]
        return replace(self, allowed=self.allowed[rows], closed=closed, weight=weight)

    def residuals(self, hand: HandModel, angles: Floats) -> tuple[Floats, Floats]:
        """Return `excess` and its derivatives, weighted."""
        excess, slopes = self.excess(hand, angles)
        weight = np.broadcast_to(self.weight, len(angles))[:, None]
        return weight * excess, weight[..., None] * slopes

    def excess(self, hand: HandModel, angles: Floats) -> tuple[Floats, Floats]:
        """Return the excess depths (F, M) m of pairs, and their derivatives with respect to the angles (F, M, D) m/rad.

        They are those of the M pairs with the largest excess in each frame, at angles (F, D) rad; negative for pairs to
        close that are apart.
        """
        wrist = np.broadcast_to(np.eye(4), (len(angles), 4, 4))
        posed = pose_joints(hand, wrist, angles)
        frame, pair = np.nonzero(np.isfinite(self.allowed))
        touching = touches(self.flesh, posed.positions, frame, pair)
        beyond = np.full(self.allowed.shape, -np.inf)
        beyond[frame, pair] = touching.depths - self.allowed[frame, pair]
        number = np.zeros(self.allowed.shape, int)
        number[frame, pair] = np.arange(len(frame))
        off = np.maximum(beyond, 0.0)
        if self.closed is not None:
            off[self.closed] = beyond[self.closed]
        worst = np.argsort(-np.abs(off), axis=1, kind="stable")[:, :MAX_PAIRS]
        excess = np.take_along_axis(off, worst, axis=1)
        violated = np.flatnonzero(excess.ravel())
        slopes = np.zeros((excess.size, hand.dofs))
        rows = np.take_along_axis(number, worst, axis=1).ravel()[violated]
        slopes[violated] = _slopes(
            posed, self.flesh.pairs[:, worst.ravel()[violated]], touching.points[:, rows], frame[rows]
        )
        return excess, slopes.reshape(*excess.shape, hand.dofs)


def _slopes(posed: PosedJoints, capsules: Ints, points: Floats, frame: Ints) -> Floats:
    """Return the derivatives (N, D) m/rad of the depths of pairs of capsules (2, N), nearest in points (2, N, 3) m."""
    offset = points[0] - points[1]
    length = np.linalg.norm(offset, axis=1, keepdims=True)
    normal = np.where(length > MIN_DISTANCE, offset / np.maximum(length, MIN_DISTANCE), 0.0)
    topology = hand_topology(posed.hand)
    is_affected = topology.affected_by[STARTS[capsules]]
    total = np.zeros((len(frame), posed.hand.dofs))
    for sign, point, is_moved in zip((-1.0, 1.0), points, is_affected, strict=True):
        arms = point[:, None] - posed.positions[frame][:, topology.dof_joints]
        velocity = np.einsum("ndi,ndi->nd", np.cross(arms, normal[:, None]), posed.axes[frame])
        total += sign * np.where(is_moved, velocity, 0.0)
    return total
