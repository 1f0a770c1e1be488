"""Closed-form bend of a digit by its coupling and its inner markers, see planar_plan.PlanarBend."""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY, SCALAR, N, NumberFunctions, Pick
from .dip_offset import bend_from_markers, likely_coupling_offset
from .planar_chain import BendResult, Chain, ChainLengths, ChainMarker, MarkerHint, bones_to_marker
from .planar_reach import FarthestReach, bend_coupled, exact_farthest_reach, farthest_reach

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CoupledBend:
    """Bends a digit to bring one marker to its goal. A joint at a limit is not compensated by other joints."""

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
        return self.of_digit(self.improve(m, self.bones, (u, v), self.closed_form(m, (u, v), hints)))

    def closed_form(self, m: NumberFunctions[N], goal: tuple[N, N], hints: list[MarkerHint[N]]) -> BendResult[N]:
        """Bend by the coupling and the inner markers alone: the flexions of `bones`."""
        if hints and self.bones.count == 3:
            return self._bend_with_hints(m, goal, hints)
        return bend_coupled(m, self.bones, goal, cast(Any, self.bones.coupling_offset), cast(Any, self.far))

    def of_digit(self, bent: BendResult[N]) -> BendResult[N]:
        """Convert a bend of `bones` to flexions of the digit."""
        shift = self.bones.shift
        return bent[0] + shift[0], bent[1] + shift[1], bent[2] + shift[2], bent[3]

    def _bend_with_hints(self, m: NumberFunctions[N], goal: tuple[N, N], hints: list[MarkerHint[N]]) -> BendResult[N]:
        """Bend with inner markers: two determine the last joint's bend, and fewer its coupling offset."""
        last, determined = bend_from_markers(m, self.chain, goal, hints)

        def with_measured_bend(pick: Pick) -> BendResult[N]:
            free, measured = replace(self.bones, ratio=0.0), pick(last)
            return bend_coupled(m, free, pick(goal), measured, farthest_reach(m, free, measured))

        def with_likely_offset(pick: Pick) -> BendResult[N]:
            row_goal = pick(goal)
            coupling_offset = likely_coupling_offset(
                m, self.chain, self.bones, row_goal, [pick(hint) for hint in hints]
            )
            has_default_offset, adjusted = (
                coupling_offset == self.bones.coupling_offset,
                farthest_reach(m, self.bones, coupling_offset),
            )
            far = (
                m.where(has_default_offset, default, row_reach)
                for default, row_reach in zip(self.far, adjusted, strict=True)
            )
            return bend_coupled(m, self.bones, row_goal, coupling_offset, FarthestReach(*far))

        result: BendResult[N] = m.compute_either(determined, with_measured_bend, with_likely_offset)
        return result

    def improve(
        self, _m: NumberFunctions[N], _bones: ChainLengths, _goal: tuple[N, N], bent: BendResult[N]
    ) -> BendResult[N]:
        """Improve bends whose limits keep the end from its goal. Subclasses may override it; here it does nothing."""
        return bent


def coupled_bend(chain: Chain, end: ChainMarker) -> CoupledBend:
    """Prepare the bend of a chain to the marker that is its end: a planar_plan.BendFactory."""
    bones = bones_to_marker(chain, end)
    return CoupledBend(chain, bones, exact_farthest_reach(bones))
