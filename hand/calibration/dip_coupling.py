"""Measure ρ, the ratio of a finger's DIP flexion to its PIP flexion, as the slope of DIP on PIP (thesis 4.3)."""

import numpy as np
from numpy.typing import NDArray

from ..measurements import Measurement, inlier_mask, jackknife

Floats = NDArray[np.float64]

MIN_FRAMES = 30
"""Minimum number of frames in which both joints are seen."""
MIN_PIP_RANGE = np.deg2rad(20)
"""rad, minimum range through which a PIP must flex; smaller ranges are lost in noise and skin movement."""
MIN_NOISE = np.deg2rad(1)
"""rad, lower bound of the standard deviation of residuals by which outliers are detected."""
MAX_SPREAD = 0.1
"""Standard deviation of a ρ above which the usual 2/3 is more certain."""
MIN_CORRELATION = 0.5
"""Correlation of the two joints below which one does not follow the other."""
RHO_RANGE = (0.1, 1.5)
"""Plausible range of ρ."""
JACKKNIFE_PARTS = 10
"""Parts of a clip for the jackknife estimate of ρ's uncertainty."""
SMOOTHING_FRAMES = 5
"""Frames of the moving average of the angles before (4.3): noise in the PIP biases the slope towards zero, and
averaging both angles does not change their ratio."""
LINE_POINTS = 200
"""Number of frames for the initial line, whose slope is computed for every pair of them."""


def rho_slope(pip: Floats, dip: Floats) -> float:
    """Return the slope ρ of the least-squares line through angles (N,) of PIP and DIP, thesis (4.3).

    In print, (4.2) has the two angles exchanged: the later equations have θ_dip = ρ θ_pip.
    """
    n = len(pip)
    return float((n * (pip * dip).sum() - pip.sum() * dip.sum()) / (n * (pip**2).sum() - pip.sum() ** 2))


def measure_rho(digit: str, pip: Floats, dip: Floats, smoothing: int = SMOOTHING_FRAMES) -> Measurement:
    """Measure ρ of a digit over a clip of free motion.

    Outliers from the line are excluded, and the angles are smoothed by a moving average before (4.3).

    Args:
        digit: the digit's name.
        pip: (F,) rad, NaN where not seen; for the thumb, its MCP.
        dip: (F,) rad, NaN where not seen; for the thumb, its IP.
        smoothing: frames of the moving average.

    Returns:
        The measurement. If ρ cannot be determined, it has no value, and `how` is the reason.
    """

    def without_value(reason: str, frames: int) -> Measurement:
        return Measurement("rho", digit, f"not measured: {reason}", frames=frames)

    is_known = np.isfinite(pip) & np.isfinite(dip)
    if not is_known.any():
        return without_value("no markers show how far PIP and DIP bend", 0)
    pip, dip = pip[is_known], dip[is_known]
    if len(pip) < MIN_FRAMES:
        return without_value(f"its joints are seen together in {len(pip)} of the {MIN_FRAMES} frames needed", len(pip))
    low, high = np.quantile(pip, [0.02, 0.98])
    if high - low < MIN_PIP_RANGE:
        bend = f"the PIP bends through {np.rad2deg(high - low):.0f} degrees"
        return without_value(f"{bend}, {np.rad2deg(MIN_PIP_RANGE):.0f} are needed", len(pip))
    inliers = _line_inliers(pip, dip)
    pip, dip = _moving_average(pip[inliers], smoothing), _moving_average(dip[inliers], smoothing)
    value = rho_slope(pip, dip)
    parts = np.array_split(np.arange(len(pip)), JACKKNIFE_PARTS)
    spread = float(jackknife(np.array([rho_slope(np.delete(pip, part), np.delete(dip, part)) for part in parts])))
    correlation = float(np.corrcoef(pip, dip)[0, 1]) if np.ptp(dip) > 0 else 0.0
    if correlation < MIN_CORRELATION or not RHO_RANGE[0] <= value <= RHO_RANGE[1]:
        return without_value(
            f"the DIP does not follow the PIP (slope {value:.2f}, correlation {correlation:.2f})", len(pip)
        )
    if spread > MAX_SPREAD:
        return without_value(f"parts of the clip disagree ({value:.2f} ± {spread:.2f})", len(pip))
    residuals = dip - dip.mean() - value * (pip - pip.mean())
    method = f"slope of DIP on PIP by (4.3), correlation {correlation:.2f}"
    return Measurement("rho", digit, method, value, spread, float(np.rad2deg(np.sqrt((residuals**2).mean()))), len(pip))


def _line_inliers(pip: Floats, dip: Floats) -> NDArray[np.bool_]:
    """Return whether frames (N,) are near the line on which most of them lie.

    The line has Theil's slope, the median over all pairs of points, which tolerates up to 29 % outliers.
    """
    rows = np.unique(np.linspace(0, len(pip) - 1, LINE_POINTS).astype(int))
    first, second = np.triu_indices(len(rows), 1)
    runs = pip[rows[second]] - pip[rows[first]]
    rises = (dip[rows[second]] - dip[rows[first]])[runs != 0] / runs[runs != 0]
    return inlier_mask(dip - float(np.median(rises)) * pip, MIN_NOISE)


def _moving_average(values: Floats, frames: int) -> Floats:
    """Return the moving average (N,), over fewer values at the ends."""
    box = np.ones(frames)
    mean: Floats = np.convolve(values, box, "same") / np.convolve(np.ones(len(values)), box, "same")
    return mean
