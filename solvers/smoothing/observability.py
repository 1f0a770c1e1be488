"""Information of a frame's targets about a hand's angles, digit by digit."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...hand import jacobians
from ...hand.joints import CHAIN_JOINTS
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

JACOBIAN_TOLERANCE = 1e-9
"""m/rad and rad/rad, elements of a Jacobian below this are rounding errors."""

MIN_NOISE: Floats = np.array([[2e-4], [0.01]])
"""m and rad, minimum standard deviation of a marker and of a sensor relative to its bone."""
SOLVER_DEVIATION = 1.0
"""rad, standard deviation of a solver's angle that no marker determines."""
BATCH = 64
"""Number of frames in a batch, so that Jacobians fit into the processor's cache."""


@lru_cache(maxsize=8)
def digits_of(hand: HandModel) -> Ints:
    """Return the degrees of freedom of each digit (G, N), padded with −1."""
    names = [hand.joints[joint] for joint in hand.axis_joint]
    digits = [[dof for dof, name in enumerate(names) if name in chain] for chain in CHAIN_JOINTS.values()]
    result = np.full((len(digits), max(map(len, digits))), -1)
    for row, digit in zip(result, digits, strict=True):
        row[: len(digit)] = digit
    return result


def visible_digits(hand: HandModel, targets: Targets) -> Bools:
    """Return (F, G) whether a digit has a target that moves with its angles."""
    neutral = jacobians.pose_joints(hand, np.eye(4)[None], hand.neutral[None])
    result = np.zeros((len(targets), len(digits_of(hand))), bool)
    for rows, weights in zip(
        neutral.jacobians(targets.sites), (targets.weights, targets.rotation_weights), strict=True
    ):
        affected = np.any(np.abs(rows[0, ..., jacobians.ROOT_DOFS :]) > JACOBIAN_TOLERANCE, axis=1)
        digit_affected = np.any(np.where(digits_of(hand) >= 0, affected[:, digits_of(hand)], False), axis=2)
        if weights is not None:
            result |= (weights > 0) @ digit_affected
    return result


def angle_information(
    hand: HandModel, targets: Targets, pose: Pose, angles: Floats, noise: Floats
) -> tuple[Floats, Floats]:
    """Return the targets' information about the digits' angles, with the measured angles.

    A target is assumed at its site in the solver's pose, and its distance from there is added to its noise.

    Args:
        hand: the hand model.
        targets: F frames of T targets.
        pose: the solved pose.
        angles: (F, D) rad, where the targets are linearised.
        noise: (F or 1, 2, T) standard deviation of a component of each position, m, and of each rotation, rad.

    Returns:
        Information matrices (F, G, N, N) per rad², and measured angles (F, G, N) rad, in the order of digits_of.
    """
    parts = []
    for start in range(0, max(len(targets), 1), BATCH):
        rows = slice(start, start + BATCH)
        solved = Pose(hand, pose.root[rows], pose.angles[rows])
        parts.append(_batch_information(hand, targets.select(rows), solved, angles[rows], select_noise(noise, rows)))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _batch_information(
    hand: HandModel, targets: Targets, pose: Pose, angles: Floats, noise: Floats
) -> tuple[Floats, Floats]:
    """Compute `angle_information` for one batch of frames."""
    digits = digits_of(hand)
    position_information, rotation_information = np.moveaxis(1 / np.maximum(noise, MIN_NOISE) ** 2, 1, 0)
    solved, linearised = (
        jacobians.pose_joints(hand, pose.root, pose.angles),
        jacobians.pose_joints(hand, pose.root, angles),
    )
    position_jacobians, rotation_jacobians = linearised.jacobians(targets.sites)
    desired = solved.site_positions(targets.sites)
    squared_errors = ((desired - targets.positions) ** 2).sum(-1)
    information, right_hand_side = _normal_equations(
        position_jacobians[..., jacobians.ROOT_DOFS :],
        desired - linearised.site_positions(targets.sites),
        targets.weights / (1 / position_information + squared_errors),
        digits,
    )
    if targets.rotation_weights is not None:
        joints = [hand.sites[site].joint for site in targets.sites]
        residuals = jacobians.rotation_errors(solved.rotations[:, joints], linearised.rotations[:, joints])
        rotation_terms = _normal_equations(
            rotation_jacobians[..., jacobians.ROOT_DOFS :],
            residuals,
            targets.rotation_weights * rotation_information,
            digits,
        )
        information, right_hand_side = information + rotation_terms[0], right_hand_side + rotation_terms[1]
    prior, solved_angles, linearised_angles = (
        solver_information(hand),
        group_by_digit(pose.angles, digits),
        group_by_digit(angles, digits),
    )
    right_hand_side += ((solved_angles - linearised_angles)[..., None, :] @ prior)[..., 0, :]
    return information, linearised_angles + np.linalg.solve(information + prior, right_hand_side[..., None])[..., 0]


def _normal_equations(rows: Floats, residuals: Floats, weights: Floats, digits: Ints) -> tuple[Floats, Floats]:
    """Return Σ w Jᵀ J (F, G, N, N) and Σ w Jᵀ r (F, G, N) of each digit for J (F, T, 3, D), r (F, T, 3), w (F, T)."""
    root = np.sqrt(weights)[..., None]
    columns = np.where(digits >= 0, rows[..., digits], 0.0) * root[..., None, None]
    stacked = columns.transpose(0, 3, 1, 2, 4).reshape(len(rows), len(digits), 3 * weights.shape[1], digits.shape[1])
    transposed = stacked.swapaxes(-1, -2)
    return transposed @ stacked, (transposed @ (residuals * root).reshape(len(rows), 1, stacked.shape[2], 1))[..., 0]


@lru_cache(maxsize=8)
def solver_information(hand: HandModel) -> Floats:
    """Return the information (G, N, N) per rad² of the solver's own angles, and of the couplings."""
    digits = digits_of(hand)
    information = np.tile(np.eye(digits.shape[1]), (len(digits), 1, 1))
    for row in hand.couplings:
        coefficients = np.where(digits >= 0, row.coefficients[digits], 0.0)
        information += coefficients[:, :, None] * coefficients[:, None]
    return information / SOLVER_DEVIATION**2


def select_noise(noise: Floats, rows: slice) -> Floats:
    """Return the noise (F or 1, 2, T) of some of the frames."""
    return noise if len(noise) == 1 else noise[rows]


def group_by_digit(angles: Floats, digits: Ints) -> Floats:
    """Group angles (F, D) by digit (F, G, N), padded with 0."""
    grouped: Floats = np.where(digits >= 0, angles[:, digits], 0.0)
    return grouped


def ungroup(values: Floats, digits: Ints, angles: Floats) -> Floats:
    """Undo `group_by_digit`: values (F, G, N) to (F, D), angles of no digit as in `angles` (F, D)."""
    result = angles.copy()
    result[:, digits[digits >= 0]] = values[:, digits >= 0]
    return result
