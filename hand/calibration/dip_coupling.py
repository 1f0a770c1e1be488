"""ρ, how much a finger's DIP joint flexes with its PIP joint: the slope of DIP on PIP (thesis 4.3)."""

import numpy as np
from numpy.typing import NDArray

from ..measurements import Measure, jackknife, kept

Floats = NDArray[np.float64]

LEAST_FRAMES = 30
LEAST_RANGE = np.deg2rad(20)
"""rad, the range through which a PIP must flex; smaller ranges are lost in noise and skin movement."""
LEAST_NOISE = np.deg2rad(1)
"""rad, residuals below which frames are never outliers."""
MOST_SPREAD = 0.1
"""Standard deviation of a ρ above which the usual 2/3 is more certain."""
LEAST_TOGETHER = 0.5
"""Correlation of the two joints below which one does not follow the other."""
RANGE = (0.1, 1.5)
"""Plausible range of ρ."""
PARTS = 10
"""Parts of a clip for the jackknife estimate of ρ's uncertainty."""
SMOOTHED = 5
"""Frames of the moving average of angles before (4.3). Noise in the PIP biases the slope towards zero, and averaging
both angles alike does not change their ratio."""
LINE_POINTS = 200
"""Frames for the initial line, which takes every pair of them."""


def slope(pip: Floats, dip: Floats) -> float:
    """Slope ρ of the least-squares line through angles (N,) of PIP and DIP, thesis (4.3).

    The thesis prints (4.2) the wrong way round: its later equations have θ_dip = ρ θ_pip.
    """
    n = len(pip)
    return float((n * (pip * dip).sum() - pip.sum() * dip.sum()) / (n * (pip**2).sum() - pip.sum() ** 2))


def rho(digit: str, pip: Floats, dip: Floats, smoothed: int = SMOOTHED) -> Measure:
    """Measure ρ of a digit over a clip of free motion.

    Outliers from the line are left out, and the angles are smoothed by a moving average before (4.3).

    Args:
        digit: the digit's name.
        pip: (F,) rad, NaN where not seen; the thumb's MCP.
        dip: (F,) rad, NaN where not seen; the thumb's IP.
        smoothed: frames of the moving average.

    Returns:
        The measurement; without a value if ρ cannot be determined, and `how` says why.
    """

    def unknown(why: str, frames: int) -> Measure:
        return Measure("rho", digit, f"not measured: {why}", frames=frames)

    known = np.isfinite(pip) & np.isfinite(dip)
    if not known.any():
        return unknown("no markers show how far PIP and DIP bend", 0)
    pip, dip = pip[known], dip[known]
    if len(pip) < LEAST_FRAMES:
        return unknown(f"its joints are seen together in {len(pip)} of the {LEAST_FRAMES} frames needed", len(pip))
    least, most = np.quantile(pip, [0.02, 0.98])
    if most - least < LEAST_RANGE:
        through = f"the PIP bends through {np.rad2deg(most - least):.0f} degrees"
        return unknown(f"{through}, {np.rad2deg(LEAST_RANGE):.0f} are needed", len(pip))
    near = _near_line(pip, dip)
    pip, dip = _averaged(pip[near], smoothed), _averaged(dip[near], smoothed)
    value = slope(pip, dip)
    parts = np.array_split(np.arange(len(pip)), PARTS)
    spread = float(jackknife(np.array([slope(np.delete(pip, part), np.delete(dip, part)) for part in parts])))
    together = float(np.corrcoef(pip, dip)[0, 1]) if np.ptp(dip) > 0 else 0.0
    if together < LEAST_TOGETHER or not RANGE[0] <= value <= RANGE[1]:
        return unknown(f"the DIP does not follow the PIP (slope {value:.2f}, correlation {together:.2f})", len(pip))
    if spread > MOST_SPREAD:
        return unknown(f"parts of the clip disagree ({value:.2f} ± {spread:.2f})", len(pip))
    off = dip - dip.mean() - value * (pip - pip.mean())
    how = f"slope of DIP on PIP by (4.3), correlation {together:.2f}"
    return Measure("rho", digit, how, value, spread, float(np.rad2deg(np.sqrt((off**2).mean()))), len(pip))


def _near_line(pip: Floats, dip: Floats) -> NDArray[np.bool_]:
    """Mask (N,) of frames near the line on which most of them lie.

    The line has Theil's slope, the median slope over all pairs of points, which tolerates up to 29 % outliers.
    """
    some = np.unique(np.linspace(0, len(pip) - 1, LINE_POINTS).astype(int))
    one, other = np.triu_indices(len(some), 1)
    apart = pip[some[other]] - pip[some[one]]
    rises = (dip[some[other]] - dip[some[one]])[apart != 0] / apart[apart != 0]
    return kept(dip - float(np.median(rises)) * pip, LEAST_NOISE)


def _averaged(values: Floats, frames: int) -> Floats:
    """Moving average (N,), over fewer values at the ends."""
    box = np.ones(frames)
    mean: Floats = np.convolve(values, box, "same") / np.convolve(np.ones(len(values)), box, "same")
    return mean
