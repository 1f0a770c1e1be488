"""The transform of a capture in the scene: location, rotation and scale of its markers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import RecipeError
from ..hand import rotations as rot
from ..hand.similarity import factor_and_rotation

Floats = NDArray[np.float64]

MAX_LOCATION_M = 1e6
MAX_SCALE_DIFFERENCE = 1e-3
"""Maximum relative difference of the scales along the axes."""


@dataclass(frozen=True, slots=True)
class CaptureTransform:
    """The transform of a capture in the scene, in Blender's terms. A mirrored capture is mirrored first.

    Raises RecipeError for a value that is not finite, a location beyond `MAX_LOCATION_M`, or a scale outside 1e-6..1e6.
    """

    location: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the capture's origin in metres."""
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Rotation about X, then Y, then Z, in degrees."""
    scale: float = 1.0
    """Scale along all axes."""

    def __post_init__(self) -> None:
        in_reach = all(abs(coordinate) <= MAX_LOCATION_M for coordinate in self.location)
        if not in_reach or not np.isfinite(self.rotation).all() or not 1e-6 <= self.scale <= 1e6:
            raise RecipeError(
                f"transform is {self.location}, {self.rotation}, {self.scale}, expected a location within "
                f"{MAX_LOCATION_M:.0f} m, finite angles and a scale from 0.000001 to 1000000"
            )

    def matrix(self) -> Floats:
        """Return T_scene_capture (4, 4)."""
        about = [rot.from_axis_angle(axis, np.deg2rad(a)) for axis, a in zip(np.eye(3), self.rotation, strict=True)]
        result = np.eye(4)
        rotation = rot.to_matrix(rot.multiply(about[2], rot.multiply(about[1], about[0])))
        result[:3, :3], result[:3, 3] = self.scale * rotation, self.location
        return result


NO_TRANSFORM = CaptureTransform()


def transform_of(matrix: Floats, where: str) -> CaptureTransform:
    """Return the transform of T_scene_capture (4, 4), which does not mirror.

    Raises RecipeError naming `where` for an uneven scale, which would deform the hand.
    """
    lengths = np.linalg.norm(matrix[:3, :3], axis=0)
    factor, rotation = factor_and_rotation(matrix) if np.linalg.det(matrix[:3, :3]) > 0 else (0.0, np.eye(3))
    if (
        not factor > 0
        or np.ptp(lengths) > MAX_SCALE_DIFFERENCE * factor
        or np.abs(rotation.T @ rotation - np.eye(3)).max() > MAX_SCALE_DIFFERENCE
    ):
        scales = ", ".join(f"{length:.3g}" for length in lengths)
        raise RecipeError(f"{where}: its scale is {scales} along its axes, expected the same along all of them")
    x, y, z = (float(value) for value in matrix[:3, 3])
    return CaptureTransform((x, y, z), _eulers(rotation), factor)


def _eulers(rotation: Floats) -> tuple[float, float, float]:
    """Return the angles about X, Y and Z in degrees of Rz · Ry · Rx (3, 3); where Y is at a right angle, Z is zero."""
    cos_y = float(np.hypot(rotation[0, 0], rotation[1, 0]))
    y = np.arctan2(-rotation[2, 0], cos_y)
    if cos_y < 1e-7:
        return float(np.rad2deg(np.arctan2(-rotation[1, 2], rotation[1, 1]))), float(np.rad2deg(y)), 0.0
    x, z = np.arctan2(rotation[2, 1], rotation[2, 2]), np.arctan2(rotation[1, 0], rotation[0, 0])
    return float(np.rad2deg(x)), float(np.rad2deg(y)), float(np.rad2deg(z))
