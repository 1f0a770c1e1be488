"""The expected cost of a hand's shape under uncertain poses.

Poses that are searched together with the shape are too small: longer levers need smaller angles, which the prior of the
angles likes better. The expected cost over uncertain poses has no such preference, since longer levers make the
uncertain markers move farther, too (variational expectation maximisation; Neal & Hinton 1998). It is

    Σ_f tr(J_f C_f J_f^T)

beyond the cost at the mean poses, with J_f the markers' Jacobian by the pose in standard deviations and C_f the pose's
covariance. J_f is linear in the shape, so this is a quadratic.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...jacobians import ROOT_DOFS
from .chain import (
    LENGTHS,
    MARKERS,
    ROTATIONS,
    SLOT_OF_DOF,
    TURNED_BY,
    MarkerPositions,
    ShapeParameters,
    own_parameters,
    own_slopes,
    parameter_count,
    pose_jacobian,
)
from .pose_fit import PoseEquations
from .skin_fit import COLUMNS, DOFS, FLEXION, PALM

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ShapeQuadratic:
    """2 gradient · step + step · matrix · step, over a step of the shape's parameters."""

    matrix: Floats
    """(S, S)"""
    gradient: Floats
    """(S,)"""

    def cost(self, step: Floats) -> float:
        """Return the cost of a step (S,)."""
        return float(2 * self.gradient @ step + step @ self.matrix @ step)

    def gradient_at(self, step: Floats) -> Floats:
        """(S,) half of the cost's gradient after a step (S,)."""
        return np.asarray(self.gradient + self.matrix @ step)


def cost_of_uncertainty(shape: ShapeParameters, equations: PoseEquations, covariance: Floats) -> ShapeQuadratic:
    """Return how the expected cost changes with the shape while poses have covariances (F, 6 + D, 6 + D)."""
    by_pose = pose_jacobian(shape, equations.markers)
    frames, count = by_pose.shape[:2]
    size = parameter_count(count)
    whitened = equations.jacobian.reshape(by_pose.shape)
    matrix, gradient = np.zeros((size, size)), np.zeros(size)
    for marker in range(count):
        marker_parameters, marker_slopes = own_parameters(shape, marker), own_slopes(shape, equations.markers, marker)
        slopes = _slopes(
            shape, equations.markers, marker_slopes, by_pose[:, marker], marker=marker, own=marker_parameters
        )
        slopes = equations.whitening[:, :, marker].transpose(2, 0, 1)[:, None] @ slopes
        spread = slopes.reshape(frames, -1, slopes.shape[-1]) @ covariance
        spread = spread.reshape(slopes.shape).swapaxes(0, 1).reshape(len(marker_parameters), -1)
        matrix[np.ix_(marker_parameters, marker_parameters)] += (
            spread @ slopes.swapaxes(0, 1).reshape(len(marker_parameters), -1).T
        )
        gradient[marker_parameters] += spread @ whitened[:, marker].ravel()
    return ShapeQuadratic((matrix + matrix.T) / 2, gradient)


def _slopes(
    shape: ShapeParameters, markers: MarkerPositions, by_shape: Floats, by_pose: Floats, *, marker: int, own: Ints
) -> Floats:
    """Mixed second derivatives (F, P, 3, 6 + D) of a marker, by the parameters `own` (P,) and by the pose.

    by_shape: (F, 3, P) its derivatives by these parameters.
    by_pose: (F, 3, 6 + D)
    """
    vectors = by_shape.swapaxes(1, 2)
    slopes = np.zeros((*vectors.shape, ROOT_DOFS + DOFS))
    for column, unit in enumerate(np.eye(3)):
        slopes[..., 3 + column] = np.cross(unit, vectors)
    digit, bone = shape.digits[marker], shape.bones[marker]
    if digit == PALM:
        return slopes
    carriers = _carriers(own, digit, bone)
    rotation = (own >= ROTATIONS) & (own < LENGTHS)
    turns = by_pose[:, None, :, ROOT_DOFS:]
    slopes[:, rotation, :, ROOT_DOFS:] = np.cross(np.eye(3)[None, :, :, None], turns, axis=2)
    for dof in np.flatnonzero(TURNED_BY[digit, bone]):
        by_angle = slopes[..., ROOT_DOFS + dof]
        axis = markers.bones.axes[SLOT_OF_DOF[dof], :, digit].T[:, None]
        turned = TURNED_BY[np.where(carriers < 0, PALM, digit), carriers, dof]
        by_angle[:, turned] = np.cross(axis, vectors[:, turned])
    slides = np.flatnonzero(own >= MARKERS + 3 * len(shape.digits)).reshape(-1, 3)
    for end, three in enumerate(slides):
        by_flexion = slopes[..., ROOT_DOFS + COLUMNS[digit, FLEXION[bone + end]]]
        by_flexion[:, three] += markers.rotations[:, :, marker].transpose(2, 0, 1)
    return slopes


def _carriers(own: Ints, digit: int, bone: int) -> Ints:
    """(P,) the bone of the digit that rotates the direction in which a parameter moves its marker; −1 for none."""
    result = np.full(len(own), -1)
    lengths = (own >= LENGTHS) & (own < MARKERS)
    result[lengths] = own[lengths] - LENGTHS - 3 * digit
    result[own >= MARKERS] = bone
    return result
