"""The exact nearest pose within limits, where a table has no entry or its entry violates a limit.

Where a digit does not reach its goal, each joint is at a limit or cannot bring the end nearer by itself. If two joints
are free, they form a two-link arm; if one is, it points at the goal. So the nearest pose is one of a few dozen closed
forms, and it is found by trying them all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from .linkage import Complex, Floats, Linkage, between, tip, unit

REACHED = 1e-9
"""m from its goal within which a marker counts as there."""
ALIKE = 1e-10
"""m: among poses whose distances from the goal differ by less, the price decides. It is as small as rounding allows,
since a pose may end this much farther from its goal: poses that reach it differ by a l STRAIGHT / (a + l) where the
joint of links a and l counts as straight, 3e-12 m for a digit of 0.12 m, and by 1e-16 m elsewhere."""

Price = Callable[[Floats], Floats]
"""Flexions (N, K, 3) -> costs (N, K)."""


@dataclass(frozen=True, slots=True, eq=False)
class LimitFaces:
    """K faces of the limits' box: some joints are fixed and one or two free, which puts the marker at

    begin + frame · exp(i ψ) · (first + second · exp(i τ))
    """

    linkage: Linkage
    begin: Complex
    frame: Complex
    first: Complex
    second: Complex
    """(K,) each; `second` is zero where only one joint is free."""
    side: Floats
    """(K,) ±1, which way the two free joints bend."""
    held: Floats
    """(K, 3) rad, of the fixed joints, 0 for the others."""
    free: Floats
    """(K, 2, 3) 1 at the joint that rotates by ψ, and at the one that rotates by τ."""


def faces(linkage: Linkage) -> LimitFaces:
    """All faces on which the nearest pose of a linkage can be."""
    rows = list(_ways(linkage))
    begin, frame, first, second, side, held, free = (np.array(column) for column in zip(*rows, strict=True))
    return LimitFaces(linkage, begin, frame, first, second, side, held, free)


def nearest(ways: LimitFaces, goal: Complex, price: Price | None = None) -> Floats:
    """(N, 3) flexions within limits that bring the marker nearest to the goal (N,); 0 for joints beyond the marker.

    Of equally near poses, the one of lowest price is taken: by default the one that follows the coupling most closely,
    or with two bones, the one that bends most towards the palm.
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
    """The angles (..., 3) clamped to limits (3, 2), each to the limit that is nearer around the circle."""
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
    """The angles at which a joint may be fixed: its limits, or in line with the link before it."""
    low, high = (float(end) for end in linkage.limits[joint])
    stops = {low, high}
    if joint:
        line = float(np.angle(linkage.links[joint - 1]) - np.angle(linkage.links[joint]))
        stops.add(min(max(line, low), high))
    return sorted(stops)


def _placed(linkage: Linkage, held: Floats, free: tuple[int, ...]) -> tuple[complex, complex, complex, complex]:
    """begin, frame, first and second of LimitFaces with these joints free and the others fixed."""
    parts = [0j, 0j, 0j]
    frames = [1 + 0j, 1 + 0j, 1 + 0j]
    part = 0
    for joint, link in enumerate(linkage.links):
        if joint in free:
            part += 1
        frames[part] *= complex(np.exp(1j * held[joint]))
        parts[part] += frames[part] * link
    return parts[0], frames[0], parts[1], frames[1] * parts[2]
