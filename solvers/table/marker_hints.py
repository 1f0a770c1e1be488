"""Bends that use markers on the inner joints to resolve the one degree of freedom that the tip's position leaves.

With the last joint fixed, the digit is a two-link arm, which bends forwards or backwards to a given distance. Where
both inner joints are seen, they determine the last joint's flexion. Otherwise it is the one that brings the markers
nearest to where they were seen, with a cost for deviating from the coupling. The markers also decide which way the arm
bends.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import wrap_angle
from ..planar.dip_offset import OFFSET_PENALTY_M
from .linkage import Complex, Floats, Linkage, exp_i, straight_tip, tip, two_link_angle
from .nearest_bend import REACH_TOLERANCE, LimitFaces, clamp_around, nearest

Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

LIMIT_COST = 0.1
"""m, cost of a radian beyond a limit."""
SAMPLES = np.linspace(-1.0, 1.0, 9)
"""Samples of the search interval of the last joint's flexion, relative to its half width."""
ROUNDS = 4
"""Number of rounds of the search. Each shrinks the interval around the best sample to a quarter, finally to half a
degree."""


@dataclass(frozen=True, slots=True, eq=False)
class SeenMarker:
    """An inner marker and its positions in N frames."""

    linkage: Linkage
    """The linkage up to the marker."""
    ends: int
    """Number of the bone that ends at the marker, from 1; 0 for a marker elsewhere on a bone."""
    positions: Complex
    """(N,) m in the plane."""
    known: Bools
    """(N,)"""

    def take(self, rows: Ints) -> "SeenMarker":
        """Return some of the frames."""
        return SeenMarker(self.linkage, self.ends, self.positions[rows], self.known[rows])


@dataclass(frozen=True, slots=True, eq=False)
class HintedGoal:
    """A goal for the end of two or three bones, and positions of the inner markers."""

    faces: LimitFaces
    goal: Complex
    """(N,)"""
    seen: list[SeenMarker]

    def take(self, rows: Ints) -> "HintedGoal":
        """Return some of the frames."""
        return HintedGoal(self.faces, self.goal[rows], [marker.take(rows) for marker in self.seen])

    def flexions(self) -> Floats:
        """Return (N, 3) flexions within limits that bring the end to its goal and the markers near their positions."""
        linkage = self.faces.linkage
        if linkage.bones < 3:
            return nearest(self.faces, self.goal, self.cost)
        last = self._seen_last_flexion()
        seen = np.isfinite(last)
        result = np.empty((len(last), 3))
        for rows, coupling_cost in ((np.flatnonzero(seen), 0.0), (np.flatnonzero(~seen), OFFSET_PENALTY_M)):
            some = self.take(rows)
            last_flexion = last[rows] if coupling_cost == 0 else some._search_last_flexion()
            poses, costs = some._both_solutions(last_flexion[:, None], coupling_cost)
            result[rows] = clamp_around(poses[np.arange(len(rows)), costs.argmin(1)], linkage.limits)
        missed = np.flatnonzero(np.abs(tip(linkage.links, result) - self.goal) > REACH_TOLERANCE)
        if len(missed):
            some = self.take(missed)
            result[missed] = nearest(some.faces, some.goal, some.cost)
        return result

    def cost(self, flexions: Floats, coupling_cost: float = OFFSET_PENALTY_M) -> Floats:
        """Return (N, K) m², the cost of poses (N, K, 3): squared distances of the markers and deviation from the
        coupling."""
        deviation = self.faces.linkage.coupling_deviation(flexions) if self.faces.linkage.bones == 3 else 0.0
        cost = np.broadcast_to((coupling_cost * deviation) ** 2, flexions.shape[:2])
        for marker in self.seen:
            offsets = tip(marker.linkage.links, flexions) - marker.positions[:, None]
            cost = cost + np.where(marker.known[:, None], offsets.real**2 + offsets.imag**2, 0.0)
        return cost

    def _seen_last_flexion(self) -> Floats:
        """Return the last joint's flexion (N,) rad where the ends of both bones before it were seen, else NaN."""
        links, flexion = self.faces.linkage.links, np.full(len(self.goal), np.nan)
        for first in self.seen:
            for second in self.seen:
                if (first.ends, second.ends) == (1, 2):
                    middle, last = second.positions - first.positions, self.goal - second.positions
                    is_determined = first.known & second.known & (middle != 0) & (last != 0)
                    angle = np.angle(last * np.conj(middle)) + np.angle(links[1]) - np.angle(links[2])
                    flexion = np.where(is_determined, angle, flexion)
        return flexion

    def _search_last_flexion(self) -> Floats:
        """Return the last joint's flexion (N,) rad of least cost."""
        low, high = self.faces.linkage.limits[2]
        flexion, half = np.full(len(self.goal), (low + high) / 2), (high - low) / 2
        for _ in range(ROUNDS):
            samples = np.minimum(np.maximum(flexion[:, None] + half * SAMPLES, low), high)
            costs = self._both_solutions(samples, OFFSET_PENALTY_M)[1]
            flexion, half = samples[np.arange(len(flexion)), costs.argmin(1) % len(SAMPLES)], half / 4
        return flexion

    def _both_solutions(self, last: Floats, coupling_cost: float) -> tuple[Floats, Floats]:
        """Return both solutions with the last joint flexed by `last` (N, K) rad: flexions (N, 2 K, 3), not clamped, and
        costs (N, 2 K)."""
        linkage = self.faces.linkage
        first, second = linkage.links[0], linkage.links[1] + linkage.links[2] * exp_i(last)
        middle = np.concatenate(
            [two_link_angle(first, second, np.abs(self.goal)[:, None], side) for side in (1.0, -1.0)], axis=1
        )
        last = np.concatenate([last, last], axis=1)
        first_flexion = np.angle(self.goal)[:, None] - np.angle(straight_tip(linkage.links, middle, last))
        flexions = np.stack([first_flexion, middle, last], -1)
        excess = wrap_angle(flexions - clamp_around(flexions, linkage.limits))
        return flexions, self.cost(flexions, coupling_cost) + ((LIMIT_COST * excess) ** 2).sum(-1)
