"""Correct a detector's landmarks by the errors that it makes on average, which depend on the pose and on the view.

A detector guesses hidden fingers in their usual pose, and underestimates how far the palm is tilted. Its mean error is
a function of both of its estimates of the hand, the relief in the picture and the world landmarks, each in the palm's
frame and in palm sizes. The function is a neural network of one hidden layer, trained on renders of hands whose joints
are known (tools/benchmarks/camera_corrections.py).
"""

from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..joints import Side
from ..mirror import POINT_SIGNS
from .landmark_shape import COUNT
from .picture_landmarks import PALM_LANDMARKS, PictureLandmarks, palm_sizes

Floats = NDArray[np.float64]

MIN_PALM_SIZE = 1e-6
"""Size that a palm counts as if its landmarks are one point, in the unit of the landmarks."""
COORDINATES = 3 + 3 * (COUNT - 1)
"""Coordinates of a PalmView: the viewing direction, and the positions of all landmarks but the wrist."""


@dataclass(frozen=True, slots=True, eq=False)
class PalmView:
    """A right hand's landmarks in N frames, in the palm's frame."""

    rotations: Floats
    """(N, 3, 3) from the palm to the picture: +X to the little finger, +Y to the fingers, +Z out of the back."""
    sizes: Floats
    """(N,) palm sizes: mean distance between the palm's landmarks, in the unit of the landmarks."""
    points: Floats
    """(N, 21, 3) positions relative to the wrist, in palm sizes."""

    @classmethod
    def of(cls, landmarks: Floats) -> "PalmView":
        """Return the view of landmarks (N, 21, 3), X right, Y down, Z away."""
        palm, sizes = landmarks[:, PALM_LANDMARKS], np.maximum(palm_sizes(landmarks), MIN_PALM_SIZE)
        y = rot.unit_or_zero(palm[:, 1:].mean(axis=1) - palm[:, 0])
        across = palm[:, 4] - palm[:, 1]
        x = rot.unit_or_zero(across - (across * y).sum(axis=-1, keepdims=True) * y)
        rotations = np.stack([x, y, np.cross(x, y)], axis=-1)
        points = (landmarks - landmarks[:, :1]) @ rotations / sizes[:, None, None]
        return cls(rotations, sizes, points)

    @property
    def coordinates(self) -> Floats:
        """(N, COORDINATES) the viewing direction in the palm's frame, then the landmarks' positions."""
        return np.concatenate([self.rotations[:, 2], self.points[:, 1:].reshape(len(self.points), -1)], axis=1)

    def in_palm(self, errors: Floats) -> Floats:
        """Convert errors (N, 21, 3) from the picture's frame and unit to palm sizes in the palm's frame."""
        converted: Floats = errors @ self.rotations / self.sizes[:, None, None]
        return converted

    def in_picture(self, errors: Floats) -> Floats:
        """Convert errors (N, 21, 3) from palm sizes in the palm's frame to the picture's frame and unit."""
        converted: Floats = errors @ self.rotations.swapaxes(1, 2) * self.sizes[:, None, None]
        return converted


@dataclass(frozen=True, slots=True, eq=False)
class ErrorNetwork:
    """A network of P predictors and H hidden units that predicts the errors of 21 landmarks."""

    mean: Floats
    """(P,) of the predictors in the training data."""
    deviation: Floats
    """(P,) standard deviations of the predictors in the training data."""
    hidden_weights: Floats
    """(P, H)"""
    hidden_bias: Floats
    """(H,)"""
    output_weights: Floats
    """(H, 63)"""
    output_bias: Floats
    """(63,)"""

    @classmethod
    def read(cls, path: Path) -> "ErrorNetwork":
        """Read a network from an .npz file with an array for each field."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(*(arrays[field.name].astype(float) for field in fields(cls)))

    def write(self, path: Path) -> None:
        """Write an .npz file, in single precision."""
        np.savez(path, **{field.name: getattr(self, field.name).astype(np.float32) for field in fields(self)})

    def errors(self, predictors: Floats) -> Floats:
        """Return the expected errors (N, 21, 3) for predictors (N, P), in palm sizes in the palm's frame."""
        standardised = (predictors - self.mean) / self.deviation
        hidden = np.tanh(standardised @ self.hidden_weights + self.hidden_bias)
        outputs: Floats = hidden @ self.output_weights + self.output_bias
        return outputs.reshape(len(predictors), COUNT, 3)


@cache
def error_network() -> ErrorNetwork:
    """Return the trained network."""
    return ErrorNetwork.read(Path(__file__).with_name("landmark_errors.npz"))


def predictors_of(relief: PalmView, world: PalmView) -> Floats:
    """Return the predictors (N, P) of a hand: its relief in the picture, and its world landmarks."""
    return np.concatenate([relief.coordinates, world.coordinates], axis=1)


def correct_landmarks(landmarks: PictureLandmarks, side: Side) -> PictureLandmarks:
    """Subtract the expected errors from the landmarks of a hand of this side.

    Landmarks without depths are returned as they are.
    """
    seen = np.flatnonzero(landmarks.seen)
    if not len(seen) or not landmarks.has_depths:
        return landmarks
    mirror = POINT_SIGNS if side == "left" else np.ones(3)
    relief = PalmView.of(landmarks.relief()[seen] * mirror)
    errors = error_network().errors(predictors_of(relief, PalmView.of(landmarks.world[seen] * mirror)))
    points, size = landmarks.points.copy(), landmarks.size
    points[seen] -= relief.in_picture(errors) * mirror / [size.width, size.height, size.width]
    return replace(landmarks, points=points)
