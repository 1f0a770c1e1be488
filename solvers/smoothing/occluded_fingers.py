"""Fill gaps in which a finger has no visible marker, from its angles around the gap and the other fingers' motion.

Fingers move together (the transdigital correlations of Aristidou 2018, Hand tracking with physiological constraints).
The correlation is learned from the take itself, by a ridge regression of a finger's angles on those of the visible
fingers. Its residual is interpolated linearly across the gap.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]

MIN_FRAMES = 200
"""Minimum number of frames for the regression."""
RIDGE = 0.01
"""rad², regularisation: an angle of smaller variance is a poor predictor."""


def fill_gaps(angles: Floats, seen: Bools, times: Floats) -> Floats:
    """Fill in the angles (F, G, N) of digits, thumb first, in frames in which they are not seen (F, G).

    A digit that is never seen stays as it is. A gap at the start or end of the take continues from the angles at its
    one known end.
    """
    result = angles.copy()
    for digit in np.flatnonzero(np.any(seen, axis=0) & ~np.all(seen, axis=0)).tolist():
        for gap in _gaps(seen[:, digit]):
            # The thumb moves independently of the fingers.
            visible = [d for d in range(1, seen.shape[1]) if digit > 0 and d != digit and np.all(seen[gap, d])]
            predicted = _predict_from(visible, digit, angles, seen)
            result[gap, digit] = predicted[gap] + _interpolate_gap(
                gap, times, angles[:, digit] - predicted, seen[:, digit]
            )
    return result


def _gaps(seen: Bools) -> list[Ints]:
    """Return the frames of each gap."""
    unseen_rows = np.flatnonzero(~seen)
    return np.split(unseen_rows, np.flatnonzero(np.diff(unseen_rows) > 1) + 1)


def _predict_from(visible: list[int], digit: int, angles: Floats, seen: Bools) -> Floats:
    """Predict a digit's angles (F, N), up to a constant, from visible digits; 0 if there are too few frames."""
    known_rows = np.flatnonzero(np.all(seen[:, [digit, *visible]], axis=1))
    if not visible or len(known_rows) < MIN_FRAMES:
        return np.zeros(angles[:, digit].shape)
    inputs = angles[:, visible].reshape(len(angles), -1)
    inputs = inputs - inputs[known_rows].mean(axis=0)
    square = inputs[known_rows].T @ inputs[known_rows] + RIDGE * len(known_rows) * np.eye(inputs.shape[1])
    outputs = angles[known_rows, digit] - angles[known_rows, digit].mean(axis=0)
    predicted: Floats = inputs @ np.linalg.solve(square, inputs[known_rows].T @ outputs)
    return predicted


def _interpolate_gap(gap: Ints, times: Floats, residuals: Floats, seen: Bools) -> Floats:
    """Interpolate residuals (F, N) linearly across a gap: (n, N); constant if one end is missing."""
    known_frames = [frame for frame in (gap[0] - 1, gap[-1] + 1) if 0 <= frame < len(seen)]
    known_times, known_residuals = times[known_frames], residuals[known_frames].T
    return np.stack([np.interp(times[gap], known_times, column) for column in known_residuals], axis=1)
