"""What was measured of a hand, how, and how sure it is: kept with the performer, for people who must judge it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Kind = Literal["bone", "palm", "rho", "radius", "marker"]
FAR = 3.0
"""Spreads from the middle at which a frame is left out: of normal noise, 1 frame in 370."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure: where nothing was measured there is no value, and `how` says why."""

    kind: Kind
    of: str
    """The joint at which a bone begins, that stands in the palm or that has a radius; for rho, the digit; for a
    marker, its label."""
    how: str
    """In words."""
    value: float | None = None
    """mm; for rho, a number without unit. Of a joint of the palm, from the wrist; of a marker, from its joint."""
    spread: float | None = None
    """In the unit of the value, one standard deviation: of a length, from frame to frame; of a rho or a radius, of the
    value itself, as parts of the clip tell it; of what was fitted to free motion, as the fit's curvature has it."""
    residual: float | None = None
    """How far off the frames are from what the measure says, root mean square: degrees for rho, mm for a radius or a
    marker."""
    frames: int = 0
    """Frames that were used."""


def told(value: float, measure: Measure | None, digits: int) -> str:
    """'45.8 ± 0.2': a value with its spread, where that is known."""
    if measure is None or measure.spread is None:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ± {measure.spread:.{digits}f}"


def kept(values: Floats, least: float = 0.0) -> Bools:
    """(N,) the values (N,) that are known and not far from their median, in spreads as the median deviation tells it.

    `least`: the spread below which noise is taken to be no less.
    """
    known = np.isfinite(values)
    if not known.any():
        return known
    away = np.abs(values - np.median(values[known]))
    # 1.4826: a normal distribution's standard deviation against its median deviation.
    result: Bools = known & (away <= FAR * max(1.4826 * float(np.median(away[known])), least, 1e-12))
    return result


def mean_and_spread(values: Floats) -> tuple[float, float | None, int]:
    """Mean and standard deviation of the values (N,) that are kept, and how many these are.

    The mean is NaN where none is known, the deviation None where there are not two.
    """
    good = values[kept(values)]
    if not len(good):
        return float("nan"), None, 0
    return float(good.mean()), float(good.std(ddof=1)) if len(good) > 1 else None, len(good)


def jackknife(parts: Floats) -> Floats:
    """(...) the standard deviation of an estimate; parts (B, ...) are the estimates without one of a clip's B parts.

    Frames that follow each other are alike, so whole parts are left out and not frames (Kunsch 1989).
    """
    count = len(parts)
    spread: Floats = np.sqrt((count - 1) / count * ((parts - parts.mean(0)) ** 2).sum(0))
    return spread
