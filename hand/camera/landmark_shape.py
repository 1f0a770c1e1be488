"""A right hand's shape with the 21 landmarks on it, and their derivatives by the shape.

A detector's landmarks are not the joints' centres: they lie at offsets from them, in the frame of the bone that ends at
the joint (for a first joint: that begins there; for the wrist: the palm's), found on renders of hands whose joints are
known (tools/benchmarks/camera_table.py).
"""

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..calibration.skin_markers.chain import MARKERS, MarkerPositions, ShapeParameters, parameter_count, shape_jacobian
from ..calibration.skin_markers.priors import MEAN, MEAN_PALM, MEAN_ROTATIONS, ShapePrior, apply_step, shape_prior
from ..calibration.skin_markers.skin_fit import PALM
from ..joints import DIGITS
from ..proportions import Proportions
from .landmark_table import landmark_offsets
from .picture_landmarks import LANDMARK_JOINTS

Floats = NDArray[np.float64]

COUNT = len(LANDMARK_JOINTS)
SHAPE_PARAMETERS = MARKERS
"""Size, first joints (15), rotations of the digits at rest (15), bone lengths (15)."""
FIXED_LENGTH_SPREAD = 1e-4
"""m by which a hand may miss its given length."""

_DIGIT = np.array([PALM, *np.repeat(np.arange(len(DIGITS)), 4)])
_JOINT = np.array([0, *np.tile(np.arange(4), len(DIGITS))])
_BONE = np.maximum(_JOINT - 1, 0)
_AT_END = _JOINT > 0
"""(21,) landmarks at the far end of the bone that carries them."""


def mean_shape(length: float) -> ShapeParameters:
    """Return a mean hand of this length in m, from the wrist to the middle finger's tip."""
    scale = length / MEAN.size
    no_offsets = np.zeros((COUNT, 3))
    shape = ShapeParameters(
        scale,
        MEAN_PALM * scale,
        MEAN_ROTATIONS,
        MEAN.phalanges * scale,
        _DIGIT,
        _BONE,
        no_offsets,
        np.zeros((COUNT, 2, 3)),
    )
    return with_offsets(shape)


def shape_of(proportions: Proportions) -> ShapeParameters:
    """Return the shape of a hand of these proportions; a left one's is its mirror image's."""
    right = proportions if proportions.side == "right" else proportions.mirrored()
    shape = replace(mean_shape(right.size), first_joints=right.first_joints, lengths=right.phalanges)
    return with_offsets(replace(shape, digit_rotations=rot.to_matrix(right.digit_rotations)))


def with_offsets(shape: ShapeParameters) -> ShapeParameters:
    """Return the same hand with its landmarks at their positions on it."""
    offsets = landmark_offsets() * length_of(shape)
    offsets[_AT_END, 1] += shape.lengths[_DIGIT, _BONE][_AT_END]
    return replace(shape, offsets=offsets)


def length_of(shape: ShapeParameters) -> float:
    """Return a hand's length in m, from the wrist to the straight middle finger's tip."""
    return float(np.linalg.norm(shape.first_joints[2]) + shape.lengths[2].sum())


@cache
def _to_markers() -> Floats:
    """(S + 9 * 21, S) how the parameters of `chain.py` follow from a shape's: landmarks move with their bone's end."""
    matrix = np.zeros((parameter_count(COUNT), SHAPE_PARAMETERS))
    matrix[:SHAPE_PARAMETERS] = np.eye(SHAPE_PARAMETERS)
    for landmark in np.flatnonzero(_AT_END):
        length = SHAPE_PARAMETERS - 15 + 3 * _DIGIT[landmark] + _BONE[landmark]
        matrix[MARKERS + 3 * landmark + 1, length] = 1.0
    return matrix


def landmark_shape_jacobian(shape: ShapeParameters, landmarks: MarkerPositions) -> Floats:
    """Jacobian (F, 21, 3, S) of the landmarks in the wrist's frame by the shape's parameters."""
    jacobian: Floats = shape_jacobian(shape, landmarks) @ _to_markers()
    return jacobian


def step_shape(shape: ShapeParameters, step: Floats) -> ShapeParameters:
    """Return the shape after a step (S,) of its parameters."""
    return with_offsets(apply_step(shape, _to_markers() @ step))


class HandShapePrior:
    """The prior of a hand's shape: usual proportions, and its length."""

    def __init__(self, length: float) -> None:
        nobody = np.zeros(0, np.int64)
        self.proportions: ShapePrior = shape_prior(nobody, nobody, nobody.astype(bool))
        self.length = length

    def residuals(self, shape: ShapeParameters) -> tuple[Floats, Floats]:
        """Residuals (N,) in standard deviations, and their Jacobian (N, S)."""
        bare = replace(shape, digits=shape.digits[:0], offsets=shape.offsets[:0], slides=shape.slides[:0])
        row = np.zeros(SHAPE_PARAMETERS)
        row[7:10] = shape.first_joints[2] / np.linalg.norm(shape.first_joints[2])
        row[SHAPE_PARAMETERS - 15 + 6 : SHAPE_PARAMETERS - 15 + 9] = 1.0
        missing = (length_of(shape) - self.length) / FIXED_LENGTH_SPREAD
        residuals = np.append(self.proportions.residuals(bare), missing)
        return residuals, np.vstack([self.proportions.matrix, row / FIXED_LENGTH_SPREAD])
