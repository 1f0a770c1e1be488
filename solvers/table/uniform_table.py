"""A table of the middle joint's bend, even in the tip's distance: what the thesis wishes for (Table 4.5, 6.2).

With the last joint tied to the middle one, the distance r of the tip from the knuckle rises from the finger bent
backwards to a farthest reach R, and falls from there as it bends forwards: two branches, of which each has one bend to
a distance. Near R a bend of θ away costs only about θ² of distance, so the table's index is

    s = sqrt(R² - r²)

in which the bend is smooth and almost straight. Rows are even in s; what lies between them is interpolated.
"""

from dataclasses import dataclass, replace

import numpy as np

from .linkage import Floats, Linkage, straight_tip
from .nearest_bend import faces, nearest

ROWS = 1024
"""Rows of a branch, a tenth of a millimetre of s apart on a hand; between them a bend is right to some 1e-6 rad."""
SEARCHED = 257
"""Bends tried when the farthest reach is looked for."""
WIDTH = 1e-6
"""rad: a branch of less is none."""


@dataclass(frozen=True, slots=True, eq=False)
class TableBranch:
    """The bends from the farthest reach to one end of the middle joint's limits."""

    bends: Floats
    """(ROWS + 2,) rad, at even steps of s from 0; the last one twice, so that every row has a next one."""
    step: float
    """m of s from row to row."""

    @property
    def empty(self) -> bool:
        """Whether the farthest reach is at this end of the limits."""
        return abs(float(self.bends[-1] - self.bends[0])) < WIDTH


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """How far the middle joint bends for the tip to be at a distance."""

    linkage: Linkage
    farthest: float
    """m, R."""
    straightest: bool
    """Whether no other bends within the limits reach farther, coupled or not."""
    forwards: TableBranch
    backwards: TableBranch
    """The less bent side of the farthest reach: empty where the middle joint does not bend backwards."""


def build(linkage: Linkage) -> Table:
    """The table of three links."""
    low, high = (float(end) for end in linkage.limits[1])
    peak = _peak(linkage, low, high)
    farthest = float(reach(linkage, np.array([peak]))[0])
    branches = (_branch(linkage, farthest, peak, end) for end in (high, low))
    return Table(linkage, farthest, farthest >= _stretched(linkage) - 1e-7, *branches)


def reach(linkage: Linkage, bend: Floats) -> Floats:
    """(N,) m from the knuckle to the tip when the middle joint is bent so and the last one follows."""
    far: Floats = np.abs(straight_tip(linkage.links, bend, linkage.last(bend)))
    return far


def _peak(linkage: Linkage, low: float, high: float) -> float:
    """The bend of the farthest reach, by a search that narrows in; of several that are as far, one near straight."""
    for _ in range(4):
        bends = np.linspace(low, high, SEARCHED)
        far = reach(linkage, bends)
        best = np.flatnonzero(far >= far.max() - 1e-17)
        k = best[np.abs(bends[best]).argmin()]
        peak, low, high = float(bends[k]), float(bends[max(k - 1, 0)]), float(bends[min(k + 1, SEARCHED - 1)])
    return peak


def _branch(linkage: Linkage, farthest: float, peak: float, end: float) -> TableBranch:
    """Read off bends that lie eight to a row."""
    bends = np.linspace(peak, end, 8 * ROWS + 1)
    # A branch that turns back on itself, as odd limits may make it, is entered where it first is as near.
    nearest_yet = np.minimum.accumulate(reach(linkage, bends))
    index = np.sqrt(np.maximum((farthest - nearest_yet) * (farthest + nearest_yet), 0.0))
    step = max(float(index[-1]), 1e-9) / ROWS
    return TableBranch(np.interp(step * np.arange(ROWS + 2), index, bends), step)


def _stretched(linkage: Linkage) -> float:
    """m, the farthest that the tip comes by any bends of the outer two joints."""
    free = replace(linkage, limits=np.concatenate([[[-np.pi, np.pi]], linkage.limits[1:]]))
    far = np.array([10 * sum(abs(link) for link in linkage.links) + 1.0 + 0j])
    flexions = nearest(faces(free), far)[0]
    return float(np.abs(straight_tip(linkage.links, flexions[1:2], flexions[2:]))[0])
