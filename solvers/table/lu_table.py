"""Lu's table as in the thesis: joint angles indexed by the distance from knuckle to tip (chapter 4, appendix C).

Distances are binned by p mm and angles sampled every p degrees, p being the precision. Several angles share a bin; of
these, the ones nearest to the frame before are taken. Where the thesis is ambiguous or misprinted:
- (C.1) stops at φ4 and (C.2) omits the hidden links: both use the whole chain of (4.8) here, see linkage.py.
- α is positive towards the palm, as θ1 is: (4.10) has it positive out of the back, which contradicts θ1 = α - β.
- If no entry has β <= α up to the end of the table, the straightest entry of the farthest distance is taken.
- The result is kept within the knuckle's limits, too: α - β may be beyond them.
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
    """Sampled bends of the outer joints, binned by the tip's distance."""

    step: float
    """m, the width of a bin: p mm."""
    bin_starts: Ints
    """(K + 1,) index of the first entry of each bin."""
    middle: Floats
    last: Floats
    """(M,) rad, θ2 and θ3 (the thumb's θ4 and 0), ordered by distance, within a bin as they were sampled."""
    beta: Floats
    """(M,) rad, β of (4.10): between the first bone and the line to the tip."""

    @property
    def filled(self) -> int:
        """Number of bins with an entry."""
        return int(np.count_nonzero(np.diff(self.bin_starts)))


def build_index_table(linkage: Linkage, precision: float, coupled: bool) -> LuTable:
    """BuildIndexTable (C.1). If `coupled`, only the middle joint is sampled, and ρ gives the last joint's angle."""
    middle = _sampled_angles(linkage.limits[1], precision)
    if coupled:
        return _bin_samples(linkage, middle, linkage.coupled_flexion(middle), precision)
    last = _sampled_angles(linkage.limits[2], precision)
    return _bin_samples(linkage, np.repeat(middle, len(last)), np.tile(last, len(middle)), precision)


def build_thumb_table(linkage: Linkage, precision: float) -> LuTable:
    """BuildThumbTable: the table of the last two bones, used where the end of the first bone is seen."""
    outer = _sampled_angles(linkage.limits[2], precision)
    beyond = Linkage(linkage.links[1:], linkage.limits[1:], 0.0, 0.0)
    return _bin_samples(beyond, outer, np.zeros_like(outer), precision)


def joint_angles(table: LuTable, distance: float, alpha: float, previous: Angles) -> Angles:
    """GetIndexJointAngles (C.2): θ1, θ2 and θ3 in rad, of the matching entries those nearest to the frame `previous`.

    distance: m from knuckle to tip; alpha: rad, α, the direction to the tip, 0 for the straight finger.
    """
    row = nearest_filled_bin(table, int(distance / table.step))
    for distance_bin in range(row, len(table.bin_starts) - 1):
        entries = slice(table.bin_starts[distance_bin], table.bin_starts[distance_bin + 1])
        beta = table.beta[entries]
        matching = np.flatnonzero(beta <= alpha)
        if len(matching):
            changes = np.stack([alpha - beta, table.middle[entries], table.last[entries]]) - np.array(previous)[:, None]
            error = np.sqrt((changes[:, matching] ** 2).sum(0))
            return _entry(table, entries.start + matching[error.argmin()], alpha)
    farthest = slice(table.bin_starts[nearest_filled_bin(table, len(table.bin_starts))], None)
    return _entry(table, farthest.start + table.beta[farthest].argmin(), alpha)


def nearest_filled_bin(table: LuTable, row: int) -> int:
    """Return the nearest bin with an entry, the farther distance if two are equally near (C.2)."""
    filled = np.flatnonzero(np.diff(table.bin_starts))
    steps = np.abs(filled - row)
    return int(filled[::-1][steps[::-1].argmin()])


def _entry(table: LuTable, entry: int, alpha: float) -> Angles:
    return alpha - float(table.beta[entry]), float(table.middle[entry]), float(table.last[entry])


def _sampled_angles(limits: Floats, precision: float) -> Floats:
    """Return (K,) rad, all multiples of `precision` degrees within limits; the middle of the limits if there are
    none."""
    low, high = np.rad2deg(limits) / precision
    multiples = np.arange(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    angles: Floats = np.deg2rad(multiples * precision) if len(multiples) else limits.mean(keepdims=True)
    clamped: Floats = np.minimum(np.maximum(angles, limits[0]), limits[1])
    return clamped


def _bin_samples(linkage: Linkage, middle: Floats, last: Floats, precision: float) -> LuTable:
    tip = straight_tip(linkage.links, middle, last)
    step = precision / 1000
    rows = (np.abs(tip) / step).astype(np.intp)
    order = rows.argsort(kind="stable")
    bin_starts = np.searchsorted(rows[order], np.arange(rows.max() + 2))
    return LuTable(step, bin_starts, middle[order], last[order], np.angle(tip)[order])
