"""A table of the middle joint's bend with uniform spacing, as the thesis proposes (Table 4.5, 6.2).

With the last joint coupled to the middle one, the distance r of the tip from the knuckle has one maximum R over the
middle joint's bend. On each side of it, a branch, the bend is a function of the distance. Near R the distance changes
only with the square of the bend, so the table's index is

    s = sqrt(R² - r²)

in which the bend is smooth and almost linear. Rows are evenly spaced in s; the bend is interpolated between them.
"""

from dataclasses import dataclass, replace

import numpy as np

from .linkage import Floats, Linkage, straight_tip
from .nearest_bend import limit_faces, nearest

ROWS = 1024
"""Number of rows of a branch, about 0.1 mm of s apart for a finger. Interpolated bends are accurate to some 1e-6
rad."""
SEARCH_SAMPLES = 257
"""Samples in each round of the search for the farthest reach."""
MIN_WIDTH = 1e-6
"""rad, minimum width of a branch; a narrower one is empty."""


@dataclass(frozen=True, slots=True, eq=False)
class TableBranch:
    """The bends from the farthest reach to one end of the middle joint's limits."""

    bends: Floats
    """(ROWS + 2,) rad, evenly spaced in s from 0; the last one twice, so that every row has a next one."""
    step: float
    """m, the spacing of the rows in s."""

    @property
    def empty(self) -> bool:
        """Whether the farthest reach is at this end of the limits."""
        return abs(float(self.bends[-1] - self.bends[0])) < MIN_WIDTH


@dataclass(frozen=True, slots=True, eq=False)
class UniformTable:
    """The middle joint's bend by the tip's distance."""

    linkage: Linkage
    farthest: float
    """m, R."""
    straightest: bool
    """Whether no other pose within limits reaches farther, coupled or not."""
    forwards: TableBranch
    backwards: TableBranch
    """The less bent side of the farthest reach: empty where the middle joint does not bend backwards."""


def build(linkage: Linkage) -> UniformTable:
    """Build the table of a linkage with three links."""
    low, high = (float(end) for end in linkage.limits[1])
    peak = _farthest_bend(linkage, low, high)
    farthest = float(reach(linkage, np.array([peak]))[0])
    branches = (_branch(linkage, farthest, peak, end) for end in (high, low))
    return UniformTable(linkage, farthest, farthest >= _full_reach(linkage) - 1e-7, *branches)


def reach(linkage: Linkage, bend: Floats) -> Floats:
    """Return (N,) m from the knuckle to the tip at bends (N,) rad of the middle joint, with the last joint coupled."""
    distances: Floats = np.abs(straight_tip(linkage.links, bend, linkage.coupled_flexion(bend)))
    return distances


def _farthest_bend(linkage: Linkage, low: float, high: float) -> float:
    """Return the bend of the farthest reach, by a narrowing grid search; of equally far bends, the straightest."""
    for _ in range(4):
        bends = np.linspace(low, high, SEARCH_SAMPLES)
        distances = reach(linkage, bends)
        farthest = np.flatnonzero(distances >= distances.max() - 1e-17)
        k = farthest[np.abs(bends[farthest]).argmin()]
        peak, low, high = float(bends[k]), float(bends[max(k - 1, 0)]), float(bends[min(k + 1, SEARCH_SAMPLES - 1)])
    return peak


def _branch(linkage: Linkage, farthest: float, peak: float, end: float) -> TableBranch:
    """Sample the branch with eight bends for each row and interpolate."""
    bends = np.linspace(peak, end, 8 * ROWS + 1)
    # If unusual limits make the distance rise again, the first bend with that distance is used.
    nearest_yet = np.minimum.accumulate(reach(linkage, bends))
    index = np.sqrt(np.maximum((farthest - nearest_yet) * (farthest + nearest_yet), 0.0))
    step = max(float(index[-1]), 1e-9) / ROWS
    return TableBranch(np.interp(step * np.arange(ROWS + 2), index, bends), step)


def _full_reach(linkage: Linkage) -> float:
    """Return the farthest reach of the tip in m over all bends of the outer two joints."""
    free = replace(linkage, limits=np.concatenate([[[-np.pi, np.pi]], linkage.limits[1:]]))
    bound = np.array([10 * sum(abs(link) for link in linkage.links) + 1.0 + 0j])
    flexions = nearest(limit_faces(free), bound)[0]
    return float(np.abs(straight_tip(linkage.links, flexions[1:2], flexions[2:]))[0])
