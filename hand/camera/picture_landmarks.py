"""What a camera's hand detector tells of one hand: 21 landmarks in the picture, and a guess of their depth.

The camera's space is X right, Y down, Z away from it, in m.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LANDMARK_JOINTS: tuple[str, ...] = ("wrist", *(joint for joints in CHAIN_JOINTS.values() for joint in joints))
"""(21,) the joint that each landmark shows, in MediaPipe's order: the wrist, then four of each digit."""
MIN_ANGLE_OF_VIEW, MAX_ANGLE_OF_VIEW = 5.0, 160.0
"""Degrees."""


@dataclass(frozen=True, slots=True)
class PictureSize:
    """A picture's size in pixels."""

    width: float
    height: float

    def focal_length(self, angle_of_view: float) -> float:
        """Focal length in pixels of a camera with this angle of view, in degrees across the longer side."""
        return max(self.width, self.height) / 2 / float(np.tan(np.deg2rad(angle_of_view) / 2))


@dataclass(frozen=True, slots=True, eq=False)
class PictureLandmarks:
    """The landmarks of one hand over F frames. NaN in frames in which it was not found."""

    size: PictureSize
    points: Floats
    """(F, 21, 3) shares of the picture's width and height, from its upper left corner, and how far each landmark is
    behind the wrist, as a share of the width: a detector's picture is one of a hand seen from afar."""
    world: Floats
    """(F, 21, 3) m, the detector's guess about the hand's shape, about a centre of its own."""

    @property
    def seen(self) -> Bools:
        """(F,) frames in which the hand was found."""
        known = np.isfinite(self.points) & np.isfinite(self.world)
        seen: Bools = np.all(known, axis=(1, 2))
        return seen

    def select(self, frames: NDArray[np.intp] | slice) -> "PictureLandmarks":
        """Return some of the frames."""
        return replace(self, points=self.points[frames], world=self.world[frames])

    def sight_lines(self, angle_of_view: float) -> Floats:
        """Where the landmarks' lines of sight meet the plane at distance 1: x / z and y / z (F, 21, 2)."""
        pixels = (self.points[..., :2] - 0.5) * [self.size.width, self.size.height]
        lines: Floats = pixels / self.size.focal_length(angle_of_view)
        return lines

    @property
    def has_depths(self) -> bool:
        """Whether the source gives the depths of the landmarks in the picture."""
        return bool(np.any(self.points[..., 2] != 0, where=np.isfinite(self.points[..., 2])))

    def relief(self) -> Floats:
        """The hand's shape (F, 21, 3) as the detector guesses it, about the landmarks' mean, in pixels.

        The picture's own depths are nearer to the truth than those of the world landmarks (docs/explanation/camera.md),
        which are taken, in m, where a source leaves the former out.
        """
        pixels = self.points * [self.size.width, self.size.height, self.size.width]
        guess = pixels if self.has_depths else self.world
        centred: Floats = guess - guess.mean(axis=1, keepdims=True)
        return centred
