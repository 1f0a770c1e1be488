"""Priors of a hand and its markers, with standard deviations. Right hands, m and rad.

The mean hand's bones and palm are those of Buryanov & Kotiuk (2010). Markers are worn on the back of a bone or on the
nail, some millimetres from the bone's axis. The skin slides by about a millimetre per radian.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ... import rotations as rot
from ...joints import DIGITS
from ...limits import DIP_PER_PIP
from ...proportions import adult
from .chain import FIRST_JOINTS, LENGTHS, MARKERS, ROTATIONS, SIZE, ShapeParameters, parameter_count
from .pose_fit import rotation_matrices
from .skin_fit import COLUMNS, DOFS, FLEXION, PALM, SkinFit

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

MEAN = adult("right")
MEAN_PALM = MEAN.first_joints
MEAN_ROTATIONS = rot.to_matrix(MEAN.digit_rotations)

SIZE_SPREAD = 0.1
PALM_SPREAD = np.array([12.0, 4.0, 4.0, 4.0, 4.0]) / 1000
"""(5,) m, standard deviations of the digits' first joints on each axis.

The thumb's first joint is a saddle joint, and markers determine it worst."""
ROTATION_SPREAD = np.deg2rad([20.0, 5.0, 5.0, 5.0, 5.0])
MIN_BONE_LENGTH = 0.005
"""m, lower bound of bone lengths."""
BONE_SPREAD = 0.07
"""Relative standard deviation of a bone's length among hands of the same size."""
SLIDE_SPREAD = np.array([1.0, 1.5, 1.2]) / 1000
"""(3,) m/rad, standard deviations of skin slides across the bone, along it and out of the skin."""
DIP_SLIDE_SHARE = 0.15
"""Part of these on a finger's middle phalanx as its DIP bends. A DIP bends with its PIP, so a take hardly shows which
of them moves the skin; if the DIP did, a marker that is a millimetre off would bend a DIP whose tip is hidden."""

ON_PALM = np.array([[0.0, 60.0, 18.0], [25.0, 30.0, 6.0]]) / 1000
"""Position of a marker on the back of the palm, and its standard deviation."""
ABOVE_AXIS, ABOVE_SPREAD = 0.0115, np.array([0.003, 0.2, 0.003])
"""m from a phalanx's axis to a marker over it; standard deviations, relative to the bone's length along the bone."""
ALONG_BONE = 0.6
"""Position of a marker along its bone, relative to the bone's length."""
ON_NAIL = np.array([[0.0, -5.0, 7.0], [2.5, 4.0, 3.0]]) / 1000
"""Offset from a fingertip to the marker on its nail, and its standard deviation."""

INDEPENDENT_FRAMES = 40.0
"""The number of independent frames to which a take is equivalent: skin slides in the same way each time a finger bends,
so its effect on a bone's length does not average out."""

LIMIT_MARGIN = np.deg2rad(20.0)
"""Angle by which a hand of unknown shape may exceed the usual limits, since the zero of the angles is not known yet."""

DIP_COUPLING_SPREAD = np.deg2rad(10.0)
"""Standard deviation of a DIP from the angle that its PIP predicts."""
THUMB_MEAN, FINGER_MEAN = np.deg2rad([0.0, 0, 8, 0, 20, 20]), np.deg2rad([0.0, 0, 25, 0, 30, 20])
THUMB_SPREAD, FINGER_SPREAD = np.deg2rad([20.0, 10, 15, 7, 20, 25]), np.deg2rad([10.0, 6, 30, 1, 40, 25])
START_POSES = {
    "open": (np.zeros(6), np.zeros(6)),
    "half open": (np.deg2rad([10.0, 0, 10, 0, 20, 20]), np.deg2rad([0.0, 0, 35, 0, 45, 30])),
    "fist": (np.deg2rad([10.0, 0, 20, 0, 35, 45]), np.deg2rad([0.0, 0, 80, 0, 95, 55])),
}
"""Initial poses of a hand: the thumb's six movements, and those of every finger."""


def _angles(thumb: Floats, finger: Floats) -> Floats:
    """Arrange the movements of the thumb and of every finger as the hand's angles (D,)."""
    result = np.zeros(DOFS)
    for row, values in zip(COLUMNS, (thumb, *[finger] * 4), strict=True):
        result[row[row >= 0]] = values[row >= 0]
    return result


START_ANGLES = np.array([_angles(*digits) for digits in START_POSES.values()])
"""(K, D) rad"""


USUAL_SPREAD = _angles(THUMB_SPREAD, FINGER_SPREAD)
"""(D,) rad, usual standard deviations of the angles; a DIP's without its PIP."""


def usual_pose_prior() -> tuple[Floats, Floats]:
    """Mean (D,) and precision (D, D) of a hand's angles, with softly coupled DIPs."""
    precision = np.diag(1 / USUAL_SPREAD**2)
    for row in COLUMNS[1:]:
        pip, dip = row[FLEXION[1]], row[FLEXION[2]]
        coupling = np.zeros(DOFS)
        coupling[dip], coupling[pip] = 1.0, -DIP_PER_PIP
        precision[dip, dip] = 0.0
        precision += np.outer(coupling, coupling) / DIP_COUPLING_SPREAD**2
    return _angles(THUMB_MEAN, FINGER_MEAN), precision


def shape_from_fit(fit: SkinFit) -> ShapeParameters:
    """Convert a fitted hand to its right-hand shape."""
    right = fit.proportions if fit.side == "right" else fit.proportions.mirrored()
    markers = fit.markers
    bases = rot.to_matrix(right.digit_rotations)
    return ShapeParameters(
        1.0, right.first_joints, bases, right.phalanges, markers.digits, markers.bones, markers.offsets, markers.slides
    )


def prior_weight(frames: int) -> float:
    """Weight of the prior against a take of this many frames, which count as INDEPENDENT_FRAMES at most."""
    return max(frames / INDEPENDENT_FRAMES, 1.0)


@dataclass(frozen=True, eq=False)
class ShapePrior:
    """The prior of a shape's parameters: matrix · parameters = expected, each row in standard deviations."""

    matrix: Floats
    """(N, S)"""
    expected: Floats
    """(N,)"""

    @cached_property
    def precision(self) -> Floats:
        """(S, S) of the parameters."""
        return self.matrix.T @ self.matrix

    def residuals(self, shape: ShapeParameters) -> Floats:
        """Residuals (N,) in standard deviations."""
        return self.matrix @ parameters_of(shape) - self.expected


def parameters_of(shape: ShapeParameters) -> Floats:
    """Parameters (S,) of a shape; digits' rotations relative to a mean hand's, to first order."""
    relative = shape.digit_rotations @ MEAN_ROTATIONS.swapaxes(1, 2)
    skew = (relative - relative.swapaxes(1, 2)) / 2
    rotations = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    parts = [shape.first_joints, rotations, shape.lengths, shape.offsets, shape.slides]
    return np.concatenate([[shape.size], *(part.ravel() for part in parts)])


def apply_step(shape: ShapeParameters, step: Floats) -> ShapeParameters:
    """Return the shape after a step (S,) of its parameters; bone lengths stay positive."""
    count = len(shape.digits)
    return replace(
        shape,
        size=shape.size + step[SIZE],
        first_joints=shape.first_joints + step[FIRST_JOINTS:ROTATIONS].reshape(-1, 3),
        digit_rotations=rotation_matrices(step[ROTATIONS:LENGTHS].reshape(-1, 3)) @ shape.digit_rotations,
        lengths=np.maximum(shape.lengths + step[LENGTHS:MARKERS].reshape(-1, 3), MIN_BONE_LENGTH),
        offsets=shape.offsets + step[MARKERS : MARKERS + 3 * count].reshape(-1, 3),
        slides=shape.slides + step[MARKERS + 3 * count :].reshape(-1, 2, 3),
    )


def expected_offsets(digits: Ints, bones: Ints, tips: Bools) -> tuple[Floats, Floats, Floats]:
    """Expected positions of markers on a mean hand.

    Returns:
        A part (M, 3) m that is fixed, a part (M, 3) m that scales with the hand, and standard deviations (M, 3) m.
    """
    on_digit = digits != PALM
    length = np.where(on_digit, MEAN.phalanges[digits, bones], 0.0)
    fixed, scaled, spread = np.zeros((3, len(digits), 3))
    fixed[:, 2] = np.where(on_digit, ABOVE_AXIS, ON_PALM[0, 2])
    scaled[:, 1] = np.where(on_digit, ALONG_BONE * length, ON_PALM[0, 1])
    spread[:] = np.where(on_digit[:, None], ABOVE_SPREAD, ON_PALM[1])
    spread[on_digit, 1] *= length[on_digit]
    fixed[tips], scaled[tips, 1], spread[tips] = ON_NAIL[0], length[tips], ON_NAIL[1]
    return fixed, scaled, spread


def shape_prior(digits: Ints, bones: Ints, tips: Bools) -> ShapePrior:
    """Build the prior of a hand with markers on these bones.

    Args:
        digits: (M,) row in DIGITS, or PALM.
        bones: (M,) index of the bone in the digit.
        tips: (M,) whether the marker is on a nail.
    """
    count = len(digits)
    zero = np.zeros(parameter_count(count))
    fixed, scaled, spread = expected_offsets(digits, bones, tips)
    expected, spreads, by_size = zero.copy(), zero.copy(), zero.copy()
    expected[SIZE], spreads[SIZE] = 1.0, SIZE_SPREAD
    by_size[FIRST_JOINTS:ROTATIONS], spreads[FIRST_JOINTS:ROTATIONS] = MEAN_PALM.ravel(), np.repeat(PALM_SPREAD, 3)
    spreads[ROTATIONS:LENGTHS] = np.repeat(ROTATION_SPREAD, 3)
    lengths = MEAN.phalanges.ravel()
    by_size[LENGTHS:MARKERS], spreads[LENGTHS:MARKERS] = lengths, BONE_SPREAD * lengths
    offsets = slice(MARKERS, MARKERS + 3 * count)
    expected[offsets], by_size[offsets], spreads[offsets] = fixed.ravel(), scaled.ravel(), spread.ravel()
    slides = np.tile(SLIDE_SPREAD, (count, 2, 1))
    slides[(digits >= 1) & (bones == 1), 1] *= DIP_SLIDE_SHARE
    spreads[offsets.stop :] = slides.ravel()
    matrix = np.eye(parameter_count(count))
    matrix[:, SIZE] -= by_size
    return ShapePrior(matrix / spreads[:, None], expected / spreads)


def mean_shape(digits: Ints, bones: Ints, tips: Bools) -> ShapeParameters:
    """Return a mean hand with markers at their expected positions."""
    fixed, scaled, _ = expected_offsets(digits, bones, tips)
    no_slides = np.zeros((len(digits), 2, 3))
    return ShapeParameters(1.0, MEAN_PALM, MEAN_ROTATIONS, MEAN.phalanges, digits, bones, fixed + scaled, no_slides)


def parameter_digits(digits: Ints) -> Ints:
    """Return the digit (S,) to which each of a shape's parameters belongs; PALM for shared ones."""
    digit_indices = np.arange(len(DIGITS))
    parts = (
        [PALM],
        np.repeat(digit_indices, 3),
        np.repeat(digit_indices, 3),
        np.repeat(digit_indices, 3),
        np.repeat(digits, 3),
        np.repeat(digits, 6),
    )
    return np.concatenate(parts)
