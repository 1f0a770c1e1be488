"""A digit bent as its coupling and its inner markers say: the planar step in closed form, see plan.PlanarBend."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.numbers import MANY, ONE, N, Numbers
from .chain import Bent, Bones, Chain, Hint, Rider, bones_to
from .leads import lead_of
from .reach import Far, coupled, farthest, one_farthest

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Coupled:
    """How one digit brings one of its riders to its goal, but for what its limits keep it from."""

    chain: Chain
    bones: Bones
    far: Far[float]

    def one(self, u: float, v: float, hints: list[Hint[float]]) -> Bent[float]:
        """See PlanarBend."""
        return self._bend(ONE, u, v, hints)

    def many(self, u: Floats, v: Floats, hints: list[Hint[Floats]]) -> Bent[Floats]:
        """See PlanarBend."""
        return self._bend(MANY, u, v, hints)

    def _bend(self, m: Numbers[N], u: N, v: N, hints: list[Hint[N]]) -> Bent[N]:
        bones = self.bones
        lead: Any = bones.lead
        far: Any = self.far
        if hints and bones.count == 3:
            lead = lead_of(m, self.chain, bones, (u, v), hints)
            own = lead == bones.lead
            far = Far(*(m.where(own, mine, its) for mine, its in zip(self.far, farthest(m, bones, lead), strict=True)))
        bent = self._mended(m, (u, v), coupled(m, bones, (u, v), lead, far))
        first, middle, last, missed = bent
        return first + bones.shift[0], middle + bones.shift[1], last + bones.shift[2], missed

    def _mended(self, _m: Numbers[N], _goal: tuple[N, N], bent: Bent[N]) -> Bent[N]:
        """What is done where limits leave the end off its goal: here nothing."""
        return bent


def coupled_bend(chain: Chain, end: Rider) -> Coupled:
    """Prepared for a chain and the rider that is its end: a plan.Bend."""
    bones = bones_to(chain, end)
    return Coupled(chain, bones, one_farthest(bones))
