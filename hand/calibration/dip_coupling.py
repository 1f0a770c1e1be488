"""ρ, how much a finger's last joint bends with its middle one: the slope of DIP on PIP (thesis 4.3)."""

import numpy as np
from numpy.typing import NDArray

from ..measurements import Measure, jackknife, kept

Floats = NDArray[np.float64]

LEAST_FRAMES = 30
LEAST_RANGE = np.deg2rad(20)
"""rad through which a PIP must bend: less is lost among noise and skin."""
LEAST_NOISE = np.deg2rad(1)
"""rad off the line that no measurement can tell from it."""
MOST_SPREAD = 0.1
"""Of a ρ, beyond which it says less than the usual 2/3 does."""
LEAST_TOGETHER = 0.5
"""Correlation of the two joints below which the one does not follow the other."""
RANGE = (0.1, 1.5)
"""Beyond these no finger's joints follow each other."""
PARTS = 10
"""Parts of a clip, each left out once to see how much ρ depends on it."""
SMOOTHED = 5
"""Frames over which angles are averaged before (4.3): noise in the PIP makes the slope too small, and averaging both
angles alike does not change how the one follows the other."""
LINE_POINTS = 200
"""Frames that the first line is laid through: every pair of them is looked at."""


def slope(pip: Floats, dip: Floats) -> float:
    """ρ of angles (N,) and (N,): the least-squares line's slope in the PIP-DIP plane.

    Thesis (4.3). (4.2) is printed the wrong way round: what follows it has θ_dip = ρ θ_pip.
    """
    n = len(pip)
    return float(
        (n * (pip * dip).sum() - pip.sum() * dip.sum()) / (n * (pip**2).sum() - pip.sum() ** 2)  # Thesis (4.3)
    )


def rho(digit: str, pip: Floats, dip: Floats, smoothed: int = SMOOTHED) -> Measure:
    """ρ of a digit from its angles (F,) rad over a clip of free motion, NaN where not seen; without value if unknown.

    Frames far off the line are left out, and each is averaged with so many around it, before (4.3).
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
    """(N,) the frames that are not far off the line on which most of them lie.

    The line is Theil's, the median slope between any two points, which up to 29 wild ones in a hundred do not bend.
    """
    some = np.unique(np.linspace(0, len(pip) - 1, LINE_POINTS).astype(int))
    one, other = np.triu_indices(len(some), 1)
    apart = pip[some[other]] - pip[some[one]]
    rises = (dip[some[other]] - dip[some[one]])[apart != 0] / apart[apart != 0]
    return kept(dip - float(np.median(rises)) * pip, LEAST_NOISE)


def _averaged(values: Floats, frames: int) -> Floats:
    """(N,) each of the values with those around it, fewer at the ends."""
    box = np.ones(frames)
    mean: Floats = np.convolve(values, box, "same") / np.convolve(np.ones(len(values)), box, "same")
    return mean
