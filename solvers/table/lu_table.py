"""Lu's table as the thesis has it: joint angles filed under the distance from knuckle to tip (chapter 4, appendix C).

Distances are filed by whole steps of p mm and angles tried by steps of p degrees, p being the precision. Several
angles share a step, and of these the ones that are nearest to the frame before are taken. Where the thesis leaves a
thing open or is misprinted, this is what is done:
- (C.1) stops at φ4 and (C.2) leaves the hidden links out: both use the whole chain of (4.8), see linkage.py.
- α is counted towards the palm, as θ1 is: (4.10) counts it out of the back, against the sense of θ1 = α - β.
- The search for an entry with β <= α ends with the table: then the straightest entry of the farthest distance is taken.
- The knuckle's own limits are kept: α - β is not let beyond them.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .linkage import Floats, Linkage, straight_tip

Ints = NDArray[np.intp]
Angles = tuple[float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class LuTable:
    """Which bends put the tip at a distance, in steps."""

    step: float
    """m, p mm."""
    begins: Ints
    """(K + 1,) where the entries of each distance begin."""
    middle: Floats
    last: Floats
    """(M,) rad, θ2 and θ3 (the thumb's θ4 and 0), by distance and within one in the order in which they were tried."""
    beta: Floats
    """(M,) rad, between the first bone and the way to the tip, β of (4.10)."""

    @property
    def filled(self) -> int:
        """How many distances have an entry."""
        return int(np.count_nonzero(np.diff(self.begins)))


def build_index_table(linkage: Linkage, precision: float, coupled: bool) -> LuTable:
    """BuildIndexTable (C.1); with ρ if `coupled`: then only the middle joint is tried, and the last one follows it."""
    middle = _tried(linkage.limits[1], precision)
    if coupled:
        return _filed(linkage, middle, linkage.last(middle), precision)
    last = _tried(linkage.limits[2], precision)
    return _filed(linkage, np.repeat(middle, len(last)), np.tile(last, len(middle)), precision)


def build_thumb_table(linkage: Linkage, precision: float) -> LuTable:
    """BuildThumbTable: where the first bone's end is seen, its last two bones alone are tried."""
    outer = _tried(linkage.limits[2], precision)
    beyond = Linkage(linkage.links[1:], linkage.limits[1:], 0.0, 0.0)
    return _filed(beyond, outer, np.zeros_like(outer), precision)


def joint_angles(table: LuTable, distance: float, alpha: float, before: Angles) -> Angles:
    """GetIndexJointAngles (C.2): θ1, θ2 and θ3 for a tip `distance` m away, α = `alpha` rad palmwards of the straight
    finger; of the entries of that distance those with the least change from the frame before."""
    row = nearest_filled(table, int(distance / table.step))
    for further in range(row, len(table.begins) - 1):
        entries = slice(table.begins[further], table.begins[further + 1])
        beta = table.beta[entries]
        fits = np.flatnonzero(beta <= alpha)
        if len(fits):
            changes = np.stack([alpha - beta, table.middle[entries], table.last[entries]]) - np.array(before)[:, None]
            error = np.sqrt((changes[:, fits] ** 2).sum(0))
            return _entry(table, entries.start + fits[error.argmin()], alpha)
    farthest = slice(table.begins[nearest_filled(table, len(table.begins))], None)
    return _entry(table, farthest.start + table.beta[farthest].argmin(), alpha)


def nearest_filled(table: LuTable, row: int) -> int:
    """The nearest distance with an entry, forwards where there is one on both sides as near (C.2)."""
    filled = np.flatnonzero(np.diff(table.begins))
    apart = np.abs(filled - row)
    return int(filled[::-1][apart[::-1].argmin()])


def _entry(table: LuTable, entry: int, alpha: float) -> Angles:
    return alpha - float(table.beta[entry]), float(table.middle[entry]), float(table.last[entry])


def _tried(limits: Floats, precision: float) -> Floats:
    """(K,) rad, all multiples of `precision` degrees within limits; the middle of limits that have none."""
    low, high = np.rad2deg(limits) / precision
    tried = np.arange(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    angles: Floats = np.deg2rad(tried * precision) if len(tried) else limits.mean(keepdims=True)
    held: Floats = np.minimum(np.maximum(angles, limits[0]), limits[1])
    return held


def _filed(linkage: Linkage, middle: Floats, last: Floats, precision: float) -> LuTable:
    tip = straight_tip(linkage.links, middle, last)
    step = precision / 1000
    rows = (np.abs(tip) / step).astype(np.intp)
    order = rows.argsort(kind="stable")
    begins = np.searchsorted(rows[order], np.arange(rows.max() + 2))
    return LuTable(step, begins, middle[order], last[order], np.angle(tip)[order])
