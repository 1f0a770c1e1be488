"""Measure a right hand's pose by its landmarks in the picture and by a detector's guess of their depth.

A landmark p of the hand, in the camera's space, lies on its line of sight (u, v), and so far from the hand's middle
along the line of sight e to it as the detector guesses, d:

    (p_x / p_z − u, p_y / p_z − v) z / σ,        (e · (p − p̄) − d) / σ_d

z is the hand's distance at the start, so that the residuals are lengths at the hand. Both have Cauchy's weights: a
landmark on the wrong finger hardly counts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..calibration.skin_markers.chain import MarkerPositions, ShapeParameters, marker_positions, pose_jacobian
from ..calibration.skin_markers.pose_fit import Poses
from ..jacobians import ROOT_DOFS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PICTURE_SPREAD = np.array([6.0, *[6.0, 4.5, 4.5, 5.0], *[5.0, 4.0, 4.5, 5.0] * 4]) / 1000
"""(21,) m at the hand: standard deviation of a landmark across its line of sight."""
DEPTH_SPREAD = 0.01
"""m, of the detector's depth of a landmark, relative to the others."""
CAUCHY_SQUARED = 3.0**2
"""Squared residual, in standard deviations, at which a landmark has half its weight."""
NEAREST = 0.02
"""m, the least distance of a landmark from the camera."""


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """The measurements of a right hand in F frames."""

    lines: Floats
    """(F, 21, 2) x / z and y / z of the landmarks' lines of sight; zero where not seen."""
    depths: Floats
    """(F, 21) m, the detector's depths along the line of sight to the hand, about their mean, at the hand's scale."""
    towards: Floats
    """(F, 3) unit vector along the line of sight to the hand."""
    distance: Floats
    """(F,) m from the camera to the hand, about."""
    seen: Bools
    """(F,)"""

    def __len__(self) -> int:
        return len(self.lines)

    def select(self, frames: "NDArray[np.intp] | slice") -> "Sighting":
        """Return some of the frames."""
        return Sighting(
            self.lines[frames], self.depths[frames], self.towards[frames], self.distance[frames], self.seen[frames]
        )


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkResiduals:
    """Residuals of F frames in standard deviations."""

    landmarks: MarkerPositions
    """Positions in the wrist's frame."""
    points: Floats
    """(F, 21, 3) m, the landmarks in the camera's space."""
    picture: Floats
    """(F, 21, 2) measured less modelled."""
    depth: Floats
    """(F, 21)"""

    def cost(self) -> Floats:
        """Robust squares (F,)."""
        squares = np.stack([(self.picture**2).sum(axis=-1), self.depth**2])
        total: Floats = CAUCHY_SQUARED * np.log1p(squares / CAUCHY_SQUARED).sum(axis=(0, 2))
        return total

    def weights(self) -> tuple[Floats, Floats]:
        """Square roots of Cauchy's weights of both kinds, (F, 21) each."""
        picture = 1 / np.sqrt(1 + (self.picture**2).sum(axis=-1) / CAUCHY_SQUARED)
        return picture, 1 / np.sqrt(1 + self.depth**2 / CAUCHY_SQUARED)


def residuals(shape: ShapeParameters, poses: Poses, sighting: Sighting) -> LandmarkResiduals:
    """Residuals of a hand at some poses in the camera's space; zero in frames in which it is not seen."""
    landmarks = marker_positions(shape, poses.angles)
    local = landmarks.positions.transpose(2, 1, 0)
    points = local @ poses.rotations.swapaxes(1, 2) + poses.positions[:, None]
    away = np.maximum(points[..., 2:], NEAREST)
    picture = (sighting.lines - points[..., :2] / away) * sighting.distance[:, None, None] / PICTURE_SPREAD[:, None]
    along = np.einsum("fli,fi->fl", points - points.mean(axis=1, keepdims=True), sighting.towards)
    depth = (sighting.depths - along) / DEPTH_SPREAD
    seen = sighting.seen
    return LandmarkResiduals(landmarks, points, picture * seen[:, None, None], depth * seen[:, None])


def pose_rows(shape: ShapeParameters, poses: Poses, found: LandmarkResiduals) -> Floats:
    """Jacobian (F, 21, 3, 6 + D) of the landmarks in the camera's space.

    By the wrist's position in that space, its rotation about its own axes, and the angles.
    """
    jacobian = pose_jacobian(shape, found.landmarks)
    rotated: Floats = poses.rotations[:, None] @ jacobian
    rotated[..., :3] = np.eye(3)
    assert rotated.shape[-1] == ROOT_DOFS + poses.angles.shape[1]
    return rotated


def measured_rows(jacobian: Floats, found: LandmarkResiduals, sighting: Sighting) -> Floats:
    """Jacobian (F, 63, N) of the modelled measurements, weighted, from that of the landmarks (F, 21, 3, N)."""
    frames, count, _, width = jacobian.shape
    picture_weight, depth_weight = found.weights()
    away = np.maximum(found.points[..., 2], NEAREST)
    scale = picture_weight * sighting.distance[:, None] / PICTURE_SPREAD / away * sighting.seen[:, None]
    tangent = found.points[..., :2] / away[..., None]
    rows = np.empty((frames, count, 3, width))
    rows[..., :2, :] = scale[..., None, None] * (jacobian[..., :2, :] - tangent[..., None] * jacobian[..., 2:, :])
    along = np.einsum("fi,flin->fln", sighting.towards, jacobian)
    weight = depth_weight / DEPTH_SPREAD * sighting.seen[:, None]
    rows[..., 2, :] = weight[..., None] * (along - along.mean(axis=1, keepdims=True))
    return rows.reshape(frames, 3 * count, width)


def measured_residuals(found: LandmarkResiduals) -> Floats:
    """Return the residuals (F, 63) in the order of `measured_rows`, weighted as they are."""
    picture_weight, depth_weight = found.weights()
    weighted = np.concatenate(
        [found.picture * picture_weight[..., None], (found.depth * depth_weight)[..., None]], axis=-1
    )
    flat: Floats = weighted.reshape(len(weighted), -1)
    return flat
