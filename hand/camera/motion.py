"""The motion prior, which links the poses of consecutive frames.

The velocity of the wrist and of every angle changes as a random walk does: between two intervals whose middles are h
apart it changes by about the square root of q h.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.pose_fit import Poses
from ..calibration.skin_markers.skin_fit import DOFS
from ..jacobians import ROOT_DOFS, rotation_errors
from .banded import BandedMatrix

Floats = NDArray[np.float64]

POSITION_INTENSITY, ROTATION_INTENSITY, ANGLE_INTENSITY = 0.3, 6.0, 80.0
"""m²/s³, rad²/s³ and rad²/s³: the variance by which velocities change in a second."""


@dataclass(frozen=True, slots=True, eq=False)
class MotionPrior:
    """The prior over F frames."""

    times: Floats
    """(F,) s, increasing."""
    calm: float = 1.0
    """Divides the intensities."""

    @property
    def intensity(self) -> Floats:
        """(6 + D,) of each variable."""
        intensity = np.full(ROOT_DOFS + DOFS, ANGLE_INTENSITY)
        intensity[:3], intensity[3:ROOT_DOFS] = POSITION_INTENSITY, ROTATION_INTENSITY
        return intensity / self.calm

    def _coefficients(self) -> tuple[Floats, Floats]:
        """(F - 1,) inverse intervals, and (F - 2,) inverse times between their middles."""
        steps = np.diff(self.times)
        return 1 / steps, 2 / (steps[1:] + steps[:-1])

    def _changes(self, poses: Poses) -> Floats:
        """Return the changes (F - 2, 6 + D) of velocity."""
        inverse, _ = self._coefficients()
        moved = np.empty((len(poses) - 1, ROOT_DOFS + DOFS))
        moved[:, :3] = np.diff(poses.positions, axis=0)
        moved[:, 3:ROOT_DOFS] = rotation_errors(poses.rotations[:-1].swapaxes(1, 2) @ poses.rotations[1:], np.eye(3))
        moved[:, ROOT_DOFS:] = np.diff(poses.angles, axis=0)
        velocities = moved * inverse[:, None]
        return np.diff(velocities, axis=0)

    def cost(self, poses: Poses) -> float:
        """Squared changes in standard deviations."""
        if len(poses) < 3:
            return 0.0
        _, density = self._coefficients()
        return float((self._changes(poses) ** 2 * density[:, None] / self.intensity).sum())

    def equations(self, poses: Poses) -> tuple[BandedMatrix, Floats]:
        """Normal equations: the matrix, and the negative gradient (F, 6 + D)."""
        frames, width = len(poses), ROOT_DOFS + DOFS
        blocks, rhs = np.zeros((frames, width, width)), np.zeros((frames, width))
        beside, second = np.zeros((max(frames - 1, 0), width)), np.zeros((max(frames - 2, 0), width))
        if frames < 3:
            return BandedMatrix(blocks, beside, second), rhs
        inverse, density = self._coefficients()
        weights = density[:, None] / self.intensity
        factors = np.stack([inverse[:-1], -inverse[:-1] - inverse[1:], inverse[1:]])[..., None]
        changes, rows = self._changes(poses), np.arange(width)
        for offset, factor in enumerate(factors):
            part = slice(offset, frames - 2 + offset)
            blocks[part, rows, rows] += factor**2 * weights
            rhs[part] -= factor * weights * changes
        for offset in range(2):
            beside[offset : frames - 2 + offset] += factors[offset] * factors[offset + 1] * weights
        second += factors[0] * factors[2] * weights
        return BandedMatrix(blocks, beside, second), rhs
