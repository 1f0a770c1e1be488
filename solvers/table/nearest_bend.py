"""The nearest pose within the limits, exactly: where a table cannot answer, or where its answer breaks a limit.

Where a digit does not reach its goal, each joint stands at a limit or cannot bring the end nearer by itself. Two joints
that are not at a limit are a two-link arm, and one that is not points at the goal. So the nearest pose is among a few
dozen that are known in closed form, and it is found by trying them all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from .linkage import Complex, Floats, Linkage, between, tip, unit

REACHED = 1e-9
"""m from its goal at which a rider has arrived."""
ALIKE = 1e-10
"""m: of poses whose distances from the goal differ by less, the price chooses. A pose may so end this much farther off,
so it is as small as rounding allows: poses that reach a goal differ by a l STRAIGHT / (a + l) where a corner of links a
and l counts as straight, which is 3e-12 for a digit of 0.12 m, and by 1e-16 elsewhere."""

Price = Callable[[Floats], Floats]
"""Flexions (N, K, 3) -> how little each is wanted (N, K)."""


@dataclass(frozen=True, slots=True, eq=False)
class LimitFaces:
    """K ways to hold some joints and to let one or two go, each of which puts the rider at

    begin + frame · exp(i ψ) · (first + second · exp(i τ))
    """

    linkage: Linkage
    begin: Complex
    frame: Complex
    first: Complex
    second: Complex
    """(K,) each; `second` is zero where only one joint is let go."""
    side: Floats
    """(K,) which way the two bend."""
    held: Floats
    """(K, 3) rad, of the joints that are held, 0 for the others."""
    free: Floats
    """(K, 2, 3) 1 at the joint that turns by ψ, and at the one that turns by τ."""


def faces(linkage: Linkage) -> LimitFaces:
    """All the ways that the nearest pose of a linkage can be."""
    rows = list(_ways(linkage))
    begin, frame, first, second, side, held, free = (np.array(column) for column in zip(*rows, strict=True))
    return LimitFaces(linkage, begin, frame, first, second, side, held, free)


def nearest(ways: LimitFaces, goal: Complex, price: Price | None = None) -> Floats:
    """(N, 3) flexions within the limits whose rider is as near to the goal (N,) as any; 0 beyond the rider.

    Where several are as near, the one of the lowest price: by itself that whose last joint follows the middle one most
    closely, or with two bones, the one that bends most towards the palm.
    """
    linkage = ways.linkage
    away = (goal[:, None] - ways.begin) / ways.frame
    inner = between(ways.first, ways.second, np.abs(away), ways.side)
    outer = np.angle(away) - np.angle(ways.first + ways.second * unit(inner))
    turns = outer[..., None] * ways.free[:, 0] + inner[..., None] * ways.free[:, 1] + ways.held
    flexions = within(turns, linkage.limits)
    flexions[..., linkage.bones :] = 0.0
    apart = np.abs(tip(linkage.links, flexions) - goal[:, None])
    alike = apart <= apart.min(axis=1, keepdims=True) + ALIKE
    best = np.where(alike, (price or linkage.strayed)(flexions), np.inf).argmin(axis=1)
    chosen: Floats = flexions[np.arange(len(goal)), best]
    return chosen


def within(angles: Floats, limits: Floats) -> Floats:
    """The angles (..., 3) brought into their limits (3, 2), each to the end that it is nearer to the way around."""
    middle = limits.mean(axis=1)
    nearer = angles - 2 * np.pi * np.round((angles - middle) / (2 * np.pi))
    held: Floats = np.minimum(np.maximum(nearer, limits[:, 0]), limits[:, 1])
    return held


def _ways(linkage: Linkage) -> Iterator[tuple[complex, complex, complex, complex, float, Floats, Floats]]:
    joints = range(linkage.bones)
    for many in (1, 2):
        for free in combinations(joints, many):
            others = [joint for joint in joints if joint not in free]
            for values in product(*(_stops(linkage, joint) for joint in others)):
                held = np.zeros(3)
                held[others] = values
                places = _placed(linkage, held, free)
                turned = np.zeros((2, 3))
                turned[range(many), free] = 1.0
                for side in (1.0, -1.0)[:many]:
                    yield (*places, side, held, turned)


def _stops(linkage: Linkage, joint: int) -> list[float]:
    """Where a joint may be held: at its limits, or in line with the link before it."""
    low, high = (float(end) for end in linkage.limits[joint])
    stops = {low, high}
    if joint:
        line = float(np.angle(linkage.links[joint - 1]) - np.angle(linkage.links[joint]))
        stops.add(min(max(line, low), high))
    return sorted(stops)


def _placed(linkage: Linkage, held: Floats, free: tuple[int, ...]) -> tuple[complex, complex, complex, complex]:
    """begin, frame, first and second of Faces where these joints are free and the others held."""
    parts = [0j, 0j, 0j]
    frames = [1 + 0j, 1 + 0j, 1 + 0j]
    part = 0
    for joint, link in enumerate(linkage.links):
        if joint in free:
            part += 1
        frames[part] *= complex(np.exp(1j * held[joint]))
        parts[part] += frames[part] * link
    return parts[0], frames[0], parts[1], frames[1] * parts[2]
