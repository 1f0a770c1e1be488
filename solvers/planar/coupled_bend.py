"""Closed-form bend of a digit by its coupling and its inner markers, see planar_plan.PlanarBend."""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY, SCALAR, N, NumberFunctions, Pick
from .dip_offset import dip_lead
from .planar_chain import BendResult, Chain, ChainLengths, ChainMarker, MarkerHint, bones_to_marker
from .planar_reach import FarthestReach, bend_coupled, exact_farthest_reach, farthest_reach

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CoupledBend:
    """Brings one marker of a digit to its goal, as far as the limits allow without moving the other joints."""

    chain: Chain
    bones: ChainLengths
    far: FarthestReach[float]

    def bend_frame(self, u: float, v: float, hints: list[MarkerHint[float]]) -> BendResult[float]:
        """See PlanarBend."""
        return self._bend(SCALAR, u, v, hints)

    def bend_frames(self, u: Floats, v: Floats, hints: list[MarkerHint[Floats]]) -> BendResult[Floats]:
        """See PlanarBend."""
        return self._bend(ARRAY, u, v, hints)

    def _bend(self, m: NumberFunctions[N], u: N, v: N, hints: list[MarkerHint[N]]) -> BendResult[N]:
        bones, lead, far = self.bones, cast(Any, self.bones.lead), cast(Any, self.far)
        hinted = hints and bones.count == 3
        result = self._bend_with_hints(m, (u, v), hints) if hinted else bend_coupled(m, bones, (u, v), lead, far)
        first, middle, last, error = self._improve(m, (u, v), result)
        return first + bones.shift[0], middle + bones.shift[1], last + bones.shift[2], error

    def _bend_with_hints(self, m: NumberFunctions[N], goal: tuple[N, N], hints: list[MarkerHint[N]]) -> BendResult[N]:
        """Bend with inner markers: they determine the last joint's bend, or its lead if fewer than two are seen."""
        bones = self.bones
        lead, last, determined = dip_lead(m, self.chain, bones, goal, hints)
        has_default_lead = lead == bones.lead
        far = FarthestReach(
            *(
                m.where(has_default_lead, default, adjusted)
                for default, adjusted in zip(self.far, farthest_reach(m, bones, lead), strict=True)
            )
        )
        free = replace(bones, ratio=0.0)

        def with_measured_bend(pick: Pick) -> BendResult[N]:
            return bend_coupled(
                m, free, (pick(goal[0]), pick(goal[1])), pick(last), farthest_reach(m, free, pick(last))
            )

        result: BendResult[N] = m.recompute_where(
            determined, bend_coupled(m, bones, goal, lead, far), with_measured_bend
        )
        return result

    def _improve(self, _m: NumberFunctions[N], _goal: tuple[N, N], result: BendResult[N]) -> BendResult[N]:
        """Improve a bend whose end the limits keep off its goal; here it stays as it is."""
        return result


def coupled_bend(chain: Chain, end: ChainMarker) -> CoupledBend:
    """Prepare the bend of a chain to the marker that is its end: a planar_plan.BendFactory."""
    bones = bones_to_marker(chain, end)
    return CoupledBend(chain, bones, exact_farthest_reach(bones))
