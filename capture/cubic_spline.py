"""Cubic splines through a few knots, vectorised over many splines."""

import numpy as np

from .markers import Floats


def knot_slopes(times: Floats, values: Floats) -> Floats:
    """Return the slopes (G, N, 3) at the knots of G not-a-knot cubic splines, which reproduce cubics exactly.

    N = 2 gives a line and N = 3 a parabola. times: (G, N) in s, increasing. values: (G, N, 3).
    """
    count = times.shape[1]
    steps = np.diff(times, axis=1)
    chords = np.diff(values, axis=1) / steps[..., None]
    if count == 2:
        return np.repeat(chords, 2, axis=1)
    matrix = np.zeros((len(times), count, count))
    right_hand_side = np.zeros((len(times), count, 3))
    # The second derivative is continuous at the inner knots.
    knots = np.arange(1, count - 1)
    left_step, right_step = steps[:, :-1], steps[:, 1:]
    matrix[:, knots, knots - 1] = right_step
    matrix[:, knots, knots] = 2 * (left_step + right_step)
    matrix[:, knots, knots + 1] = left_step
    right_hand_side[:, 1:-1] = 3 * (right_step[..., None] * chords[:, :-1] + left_step[..., None] * chords[:, 1:])
    if count == 3:
        # The second derivative is constant.
        matrix[:, 0, :2] = matrix[:, 2, 1:] = 1.0
        right_hand_side[:, 0], right_hand_side[:, 2] = 2 * chords[:, 0], 2 * chords[:, 1]
        return np.asarray(np.linalg.solve(matrix, right_hand_side), np.float64)
    # The third derivative is continuous at the second knot and at the last but one.
    for end, next_step, knot, neighbour in ((0, 1, 0, 1), (-1, -2, -1, -2)):
        h, k = steps[:, end], steps[:, next_step]
        matrix[:, knot, knot], matrix[:, knot, neighbour] = k, h + k
        weight = ((h + 2 * (h + k)) * k)[:, None] * chords[:, end] + (h**2)[:, None] * chords[:, next_step]
        right_hand_side[:, knot] = weight / (h + k)[:, None]
    return np.asarray(np.linalg.solve(matrix, right_hand_side), np.float64)


def hermite(fraction: Floats, step: Floats, values: tuple[Floats, Floats], slopes: tuple[Floats, Floats]) -> Floats:
    """Return the cubic Hermite interpolation (..., 3) at `fraction` (...), 0 to 1, between two ends.

    step (...): time between the ends in s. values, slopes: (..., 3) at each end.
    """
    s = fraction[..., None]
    h = step[..., None]
    first = values[0] * (1 + 2 * s) * (1 - s) ** 2 + slopes[0] * h * s * (1 - s) ** 2
    result: Floats = first + values[1] * s**2 * (3 - 2 * s) - slopes[1] * h * s**2 * (1 - s)
    return result
