"""Values spread and smoothed over the time around them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def window_frames(times: Floats, seconds: float) -> int:
    """Return the number of frames, of times (F,) s, in a duration in seconds; at least 1 if there are several
    frames."""
    step = float(np.median(np.diff(times))) if len(times) > 1 else seconds
    return min(int(np.ceil(seconds / max(step, 1e-6))), len(times))


def spread(values: Floats, radius: int) -> Floats:
    """Spread values (F, K) >= 0 over time: the maximum within `radius` frames, smoothed over the same window.

    The result is never less than the value.
    """
    result, columns = np.zeros_like(values), np.flatnonzero(values.any(axis=0))
    if len(columns):
        padded = np.pad(values[:, columns], ((radius, radius), (0, 0)))
        maximum = padded[: len(values)].copy()
        for shift in range(1, 2 * radius + 1):
            np.maximum(maximum, padded[shift : shift + len(values)], out=maximum)
        result[:, columns] = smoothed(maximum, radius)
    return result


def smoothed(values: Floats, radius: int) -> Floats:
    """Return the means of values (F, K) over `radius` frames to each side, weighted by a Hann window."""
    if not len(values):
        return values
    weights = np.hanning(2 * radius + 3)[1:-1]
    padded, result = np.pad(values, ((radius, radius), (0, 0)), mode="edge"), np.zeros_like(values)
    for shift, weight in enumerate(weights / weights.sum()):
        result += weight * padded[shift : shift + len(values)]
    return result
