"""Correct a detector's landmarks by the errors that it makes on average, which depend on the pose and on the view.

A detector makes its guesses in a systematic manner: hidden fingers as they usually are, depths too large. The expected
error of all landmarks is a linear function of the hand's shape as the detector finds it, and of the direction from
which it is seen, both in the palm's frame and in sizes of the palm, found by ridge regression on renders of hands whose
joints are known (tools/benchmarks/camera_corrections.py).

Where the predictors are unusual, as those of a palm that is seen edge-on and whose frame is thus uncertain, so is what
the regression expects of them. Predictors of more than mean leverage are scaled down to it.
"""

import json
from dataclasses import dataclass, replace
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

MIN_SIZE = 1e-6
"""Pixels, the size of a palm whose landmarks are one point."""
PREDICTORS = 1 + 3 + 3 * (COUNT - 1)
"""A constant, the direction, and all landmarks but the wrist's."""


@dataclass(frozen=True, slots=True, eq=False)
class PalmView:
    """A right hand's landmarks in N frames, as a detector finds them, in the palm's frame."""

    rotations: Floats
    """(N, 3, 3) from the palm to the picture: +X to the little finger, +Y to the fingers, +Z out of the back."""
    sizes: Floats
    """(N,) pixels, the mean distance between the palm's landmarks."""
    points: Floats
    """(N, 21, 3) from the wrist, in sizes."""

    @classmethod
    def of(cls, relief: Floats) -> "PalmView":
        """Return the view of landmarks (N, 21, 3) in pixels, X right, Y down, Z away."""
        palm, sizes = relief[:, PALM_LANDMARKS], np.maximum(palm_sizes(relief), MIN_SIZE)
        y = rot.unit_or_zero(palm[:, 1:].mean(axis=1) - palm[:, 0])
        across = palm[:, 4] - palm[:, 1]
        x = rot.unit_or_zero(across - (across * y).sum(axis=-1, keepdims=True) * y)
        rotations = np.stack([x, y, np.cross(x, y)], axis=-1)
        points = (relief - relief[:, :1]) @ rotations / sizes[:, None, None]
        return cls(rotations, sizes, points)

    @property
    def predictors(self) -> Floats:
        """(N, PREDICTORS), of which the expected error is a linear function."""
        frames = len(self.points)
        return np.concatenate([np.ones((frames, 1)), self.rotations[:, 2], self.points[:, 1:].reshape(frames, -1)], 1)

    def in_palm(self, errors: Floats) -> Floats:
        """Convert errors (N, 21, 3) from pixels in the picture to sizes in the palm's frame."""
        converted: Floats = errors @ self.rotations / self.sizes[:, None, None]
        return converted

    def in_picture(self, errors: Floats) -> Floats:
        """Convert errors (N, 21, 3) from sizes in the palm's frame to pixels in the picture."""
        converted: Floats = errors @ self.rotations.swapaxes(1, 2) * self.sizes[:, None, None]
        return converted


@cache
def _table(name: str) -> Floats:
    table = json.loads(Path(__file__).with_name("landmark_errors.json").read_text(encoding="utf-8"))
    values = np.array(table[name], float)
    values.setflags(write=False)
    return values


def error_coefficients() -> Floats:
    """Return the coefficients (PREDICTORS, 63) of the expected errors, in sizes of the palm."""
    return _table("coefficients")


def trust_of(predictors: Floats, factor: Floats) -> Floats:
    """Return the fraction (N, 1) of the expected errors that is corrected: 1 up to mean leverage, less above.

    factor: (P, P); the squared length of predictors (N, P) times it is their leverage relative to the mean leverage.
    """
    trust: Floats = 1 / np.maximum(np.linalg.norm(predictors @ factor, axis=1, keepdims=True), 1.0)
    return trust


def corrected(landmarks: PictureLandmarks, side: Side) -> PictureLandmarks:
    """Return landmarks of a hand of this side less their expected errors, as far as these are certain.

    Landmarks without depths are returned as they are.
    """
    seen = np.flatnonzero(landmarks.seen)
    if not len(seen) or not landmarks.has_depths:
        return landmarks
    mirror = POINT_SIGNS if side == "left" else np.ones(3)
    view = PalmView.of(landmarks.relief()[seen] * mirror)
    predictors = view.predictors
    trust = trust_of(predictors, _table("leverage_factor"))
    expected = (trust * (predictors @ error_coefficients())).reshape(len(seen), COUNT, 3)
    points, size = landmarks.points.copy(), landmarks.size
    points[seen] -= view.in_picture(expected) * mirror / [size.width, size.height, size.width]
    return replace(landmarks, points=points)
