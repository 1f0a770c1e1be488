"""The last joint's offset from its coupling, or its bend, estimated from the inner markers.

The end's position leaves a digit one degree of freedom. If markers at both joints before the end are seen, they
determine the last bend. Otherwise the offset is the one that brings the inner markers nearest, with a penalty.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY, N, NumberFunctions, Pick, wrap_angle
from .planar_chain import Chain, ChainLengths, ChainMarker, MarkerHint, marker_position
from .planar_reach import bend_coupled, farthest_reach

Floats = NDArray[np.float64]

SAMPLED_OFFSETS: Floats = np.deg2rad(np.arange(-75.0, 76.0, 7.5))
"""(K,) rad, sampled coupling offsets, relative to the chain's own offset."""
OFFSET_PENALTY_M = 0.06
"""m, the marker error that an offset of one radian costs. A fingertip can often be reached by two poses that fit
an inner marker equally well: with a low penalty noise would choose between them, differently in each frame."""


def estimated_coupling_offset(
    m: NumberFunctions[N], chain: Chain, bones: ChainLengths, goal: tuple[N, N], hints: list[MarkerHint[N]]
) -> tuple[N, N, Any]:
    """Return the last joint's coupling offset and bend, rad, and whether to use the bend instead of the offset.

    The offset brings the markers nearest to the hints; without hints it is the chain's own.
    """
    last, determined = bend_from_markers(m, chain, goal, hints)
    return likely_coupling_offset(m, chain, bones, goal, hints, where=determined == 0), last, determined


def likely_coupling_offset(
    m: NumberFunctions[N],
    chain: Chain,
    bones: ChainLengths,
    goal: tuple[N, N],
    hints: list[MarkerHint[N]],
    *,
    where: Any = True,
) -> N:
    """Return the coupling_offset, rad, that brings the markers nearest to the hints; without hints the chain's own.

    where: frames to search; the chain's own offset is returned in all others.
    """
    searched: Any = (sum(hint.weight for hint in hints) > 0) & where

    def search(pick: Pick) -> tuple[N]:
        return (_search_coupling_offset(chain, bones, pick(goal), [pick(hint) for hint in hints]),)

    result: tuple[N] = m.recompute_where(searched, (0.0 * goal[0] + bones.coupling_offset,), search)
    return result[0]


def bend_from_markers(
    m: NumberFunctions[N], chain: Chain, goal: tuple[N, N], hints: list[MarkerHint[N]]
) -> tuple[N, Any]:
    """Return the last joint's bend, rad, from markers at the ends of the first two bones and the goal, and whether both
    markers are seen.

    The bend is used rather than the offset: if the bones differ from the performer's, the middle joint compensates, and
    a last joint coupled to it would be off by as much or more.
    """
    first, second = (_marker_at_end(chain, hints, bone) for bone in (0, 1))
    if first is None or second is None:
        return 0.0 * goal[0], 0.0 * goal[0] > 0
    second_heading = m.atan2(second.v - first.v, second.u - first.u)
    third_heading = m.atan2(goal[1] - second.v, goal[0] - second.u)
    return wrap_angle(third_heading - second_heading), (first.weight > 0) & (second.weight > 0)


def _marker_at_end(chain: Chain, hints: list[MarkerHint[N]], bone: int) -> MarkerHint[N] | None:
    end = ChainMarker(bone, float(chain.lengths[bone]))
    return next((hint for hint in hints if hint.marker == end), None)


def _search_coupling_offset(
    chain: Chain, bones: ChainLengths, goal: tuple[Any, Any], hints: list[MarkerHint[Any]]
) -> Any:
    """Search the coupling offset that brings the markers nearest to the hints, with a penalty.

    All SAMPLED_OFFSETS are tried at once.
    """

    def column(number: Any) -> Floats:
        return np.asarray(number, float)[..., None]

    u, v = column(goal[0]), column(goal[1])
    coupling_offset = bones.coupling_offset + SAMPLED_OFFSETS
    first, middle, last, _ = bend_coupled(
        ARRAY, bones, (u, v), coupling_offset, farthest_reach(ARRAY, bones, coupling_offset)
    )
    costs = (OFFSET_PENALTY_M * SAMPLED_OFFSETS) ** 2 + 0.0 * u
    flexions = (first + bones.shift[0], middle + bones.shift[1], last + bones.shift[2])
    for hint in hints:
        at_u, at_v = marker_position(ARRAY, chain, hint.marker, flexions)
        squared_error = (at_u - column(hint.u)) ** 2 + (at_v - column(hint.v)) ** 2
        costs = costs + np.where(column(hint.weight) > 0, squared_error, 0.0)
    offset = bones.coupling_offset + _minimise_parabola(SAMPLED_OFFSETS, costs)
    return offset if np.ndim(goal[0]) else float(offset)


def _minimise_parabola(xs: Floats, costs: Floats) -> Floats:
    """Minimise the parabola through the lowest of costs (..., K) and its neighbours; xs (K,) are equally spaced."""
    k = np.clip(costs.argmin(-1), 1, len(xs) - 2)[..., None]
    left_cost, middle_cost, right_cost = (np.take_along_axis(costs, k + step, -1)[..., 0] for step in (-1, 0, 1))
    curve = np.maximum(left_cost - 2 * middle_cost + right_cost, 1e-18)
    shift = np.clip((left_cost - right_cost) / (2 * curve), -1.0, 1.0)
    lowest: Floats = xs[k[..., 0]] + shift * (xs[1] - xs[0])
    return lowest
