"""Measurements of a hand with their method and uncertainty, which users see with the performer."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Kind = Literal["bone", "palm", "rho", "radius", "marker"]
OUTLIER_DEVIATIONS = 3.0
"""Standard deviations from the median beyond which a frame is an outlier: 1 in 370 frames of normal noise."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement. Without a value, nothing was measured, and `how` is the reason."""

    kind: Kind
    of: str
    """What is measured: the joint at which a bone starts, a palm joint, the joint of a radius, the digit of a rho, or
    the label of a marker."""
    how: str
    """The method, in words."""
    value: float | None = None
    """mm; for rho, a ratio. The distance of a palm joint is from the wrist, that of a marker from its joint."""
    spread: float | None = None
    """One standard deviation, in the unit of the value. For a length: between frames. For a rho or a radius: of the
    estimate, by jackknife over parts of the clip. For values fitted to free motion: from the curvature of the cost."""
    residual: float | None = None
    """Root mean square residual of the frames: degrees for rho, mm for a radius or a marker."""
    frames: int = 0
    """Number of frames used."""


def format_value(value: float, measurement: Measurement | None, decimals: int) -> str:
    """Format a value with its standard deviation, where that is known: '45.8 ± 0.2'."""
    if measurement is None or measurement.spread is None:
        return f"{value:.{decimals}f}"
    return f"{value:.{decimals}f} ± {measurement.spread:.{decimals}f}"


def inlier_mask(values: Floats, min_spread: float = 0.0) -> Bools:
    """Return whether values (N,) are finite and not outliers (N,), by the median absolute deviation.

    Args:
        values: (N,), NaN where unknown.
        min_spread: lower bound of the standard deviation that the median absolute deviation yields.
    """
    is_finite = np.isfinite(values)
    if not is_finite.any():
        return is_finite
    deviations = np.abs(values - np.median(values[is_finite]))
    # 1.4826: ratio of standard deviation to median absolute deviation of a normal distribution.
    result: Bools = is_finite & (
        deviations <= OUTLIER_DEVIATIONS * max(1.4826 * float(np.median(deviations[is_finite])), min_spread, 1e-12)
    )
    return result


def mean_and_spread(values: Floats) -> tuple[float, float | None, int]:
    """Return the mean and standard deviation of the values (N,) without outliers, and their number.

    The mean is NaN if no value is finite, the standard deviation None if fewer than two are.
    """
    inliers = values[inlier_mask(values)]
    if not len(inliers):
        return float("nan"), None, 0
    return float(inliers.mean()), float(inliers.std(ddof=1)) if len(inliers) > 1 else None, len(inliers)


def jackknife(parts: Floats) -> Floats:
    """Return the standard deviation (...) of an estimate by the block jackknife (Kunsch 1989).

    Whole parts of a clip are left out rather than frames, because neighbouring frames are correlated.

    Args:
        parts: (B, ...) estimates, each without one of the clip's B parts.
    """
    count = len(parts)
    spread: Floats = np.sqrt((count - 1) / count * ((parts - parts.mean(0)) ** 2).sum(0))
    return spread
