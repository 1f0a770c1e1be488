"""How far a last joint leads or lags its coupling: told by the markers before the end.

The end's place leaves a digit one freedom. Where both joints before it are seen they tell the last bend; where less is
seen it is the lead that brings the riders nearest, at a price.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import MANY, N, NumberFunctions, wrapped
from .planar_chain import Chain, ChainLengths, ChainMarker, MarkerHint, place
from .planar_reach import coupled, farthest

Floats = NDArray[np.float64]

TRIED: Floats = np.deg2rad(np.arange(-75.0, 76.0, 7.5))
"""(K,) rad from the coupling."""
LEAD_PRICE = 0.06
"""m of misplaced riders that one radian away from the coupling is worth. A finger can often reach its tip in two ways
that fit one inner marker alike: with a low price noise would choose between them, another in each frame."""


def heeded(
    m: NumberFunctions[N], chain: Chain, bones: ChainLengths, goal: tuple[N, N], hints: list[MarkerHint[N]]
) -> tuple[N, N, Any]:
    """rad, the last joint's lead and its bend, and where the bend is what counts.

    The lead is the one that brings the hints nearest, the chain's own where none was seen.
    """
    last, both = _told(m, chain, goal, hints)
    seen: Any = (sum(hint.weight for hint in hints) > 0) & (both == 0)
    lead = 0.0 * goal[0] + bones.lead

    def search(pick: Any) -> tuple[N]:
        picked = [MarkerHint(hint.rider, *map(pick, hint[1:])) for hint in hints]
        return (_nearest(chain, bones, (pick(goal[0]), pick(goal[1])), picked),)

    found: tuple[N] = m.mend(seen, (lead,), search)
    return found[0], last, both


def _told(m: NumberFunctions[N], chain: Chain, goal: tuple[N, N], hints: list[MarkerHint[N]]) -> tuple[N, Any]:
    """rad, the last joint's bend as the ends of the first two bones and the goal tell it, and where they do.

    It is the bend that is told, not the lead: where bones are not quite the performer's the middle joint makes up for
    it, and a last joint that followed it would go wrong by as much and more.
    """
    first, second = (_seen(chain, hints, bone) for bone in (0, 1))
    if first is None or second is None:
        return 0.0 * goal[0], 0.0 * goal[0] > 0
    two = m.atan2(second.v - first.v, second.u - first.u)
    three = m.atan2(goal[1] - second.v, goal[0] - second.u)
    return wrapped(three - two), (first.weight > 0) & (second.weight > 0)


def _seen(chain: Chain, hints: list[MarkerHint[N]], bone: int) -> MarkerHint[N] | None:
    end = ChainMarker(bone, float(chain.lengths[bone]))
    return next((hint for hint in hints if hint.rider == end), None)


def _nearest(chain: Chain, bones: ChainLengths, goal: tuple[Any, Any], hints: list[MarkerHint[Any]]) -> Any:
    """The lead that brings the riders nearest to where they were seen, at a price: of all TRIED at once."""

    def column(number: Any) -> Floats:
        return np.asarray(number, float)[..., None]

    u, v = column(goal[0]), column(goal[1])
    lead = bones.lead + TRIED
    first, middle, last, _ = coupled(MANY, bones, (u, v), lead, farthest(MANY, bones, lead))
    prices = (LEAD_PRICE * TRIED) ** 2 + 0.0 * u
    raised = (first + bones.shift[0], middle + bones.shift[1], last + bones.shift[2])
    for hint in hints:
        at_u, at_v = place(MANY, chain, hint.rider, raised)
        apart = (at_u - column(hint.u)) ** 2 + (at_v - column(hint.v)) ** 2
        prices = prices + np.where(column(hint.weight) > 0, apart, 0.0)
    best = bones.lead + _lowest(TRIED, prices)
    return best if np.ndim(goal[0]) else float(best)


def _lowest(xs: Floats, prices: Floats) -> Floats:
    """(...) where a parabola through the lowest of prices (..., K) and its neighbours is lowest; xs (K,) are even."""
    k = np.clip(prices.argmin(-1), 1, len(xs) - 2)[..., None]
    before, at, after = (np.take_along_axis(prices, k + step, -1)[..., 0] for step in (-1, 0, 1))
    curve = np.maximum(before - 2 * at + after, 1e-18)
    shift = np.clip((before - after) / (2 * curve), -1.0, 1.0)
    lowest: Floats = xs[k[..., 0]] + shift * (xs[1] - xs[0])
    return lowest
