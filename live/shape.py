"""The shape of a hand that a device has solved by itself, which it may show larger or smaller from frame to frame.

Leap's service begins with a guess of how large a hand is, and for a second lets it grow: all bones at once, by
hundredths. The performer's bones do not, and a finger of theirs that is nearly straight cannot reach a hundredth
farther, or must bend by 8 degrees to reach a hundredth less far.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..hand.joints import CHAIN_JOINTS, DIGITS
from ..hand.markersets import Spot, on_palm
from ..hand.proportions import Proportions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WHOLE = 8
"""Bones that must be told: of fewer, places that are measured one by one may be of one shape by chance."""
ALIKE = 0.005
"""How far each bone may be from its share. A solved hand's are within 0.00003, a camera's go 0.08 and more from it."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """How long bones are beside one another, and at size 1."""

    ends: Ints
    """(B, 2) the columns of positions where bones begin and end."""
    bones: Ints
    """(B,) which of the digits' bones they are, indices into Proportions.phalanges, flat."""
    palm: Ints
    """Columns of what is on the palm."""
    lengths: Floats
    """(B,) m."""

    def of(self, proportions: Proportions) -> "Shape":
        """The same shape, at size 1 as large as a performer's hand."""
        total = proportions.phalanges.ravel()[self.bones].sum()
        return replace(self, lengths=self.lengths * total / self.lengths.sum()) if len(self.bones) else self

    def at_one_size(self, positions: Floats) -> Floats:
        """Positions (F, T, 3) m, NaN where not seen, of size 1 about the middle of the palm.

        Frames that show no hand of this shape are left as they are.
        """
        lengths = _lengths(self.ends, positions)
        seen = np.isfinite(lengths)
        size = np.where(seen, lengths, 0.0).sum(axis=1) / np.maximum((seen * self.lengths).sum(axis=1), 1e-9)
        shown = size[:, None] * self.lengths
        alike = np.all(~seen | (np.abs(lengths - shown) < ALIKE * shown), axis=1) & (seen.sum(axis=1) >= WHOLE)
        middle = _middle(positions[:, self.palm])
        told = alike & np.isfinite(middle).all(axis=1)
        resized = positions.copy()
        resized[told] += (positions[told] - middle[told, None]) * (1.0 / size[told] - 1.0)[:, None, None]
        return resized


def shape_of(spots: Iterable[Spot], positions: Floats) -> Shape:
    """The shape that positions (F, T, 3) m of what is at spots (T,) show, of the size of the newest whole hand."""
    spots = tuple(spots)
    column = {spot.joint: i for i, spot in enumerate(spots) if not any(spot.offset)}
    pairs = [pair for digit in DIGITS for pair in pairwise(CHAIN_JOINTS[digit])]
    bones = np.array([bone for bone, pair in enumerate(pairs) if column.keys() >= {*pair}], int)
    ends = np.array([[column[joint] for joint in pairs[bone]] for bone in bones], int).reshape(-1, 2)
    palm = np.array([i for i, spot in enumerate(spots) if on_palm(spot)], int)
    lengths = _lengths(ends, positions)
    # Not above zero where an end is not seen either.
    sizes: Floats = lengths.sum(axis=1)
    whole, sizes = lengths[sizes > 0], sizes[sizes > 0]
    if not len(whole):
        return Shape(ends[:0], bones[:0], palm, np.zeros(0))
    return Shape(ends, bones, palm, np.median(whole / sizes[:, None], axis=0) * sizes[-1])


def _lengths(ends: Ints, positions: Floats) -> Floats:
    """(F, B) m, NaN where an end is not seen."""
    lengths: Floats = np.linalg.norm(positions[:, ends[:, 1]] - positions[:, ends[:, 0]], axis=-1)
    return lengths


def _middle(points: Floats) -> Floats:
    """(F, 3) of those that are seen of points (F, P, 3); NaN where none is."""
    seen = np.isfinite(points).all(axis=-1, keepdims=True)
    counted = seen.sum(axis=1)
    total = np.where(seen, points, 0.0).sum(axis=1)
    middle: Floats = np.where(counted > 0, total / np.maximum(counted, 1), np.nan)
    return middle
