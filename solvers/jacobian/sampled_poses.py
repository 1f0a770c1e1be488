"""Start poses of the Jacobian methods: each part at the one of many sampled poses that is nearest to its targets.

Starting from the previous frame would keep its errors, and a take could not be solved in pieces. Therefore every frame
starts from its own targets, at the best of a few hundred poses spread evenly over the joints' ranges. From there, the
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
from .relative_targets import RelativePoses
from .residual_rows import PartsProblem, padded_couplings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POSE_COUNT = 512
"""Number of sampled poses."""
COUPLING_WEIGHT = 1e4
"""Weight of the soft couplings in these poses, relative to their even spread."""
POSTURE_WEIGHTS = (0.003, 0.1)
"""m, posture weights for choosing the first start pose and the second."""


@dataclass(frozen=True, slots=True, eq=False)
class _SampledPoses:
    """K poses and the positions and rotations of G parts' targets in them, relative to the joint above the part."""

    angles: Floats
    """(K, D + 1)"""
    base_joints: Ints
    """(G, t) the joint above the part: the last that the part does not move."""
    positions: Floats
    """(G, K, t, 3) m."""
    rotations: Floats
    """(G, K, t, 3, 3)"""


def nearest_poses(
    problem: PartsProblem, poses: RelativePoses, posture_weight: float, *, identical: bool
) -> RelativePoses:
    """Return the poses with each part at the sampled pose that is nearest to its targets.

    posture_weight: m. identical: whether all `poses` are still the same.
    """
    table, targets = _sampled_poses(problem.hand, problem.parts), problem.targets
    first = slice(0, 1) if identical else slice(None)
    posed = jacobians.pose_joints(problem.hand, poses.root[first], poses.angles[first, :-1])
    rotations, positions = posed.rotations[:, table.base_joints], posed.positions[:, table.base_joints]
    part_targets = problem.parts.targets
    weights = targets.position_scales[:, part_targets] ** 2
    local = (rotations.swapaxes(-1, -2) @ (targets.positions[:, part_targets] - positions)[..., None])[..., 0]
    cost = np.einsum("fgt,gkt->gfk", weights, (table.positions**2).sum(-1))
    cost -= 2 * _inner_products(weights[..., None] * local, table.positions)
    if targets.rotations is not None:
        relative = rotations.swapaxes(-1, -2) @ targets.rotations[:, part_targets]
        relative = (problem.weights.rotation**2 * targets.rotation_scales[:, part_targets] ** 2)[
            ..., None, None
        ] * relative
        # |log R R̂ᵀ|² is about 3 − tr R R̂ᵀ, whose constant does not matter.
        cost -= _inner_products(relative, table.rotations)
    deviation = (table.angles[:, problem.parts.dofs] - problem.neutral) * problem.scales
    cost += posture_weight**2 * (deviation**2).sum(-1).T[:, None]
    nearest = cost.argmin(-1).T
    result = poses.copy()
    for part, dofs in enumerate(problem.parts.dofs):
        result.angles[:, dofs] = table.angles[nearest[:, part]][:, dofs]
    return result


def _inner_products(targets: Floats, table: Floats) -> Floats:
    """Return the inner products (G, F, K) of targets (F, G, t, ...) and the table's (G, K, t, ...)."""
    flat = targets.reshape(*targets.shape[:2], -1).swapaxes(0, 1)
    products: Floats = flat @ table.reshape(*table.shape[:2], -1).swapaxes(-1, -2)
    return products


@lru_cache(maxsize=64)
def _sampled_poses(hand: HandModel, parts: HandParts) -> _SampledPoses:
    affected_by = hand_topology(hand).affected_by
    joints = np.array([*(hand.sites[site].joint for site in parts.sites), 0])[parts.targets]
    base_joints = joints.copy()
    for part, dofs in enumerate(parts.dofs):
        part_dofs = dofs[dofs < hand.dofs]
        for t in range(joints.shape[1]):
            while affected_by[base_joints[part, t]][part_dofs].any() and hand.parents[base_joints[part, t]] >= 0:
                base_joints[part, t] = hand.parents[base_joints[part, t]]
    angles = sample_poses(hand, parts)
    posed = jacobians.pose_joints(hand, np.tile(np.eye(4), (len(angles), 1, 1)), angles[:, :-1])
    offsets = np.array([*(hand.sites[site].offset for site in parts.sites), (0.0, 0.0, 0.0)])[parts.targets]
    back = posed.rotations[:, base_joints].swapaxes(-1, -2)
    arms = (
        (posed.rotations[:, joints] @ offsets[..., None])[..., 0]
        + posed.positions[:, joints]
        - posed.positions[:, base_joints]
    )
    positions, rotations = (back @ arms[..., None])[..., 0], back @ posed.rotations[:, joints]
    return _SampledPoses(angles, base_joints, positions.swapaxes(0, 1).copy(), rotations.swapaxes(0, 1).copy())


def sample_poses(hand: HandModel, parts: HandParts) -> Floats:
    """Sample poses (K, D + 1) within limits and couplings, the neutral pose first, spread evenly for each part.

    Low-discrepancy additive recurrence with powers of the generalised golden ratio (Roberts 2018, R sequence).
    Raises HandError where limits and hard couplings contradict each other.
    """
    dimensions = parts.dofs.shape[1]
    golden = 2.0
    for _ in range(60):
        golden = (1.0 + golden) ** (1.0 / (dimensions + 1))
    fractions = (0.5 + np.arange(1, POSE_COUNT)[:, None] * golden ** -np.arange(1.0, dimensions + 1)) % 1.0
    low, high = hand.limits.T
    angles = np.tile(np.append(hand.neutral, 0.0), (POSE_COUNT, 1))
    for dofs in parts.dofs:
        is_dof = dofs < hand.dofs
        angles[1:, dofs[is_dof]] = low[dofs[is_dof]] + fractions[:, is_dof] * (high - low)[dofs[is_dof]]
    rows, lower, upper = (array[:-1] for array in padded_couplings(hand))
    rows = rows[:, :-1]
    soft = np.array([row.soft for row in hand.couplings], bool)
    coupled = np.clip(angles[:, :-1] @ rows.T, lower, upper)[:, soft]
    hessian = np.eye(hand.dofs) + COUPLING_WEIGHT * rows[soft].T @ rows[soft]
    gradient = -angles[:, :-1] - COUPLING_WEIGHT * coupled @ rows[soft]
    bounds = [np.tile(np.concatenate(bound), (POSE_COUNT, 1)) for bound in ((low, lower[~soft]), (high, upper[~soft]))]
    hard = np.broadcast_to(rows[~soft], (POSE_COUNT, *rows[~soft].shape))
    hessians = np.broadcast_to(hessian, (POSE_COUNT, *hessian.shape))
    solution = qp.solve_all(qp.QuadraticProgram(hessians, gradient, bounds[0], bounds[1], hard))
    if np.any(solution.status != qp.Status.SOLVED):
        raise HandError(f"{hand.side} hand: no angles within limits satisfy the {np.sum(~soft)} hard couplings")
    angles[:, :-1] = solution.x
    return angles
