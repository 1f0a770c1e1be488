"""Where the Jacobian methods begin: the wrist from the palm's targets, each part at the nearest of many poses.

A frame that began at the one before it would keep that one's errors, and no take could be solved in pieces. So every
frame begins at the pose nearest to its own targets, of a few hundred that are spread evenly over what the joints can
do. From so near, ways to bend that only look near are not found, and few steps are left.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand import jacobians
from ...hand.jacobians import linkage
from ...hand.model import HandModel
from ..qp import quadratic_program as qp
from .parts import HandParts
from .problem import RelativePoses
from .residual_rows import PartTargets, couplings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COUNT = 512
"""Poses that a part may begin at."""
TIGHT = 1e4
"""How much nearer the couplings that yield are held than the even spread, in these poses."""
NEAR_POSTURE = (0.003, 0.1)
"""Metres of distance that count like a joint's whole range away from the posture, in the first choice and the next."""


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """K poses, and where the targets of G parts are in them, each seen from the last joint that the part leaves."""

    angles: Floats
    """(K, D + 1)"""
    before: Ints
    """(G, t) that joint."""
    places: Floats
    """(G, K, t, 3) m."""
    turns: Floats
    """(G, K, t, 3, 3)"""


def nearest(task: PartTargets, poses: RelativePoses, alike: bool, posture: float) -> RelativePoses:
    """The poses, each part at the pose of the table that is nearest to its targets; `alike` where all are the same yet.

    posture: how many metres of distance count like a joint's whole range away from the posture.
    """
    table, wanted, worth = _table(task.hand, task.parts), task.wanted, task.worth
    first = slice(0, 1) if alike else slice(None)
    placed = jacobians.place(task.hand, poses.root[first], poses.angles[first, :-1])
    turns, places = placed.turns[:, table.before], placed.places[:, table.before]
    chosen = task.parts.targets
    weights = wanted.place_roots[:, chosen] ** 2
    local = (turns.swapaxes(-1, -2) @ (wanted.places[:, chosen] - places)[..., None])[..., 0]
    apart = np.einsum("fgt,gkt->gfk", weights, (table.places**2).sum(-1))
    apart -= 2 * _products(weights[..., None] * local, table.places)
    if wanted.turns is not None:
        turned = turns.swapaxes(-1, -2) @ wanted.turns[:, chosen]
        turned = (worth.turn**2 * wanted.turn_roots[:, chosen] ** 2)[..., None, None] * turned
        # |log R R̂ᵀ|² is near 3 − tr R R̂ᵀ, whose constant does not matter.
        apart -= _products(turned, table.turns)
    off = (table.angles[:, task.parts.dofs] - task.rest) * task.scales
    apart += posture**2 * (off**2).sum(-1).T[:, None]
    best = apart.argmin(-1).T
    result = poses.copy()
    for part, dofs in enumerate(task.parts.dofs):
        result.angles[:, dofs] = table.angles[best[:, part]][:, dofs]
    return result


def _products(wanted: Floats, table: Floats) -> Floats:
    """(G, F, K) sums of products of wanted (F, G, t, ...) and the table's (G, K, t, ...)."""
    left = wanted.reshape(*wanted.shape[:2], -1).swapaxes(0, 1)
    products: Floats = left @ table.reshape(*table.shape[:2], -1).swapaxes(-1, -2)
    return products


@lru_cache(maxsize=64)
def _table(hand: HandModel, parts: HandParts) -> _Table:
    moves = linkage(hand).moves
    joints = np.array([*(hand.sites[site].joint for site in parts.sites), 0])[parts.targets]
    before = joints.copy()
    for part, dofs in enumerate(parts.dofs):
        own = dofs[dofs < hand.dofs]
        for t in range(joints.shape[1]):
            while moves[before[part, t]][own].any() and hand.parents[before[part, t]] >= 0:
                before[part, t] = hand.parents[before[part, t]]
    angles = spread(hand, parts)
    placed = jacobians.place(hand, np.tile(np.eye(4), (len(angles), 1, 1)), angles[:, :-1])
    offsets = np.array([*(hand.sites[site].offset for site in parts.sites), (0.0, 0.0, 0.0)])[parts.targets]
    back = placed.turns[:, before].swapaxes(-1, -2)
    at = (placed.turns[:, joints] @ offsets[..., None])[..., 0] + placed.places[:, joints] - placed.places[:, before]
    places, turns = (back @ at[..., None])[..., 0], back @ placed.turns[:, joints]
    return _Table(angles, before, places.swapaxes(0, 1).copy(), turns.swapaxes(0, 1).copy())


def spread(hand: HandModel, parts: HandParts) -> Floats:
    """(K, D + 1) poses inside the limits and couplings, the posture first, those of each part spread evenly over them.

    Additive recurrence with the powers of the generalised golden ratio (Roberts 2018, R sequence), n for each part.
    Raises HandError where limits and the couplings that hold contradict each other.
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
