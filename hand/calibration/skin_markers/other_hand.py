"""What one hand of a person says about the other.

The hands of a person are nearly mirror images of each other. The parameters x of both that correspond are taken as
normal: each hand's are N(μ, C), as those of a hand alone, and their difference is N(0, D), so that C − D/2 is their
covariance. If a hand's own markers leave N(a, V) of its parameters, those of the other one are

    N(μ + K (a − μ), C − K (C − V) K^T)    with K = I − D C⁻¹ / 2.

What this says beyond N(μ, C) is added to the prior of the other hand, in information form. For normal distributions
this is exact, and no prior counts twice. All is computed in units of the prior, in which μ is zero and C is I.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...marker_sets import Spot
from .chain import FIRST_JOINTS, LENGTHS, MARKERS, ROTATIONS, SIZE, ShapeParameters
from .pose_fit import invert
from .priors import MEAN, ShapePrior, parameters_of
from .skin_fit import PALM

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIZE_DIFFERENCE = 0.01
"""Standard deviation of the relative difference in size, about which the prior's bones vary, of a person's hands."""
BONE_DIFFERENCE = 0.02
"""The same of each bone's length. The ratio of index to ring finger correlates by 0.66 between the hands of 1011
adults, with a standard deviation of some 0.03: at most 2 % for a finger, the errors of measurement included."""
JOINT_DIFFERENCE, ROTATION_DIFFERENCE = 0.0015, np.deg2rad(3.0)
"""m and rad, of a digit's first joint and of its direction: about 2 % of a metacarpal's length, and of a bone's."""
MARKER_SHARE = 1 / 3
"""Standard deviation of the difference in offset and slide between a marker and the same marker of the other hand,
relative to that among performers. The depth of a bone under the skin is a person's own, and markers are stuck on both
hands by one rule: of three performers of Han et al. (2018), any two give 0.24 to 0.39."""
SAME_PERSON = 2.5
"""Difference between two hands' mean bones, in standard deviations, beyond which they are not one person's."""
MAX_EVIDENCE_AGAINST = 5.0
"""Log evidence against corresponding hands beyond which they are not one person's: hands in one capture nearly always
are, and of one person's hands in 60 frames, whose evidence is weak, two of four had 1.6 and 3.9 against them."""
MIN_INFORMATION = 1e-6
"""Minimum information that is used, relative to the prior's."""


@dataclass(frozen=True, slots=True, eq=False)
class ShapeEstimate:
    """A hand's shape, estimated from its own markers and its prior."""

    shape: ShapeParameters
    covariance: Floats
    """(S, S) of the shape's parameters."""
    prior: ShapePrior
    spots: tuple[Spot, ...]
    """(M,) spot of each marker on the hand, as its label says."""


@dataclass(frozen=True, slots=True, eq=False)
class Correspondence:
    """Corresponding parameters of a left and a right hand."""

    rows: tuple[Ints, Ints]
    """(N,) indices among the parameters of each hand."""
    differences: Floats
    """(N,) standard deviations of their differences."""

    def reversed(self) -> "Correspondence":
        """Return the correspondence with the hands exchanged."""
        return Correspondence((self.rows[1], self.rows[0]), self.differences)


Pair = tuple[ShapeEstimate, ShapeEstimate]


def informed_priors(pair: Pair) -> tuple[ShapePrior, ShapePrior] | str:
    """Return priors of two hands, each with what the other says of it, or a sentence if they seem to be two people's.

    The sentence is empty if there is too little evidence for either.
    Of the bones alone, the bones with the markers and nothing, what explains both hands best is taken to correspond.
    """
    bones = corresponding_bones()
    candidates = [(log_evidence(pair, rows), rows) for rows in (bones, corresponding_markers(pair, bones))]
    evidence, likeliest = max(candidates, key=lambda each: each[0])
    relative, deviations = mean_bone_difference(pair, likeliest)
    if abs(deviations) > SAME_PERSON or evidence < -MAX_EVIDENCE_AGAINST:
        differ = (
            f"the left hand's bones and the right one's differ by {100 * abs(relative):.1f} % on average"
            if abs(deviations) > SAME_PERSON
            else "the left hand's proportions and the right one's differ"
        )
        return (
            f"{differ}, more than one person's do, so each hand was fitted by itself: check that both are labelled "
            "as this performer's"
        )
    if evidence < 0:
        return ""
    return informed_prior((pair[1], pair[0]), likeliest.reversed()), informed_prior(pair, likeliest)


def corresponding_bones() -> Correspondence:
    """Return the correspondence of two hands' bones."""
    differences = np.empty(MARKERS)
    differences[SIZE] = SIZE_DIFFERENCE
    differences[FIRST_JOINTS:ROTATIONS], differences[ROTATIONS:LENGTHS] = JOINT_DIFFERENCE, ROTATION_DIFFERENCE
    differences[LENGTHS:] = BONE_DIFFERENCE * MEAN.phalanges.ravel()
    rows = np.arange(MARKERS)
    return Correspondence((rows, rows), differences)


def corresponding_markers(pair: Pair, bones: Correspondence) -> Correspondence:
    """Return the correspondence of bones, and of markers at the same spots and on the same bones of digits."""
    first, second = pair
    rows: tuple[list[Ints], list[Ints]] = ([bones.rows[0]], [bones.rows[1]])
    for own, spot in enumerate(first.spots):
        carriers = [
            [(hand.shape.digits[m], hand.shape.bones[m]) for m, worn in enumerate(hand.spots) if worn == spot]
            for hand in pair
        ]
        if carriers[0] == carriers[1] and len(carriers[0]) == 1 and carriers[0][0][0] != PALM:
            rows[0].append(_marker_rows(first.shape, own))
            rows[1].append(_marker_rows(second.shape, second.spots.index(spot)))
    first_rows, second_rows = (np.concatenate(rows_of_hand) for rows_of_hand in rows)
    spreads = 1 / np.diag(first.prior.matrix)[first_rows[MARKERS:]]
    return Correspondence((first_rows, second_rows), np.concatenate([bones.differences, MARKER_SHARE * spreads]))


def _marker_rows(shape: ShapeParameters, marker: int) -> Ints:
    """Return the indices (9,) of a marker's offset and slides among the shape's parameters."""
    slides = MARKERS + 3 * len(shape.digits) + 6 * marker
    return np.concatenate([MARKERS + 3 * marker + np.arange(3), slides + np.arange(6)])


@dataclass(frozen=True, slots=True, eq=False)
class _Whitened:
    """Two hands' N parameters that correspond, in units of their prior: it is N(0, I)."""

    root: Floats
    """(N, N) the prior's covariance is root · root^T."""
    mean: Floats
    """(N,) mean of the prior."""
    estimates: tuple[Floats, Floats]
    """(N,) each hand's parameters."""
    covariances: tuple[Floats, Floats]
    """(N, N) each"""
    likeness: Floats
    """(N, N) I − D / 2, the covariance between the hands."""

    def expected(self) -> tuple[Floats, Floats]:
        """Return the mean (N,) of the second hand's parameters given the first hand, and by how much (N, N) the prior's
        covariance is larger than theirs.
        """
        informed = self.likeness @ (np.eye(len(self.mean)) - self.covariances[0]) @ self.likeness.T
        return self.likeness @ self.estimates[0], (informed + informed.T) / 2


def _whitened(pair: Pair, correspondence: Correspondence) -> _Whitened:
    rows = correspondence.rows
    prior, own = pair[0].prior, np.ix_(rows[0], rows[0])
    covariance = invert(prior.precision)
    mean = (covariance @ (prior.matrix.T @ prior.expected))[rows[0]]
    root: Floats = np.linalg.cholesky(covariance[own]).astype(float, copy=False)
    inverse = invert(root)
    first, second = (
        inverse @ (parameters_of(estimate.shape)[own_rows] - mean)
        for estimate, own_rows in zip(pair, rows, strict=True)
    )
    first_covariance, second_covariance = (
        inverse @ estimate.covariance[np.ix_(own_rows, own_rows)] @ inverse.T
        for estimate, own_rows in zip(pair, rows, strict=True)
    )
    difference = (inverse * correspondence.differences**2) @ inverse.T
    likeness = np.eye(len(mean)) - difference / 2
    return _Whitened(root, mean, (first, second), (first_covariance, second_covariance), likeness)


def informed_prior(pair: Pair, correspondence: Correspondence) -> ShapePrior:
    """Return the prior of the second hand's shape, with what the first hand says of it."""
    whitened = _whitened(pair, correspondence)
    mean, informed = whitened.expected()
    shares, axes = np.linalg.eigh(informed)
    used = shares > MIN_INFORMATION
    shares, axes = shares[used], axes[:, used]
    sharpness = np.sqrt(shares / (1 - shares))
    rows = sharpness[:, None] * (axes.T @ invert(whitened.root))
    expected = rows @ whitened.mean + (axes.T @ mean) / (1 - shares) / sharpness
    prior = pair[1].prior
    added = np.zeros((len(rows), prior.matrix.shape[1]))
    added[:, correspondence.rows[1]] = rows
    return ShapePrior(np.concatenate([prior.matrix, added]), np.concatenate([prior.expected, expected]))


def log_evidence(pair: Pair, correspondence: Correspondence) -> float:
    """Return the logarithm of how much likelier both hands' markers are if the parameters correspond than if not."""
    whitened = _whitened(pair, correspondence)
    mean, informed = whitened.expected()
    precision = invert(np.eye(len(mean)) - informed)
    own_precision = invert(whitened.covariances[1])
    own = own_precision @ whitened.estimates[1]
    both, together = precision @ mean + own, precision + own_precision - np.eye(len(mean))

    def log_determinant(matrix: Floats) -> float:
        return float(np.linalg.slogdet(matrix)[1])

    determinants = log_determinant(precision) - log_determinant(together) + log_determinant(own_precision)
    squares = both @ np.linalg.solve(together, both) - mean @ precision @ mean - own @ whitened.estimates[1]
    return (determinants + float(squares)) / 2


def mean_bone_difference(pair: Pair, correspondence: Correspondence) -> tuple[float, float]:
    """Return the relative difference of the hands' mean bones, and the same in standard deviations of one person's."""
    whitened = _whitened(pair, correspondence)
    weights = np.zeros(len(whitened.mean))
    weights[LENGTHS:MARKERS] = 1 / MEAN.phalanges.size / MEAN.phalanges.ravel()
    weights = whitened.root.T @ weights
    first, second = (np.eye(len(weights)) - covariance for covariance in whitened.covariances)
    variance = weights @ (first + second - 2 * first @ whitened.likeness @ second) @ weights
    difference = float(weights @ (whitened.estimates[0] - whitened.estimates[1]))
    return difference, difference / float(np.sqrt(variance))
