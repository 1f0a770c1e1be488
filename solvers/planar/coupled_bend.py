"""Closed-form bend of a digit by its coupling and its inner markers, see planar_plan.PlanarBend."""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY, SCALAR, N, NumberFunctions, Pick
from .dip_offset import heeded
from .planar_chain import Bent, Chain, ChainLengths, ChainMarker, MarkerHint, bones_to
from .planar_reach import FarthestReach, coupled, farthest, one_farthest

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CoupledBend:
    """Brings one marker of a digit to its goal, as far as the limits allow without moving the other joints."""

    chain: Chain
    bones: ChainLengths
    far: FarthestReach[float]

    def one(self, u: float, v: float, hints: list[MarkerHint[float]]) -> Bent[float]:
        """See PlanarBend."""
        return self._bend(SCALAR, u, v, hints)

    def many(self, u: Floats, v: Floats, hints: list[MarkerHint[Floats]]) -> Bent[Floats]:
        """See PlanarBend."""
        return self._bend(ARRAY, u, v, hints)

    def _bend(self, m: NumberFunctions[N], u: N, v: N, hints: list[MarkerHint[N]]) -> Bent[N]:
        bones, lead, far = self.bones, cast(Any, self.bones.lead), cast(Any, self.far)
        hinted = hints and bones.count == 3
        bent = self._hinted(m, (u, v), hints) if hinted else coupled(m, bones, (u, v), lead, far)
        first, middle, last, missed = self._mended(m, (u, v), bent)
        return first + bones.shift[0], middle + bones.shift[1], last + bones.shift[2], missed

    def _hinted(self, m: NumberFunctions[N], goal: tuple[N, N], hints: list[MarkerHint[N]]) -> Bent[N]:
        """Bend with inner markers: they determine the last joint's bend, or its lead if fewer than two are seen."""
        bones = self.bones
        lead, last, both = heeded(m, self.chain, bones, goal, hints)
        own = lead == bones.lead
        far = FarthestReach(
            *(m.where(own, mine, its) for mine, its in zip(self.far, farthest(m, bones, lead), strict=True))
        )
        free = replace(bones, ratio=0.0)

        def as_told(pick: Pick) -> Bent[N]:
            return coupled(m, free, (pick(goal[0]), pick(goal[1])), pick(last), farthest(m, free, pick(last)))

        found: Bent[N] = m.recompute_where(both, coupled(m, bones, goal, lead, far), as_told)
        return found

    def _mended(self, _m: NumberFunctions[N], _goal: tuple[N, N], bent: Bent[N]) -> Bent[N]:
        """Improve a bend whose end the limits keep off its goal; here it stays as it is."""
        return bent


def coupled_bend(chain: Chain, end: ChainMarker) -> CoupledBend:
    """Prepare the bend of a chain to the marker that is its end: a planar_plan.Bend."""
    bones = bones_to(chain, end)
    return CoupledBend(chain, bones, one_farthest(bones))
