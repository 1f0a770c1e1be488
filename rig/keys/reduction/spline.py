"""Cubic Hermite splines. Bézier F-curves whose handles end at a third of the distance to the next key are such splines.

A curve's frame is then linear in the Bézier's parameter, so its value is a cubic polynomial of the frame, determined by
the values v and slopes s at its two ends (Farin, Curves and Surfaces for CAGD, ch. 7: cubic Hermite form), and the
least-squares fit of both to samples is a linear system of 2 x 2 blocks along the diagonal.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BENDING_WEIGHT = 1e-5
"""Weight of bending per frame, relative to that of a sample. It determines slopes where there are too few samples."""
PINNED_WEIGHT = 1e7
"""Weight of a pinned sample, relative to others of about 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Spline:
    """C channels with keys on the same K frames."""

    frames: Floats
    """(K,), increasing"""
    values: Floats
    """(K, C)"""
    slopes: Floats
    """(K, C) per frame, equal before and after a key."""

    def at(self, frames: Floats) -> Floats:
        """Return the values (F, C) on frames (F,) between the first key and the last."""
        if len(self.frames) == 1:
            return np.broadcast_to(self.values, (len(frames), self.values.shape[1]))
        segment = np.clip(np.searchsorted(self.frames, frames, side="right") - 1, 0, len(self.frames) - 2)
        length = np.diff(self.frames)[segment]
        basis = _basis((frames - self.frames[segment]) / length, length)
        ends = (self.values[segment], self.slopes[segment], self.values[segment + 1], self.slopes[segment + 1])
        values: Floats = sum((weight[:, None] * end for weight, end in zip(basis.T, ends, strict=True)), np.zeros(1))
        return values


def _basis(part: Floats, length: Floats) -> Floats:
    """Return the weights (F, 4) of value, slope, next value and next slope at `part` (F,) 0..1 of a segment."""
    rest = 1 - part
    return np.stack(
        [
            rest * rest * (1 + 2 * part),
            rest * rest * part * length,
            part * part * (1 + 2 * rest),
            -part * part * rest * length,
        ],
        axis=-1,
    )


def fit(frames: Floats, samples: Floats, weights: Floats, keys: Ints, pinned: Bools) -> Spline:
    """Fit a spline to samples (F, C) on frames (F,) with weights (F,), by least squares.

    keys: (K,) the rows of the samples on which it has keys, the first and the last among them. pinned: (F,) the rows
    whose samples a key keeps.
    """
    at = frames[keys]
    length = np.diff(at)
    segment = np.clip(np.searchsorted(keys, np.arange(len(frames)), side="right") - 1, 0, len(keys) - 2)
    basis = _basis((frames - at[segment]) / length[segment], length[segment])
    kept = np.zeros(len(frames), bool)
    kept[keys] = pinned[keys]
    weighted = basis * (weights + PINNED_WEIGHT * kept)[:, None]
    products = np.add.reduceat(weighted[:, :, None] * basis[:, None, :], keys[:-1]) + _bending(length)
    sides = np.add.reduceat(weighted[:, :, None] * samples[:, None, :], keys[:-1])
    solution = _solved(products, sides)
    return Spline(at, solution[:, 0], solution[:, 1])


def _bending(length: Floats) -> Floats:
    """Return the quadratic forms (K-1, 4, 4) of BENDING_WEIGHT · ∫ (d²y/df²)² df over segments."""
    h = length[:, None, None]
    form = np.array([[12.0, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]])
    powers = np.array([[0, 1, 0, 1], [1, 2, 1, 2], [0, 1, 0, 1], [1, 2, 1, 2]])
    forms: Floats = BENDING_WEIGHT * form * h**powers / h**3
    return forms


def _solved(products: Floats, sides: Floats) -> Floats:
    """Solve the normal equations of all segments: products (K-1, 4, 4), sides (K-1, 4, C). Returns (K, 2, C).

    The system is block-tridiagonal: forward elimination and back substitution (Golub and Van Loan, 4.5.1).
    """
    count = len(products) + 1
    diagonal, right = np.zeros((count, 2, 2)), np.zeros((count, 2, sides.shape[2]))
    diagonal[:-1] += products[:, :2, :2]
    diagonal[1:] += products[:, 2:, 2:]
    right[:-1] += sides[:, :2]
    right[1:] += sides[:, 2:]
    above = products[:, :2, 2:]
    eliminated = np.empty_like(above)
    for key in range(count - 1):
        eliminated[key] = above[key].T @ _inverse(diagonal[key])
        diagonal[key + 1] -= eliminated[key] @ above[key]
        right[key + 1] -= eliminated[key] @ right[key]
    right[-1] = _inverse(diagonal[-1]) @ right[-1]
    for key in range(count - 2, -1, -1):
        right[key] = _inverse(diagonal[key]) @ (right[key] - above[key] @ right[key + 1])
    return right


def _inverse(matrix: Floats) -> Floats:
    (a, b), (c, d) = matrix.tolist()
    inverse: Floats = np.array([[d, -b], [-c, a]]) / (a * d - b * c)
    return inverse
