"""Start poses of the Jacobian methods: each part at the one of many sampled poses that is nearest to its targets.

Starting at the frame before would keep that frame's errors, and a take could not be solved in pieces. So every frame
starts from its own targets, at the best of a few hundred poses spread evenly over the joints' ranges. From so near, the
iteration avoids most local minima and needs few steps.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand import jacobians
from ...hand.jacobians import hand_topology
from ...hand.model import HandModel
from ..qp import quadratic_program as qp
from .parts import HandParts
from .problem import RelativePoses
from .residual_rows import PartTargets, couplings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COUNT = 512
"""Number of sampled poses."""
TIGHT = 1e4
"""Weight of the soft couplings in these poses, relative to their even spread."""
NEAR_POSTURE = (0.003, 0.1)
"""m, posture weights for choosing the first start pose and the second."""


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """K poses and the positions and rotations of G parts' targets in them, relative to the joint above the part."""

    angles: Floats
    """(K, D + 1)"""
    before: Ints
    """(G, t) the joint above the part: the last that the part does not move."""
    places: Floats
    """(G, K, t, 3) m."""
    turns: Floats
    """(G, K, t, 3, 3)"""


def nearest(task: PartTargets, poses: RelativePoses, alike: bool, posture: float) -> RelativePoses:
    """The poses with each part at the sampled pose that is nearest to its targets.

    alike: whether all `poses` are still the same. posture: m, the posture weight.
    """
    table, wanted, worth = _table(task.hand, task.parts), task.wanted, task.worth
    first = slice(0, 1) if alike else slice(None)
    placed = jacobians.pose_joints(task.hand, poses.root[first], poses.angles[first, :-1])
    turns, places = placed.rotations[:, table.before], placed.positions[:, table.before]
    chosen = task.parts.targets
    weights = wanted.place_roots[:, chosen] ** 2
    local = (turns.swapaxes(-1, -2) @ (wanted.places[:, chosen] - places)[..., None])[..., 0]
    apart = np.einsum("fgt,gkt->gfk", weights, (table.places**2).sum(-1))
    apart -= 2 * _products(weights[..., None] * local, table.places)
    if wanted.turns is not None:
        turned = turns.swapaxes(-1, -2) @ wanted.turns[:, chosen]
        turned = (worth.turn**2 * wanted.turn_roots[:, chosen] ** 2)[..., None, None] * turned
        # |log R R̂ᵀ|² is about 3 − tr R R̂ᵀ, whose constant does not matter.
        apart -= _products(turned, table.turns)
    off = (table.angles[:, task.parts.dofs] - task.rest) * task.scales
    apart += posture**2 * (off**2).sum(-1).T[:, None]
    best = apart.argmin(-1).T
    result = poses.copy()
    for part, dofs in enumerate(task.parts.dofs):
        result.angles[:, dofs] = table.angles[best[:, part]][:, dofs]
    return result


def _products(wanted: Floats, table: Floats) -> Floats:
    """(G, F, K) inner products of wanted (F, G, t, ...) and the table's (G, K, t, ...)."""
    left = wanted.reshape(*wanted.shape[:2], -1).swapaxes(0, 1)
    products: Floats = left @ table.reshape(*table.shape[:2], -1).swapaxes(-1, -2)
    return products


@lru_cache(maxsize=64)
def _table(hand: HandModel, parts: HandParts) -> _Table:
    moves = hand_topology(hand).affected_by
    joints = np.array([*(hand.sites[site].joint for site in parts.sites), 0])[parts.targets]
    before = joints.copy()
    for part, dofs in enumerate(parts.dofs):
        own = dofs[dofs < hand.dofs]
        for t in range(joints.shape[1]):
            while moves[before[part, t]][own].any() and hand.parents[before[part, t]] >= 0:
                before[part, t] = hand.parents[before[part, t]]
    angles = spread(hand, parts)
    placed = jacobians.pose_joints(hand, np.tile(np.eye(4), (len(angles), 1, 1)), angles[:, :-1])
    offsets = np.array([*(hand.sites[site].offset for site in parts.sites), (0.0, 0.0, 0.0)])[parts.targets]
    back = placed.rotations[:, before].swapaxes(-1, -2)
    at = (
        (placed.rotations[:, joints] @ offsets[..., None])[..., 0]
        + placed.positions[:, joints]
        - placed.positions[:, before]
    )
    places, turns = (back @ at[..., None])[..., 0], back @ placed.rotations[:, joints]
    return _Table(angles, before, places.swapaxes(0, 1).copy(), turns.swapaxes(0, 1).copy())


def spread(hand: HandModel, parts: HandParts) -> Floats:
    """Sample poses (K, D + 1) within limits and couplings, the neutral pose first, spread evenly for each part.

    Low-discrepancy additive recurrence with powers of the generalised golden ratio (Roberts 2018, R sequence).
    Raises HandError where limits and hard couplings contradict each other.
    """
    wide = parts.dofs.shape[1]
    golden = 2.0
    for _ in range(60):
        golden = (1.0 + golden) ** (1.0 / (wide + 1))
    shares = (0.5 + np.arange(1, COUNT)[:, None] * golden ** -np.arange(1.0, wide + 1)) % 1.0
    low, high = hand.limits.T
    angles = np.tile(np.append(hand.neutral, 0.0), (COUNT, 1))
    for dofs in parts.dofs:
        own = dofs < hand.dofs
        angles[1:, dofs[own]] = low[dofs[own]] + shares[:, own] * (high - low)[dofs[own]]
    rows, lower, upper = (array[:-1] for array in couplings(hand))
    rows = rows[:, :-1]
    soft = np.array([row.soft for row in hand.couplings], bool)
    held = np.clip(angles[:, :-1] @ rows.T, lower, upper)[:, soft]
    hessian = np.eye(hand.dofs) + TIGHT * rows[soft].T @ rows[soft]
    gradient = -angles[:, :-1] - TIGHT * held @ rows[soft]
    bounds = [np.tile(np.concatenate(ends), (COUNT, 1)) for ends in ((low, lower[~soft]), (high, upper[~soft]))]
    hard = np.broadcast_to(rows[~soft], (COUNT, *rows[~soft].shape))
    hessians = np.broadcast_to(hessian, (COUNT, *hessian.shape))
    solution = qp.solve_all(qp.QuadraticProgram(hessians, gradient, bounds[0], bounds[1], hard))
    if np.any(solution.status != qp.Status.SOLVED):
        raise HandError(
            f"{hand.side} hand: no angles inside the limits meet the {np.sum(~soft)} couplings that must hold"
        )
    angles[:, :-1] = solution.x
    return angles
