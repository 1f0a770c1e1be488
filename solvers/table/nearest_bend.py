"""The exact nearest pose within limits, where a table has no entry or its entry violates a limit.

If a digit does not reach its goal, each joint is at a limit or cannot bring the end nearer by itself. If two joints are
free, they form a two-link arm; if one is free, it points at the goal. So the nearest pose is one of a few dozen closed
forms, and it is found by trying them all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from .linkage import Complex, Floats, Linkage, exp_i, tip, two_link_angle

REACH_TOLERANCE = 1e-9
"""m, distance from its goal within which a marker has reached it."""
TIE_TOLERANCE = 1e-10
"""m: among poses whose distances from the goal differ by less, the cost decides. It is as small as rounding allows,
since a pose may end this much farther from its goal: poses that reach it differ by a l STRAIGHT_TOLERANCE / (a + l)
where the joint of links a and l counts as straight, 3e-12 m for a digit of 0.12 m, and by 1e-16 m elsewhere."""

Cost = Callable[[Floats], Floats]
"""Flexions (N, K, 3) -> costs (N, K)."""


@dataclass(frozen=True, slots=True, eq=False)
class LimitFaces:
    """K faces of the limits' box: some joints are fixed and one or two free, which puts the marker at

    start + frame · exp(i ψ) · (first + second · exp(i τ))
    """

    linkage: Linkage
    start: Complex
    frame: Complex
    first: Complex
    second: Complex
    """(K,) each; `second` is zero where only one joint is free."""
    side: Floats
    """(K,) ±1, the direction in which the two free joints bend."""
    fixed: Floats
    """(K, 3) rad, of the fixed joints, 0 for the others."""
    free: Floats
    """(K, 2, 3) 1 at the joint that rotates by ψ, and at the one that rotates by τ."""


def limit_faces(linkage: Linkage) -> LimitFaces:
    """Return all faces on which the nearest pose of a linkage can be."""
    rows = list(_face_rows(linkage))
    start, frame, first, second, side, fixed, free = (np.array(column) for column in zip(*rows, strict=True))
    return LimitFaces(linkage, start, frame, first, second, side, fixed, free)


def nearest(faces: LimitFaces, goal: Complex, cost: Cost | None = None) -> Floats:
    """Return (N, 3) flexions within limits that bring the marker nearest to the goal (N,); 0 for joints beyond the
    marker.

    Of equally near poses, the one of lowest cost is taken: by default the one that follows the coupling most closely,
    or with two bones, the one that bends most towards the palm.
    """
    linkage = faces.linkage
    coordinates = (goal[:, None] - faces.start) / faces.frame
    inner = two_link_angle(faces.first, faces.second, np.abs(coordinates), faces.side)
    outer = np.angle(coordinates) - np.angle(faces.first + faces.second * exp_i(inner))
    angles = outer[..., None] * faces.free[:, 0] + inner[..., None] * faces.free[:, 1] + faces.fixed
    flexions = clamp_around(angles, linkage.limits)
    flexions[..., linkage.bones :] = 0.0
    distance = np.abs(tip(linkage.links, flexions) - goal[:, None])
    tied = distance <= distance.min(axis=1, keepdims=True) + TIE_TOLERANCE
    best_column = np.where(tied, (cost or linkage.coupling_deviation)(flexions), np.inf).argmin(axis=1)
    best_flexions: Floats = flexions[np.arange(len(goal)), best_column]
    return best_flexions


def clamp_around(angles: Floats, limits: Floats) -> Floats:
    """Return the angles (..., 3) clamped to limits (3, 2), each to the limit that is nearer around the circle."""
    middle = limits.mean(axis=1)
    wrapped = angles - 2 * np.pi * np.round((angles - middle) / (2 * np.pi))
    clamped: Floats = np.minimum(np.maximum(wrapped, limits[:, 0]), limits[:, 1])
    return clamped


def _face_rows(linkage: Linkage) -> Iterator[tuple[complex, complex, complex, complex, float, Floats, Floats]]:
    joints = range(linkage.bones)
    for count in (1, 2):
        for free in combinations(joints, count):
            fixed_joints = [joint for joint in joints if joint not in free]
            for values in product(*(_fixed_angles(linkage, joint) for joint in fixed_joints)):
                fixed = np.zeros(3)
                fixed[fixed_joints] = values
                coefficients = _face_coefficients(linkage, fixed, free)
                selectors = np.zeros((2, 3))
                selectors[range(count), free] = 1.0
                for side in (1.0, -1.0)[:count]:
                    yield (*coefficients, side, fixed, selectors)


def _fixed_angles(linkage: Linkage, joint: int) -> list[float]:
    """Return the angles at which a joint may be fixed: its limits, or in line with the link before it."""
    low, high = (float(end) for end in linkage.limits[joint])
    angles = {low, high}
    if joint:
        straight = float(np.angle(linkage.links[joint - 1]) - np.angle(linkage.links[joint]))
        angles.add(min(max(straight, low), high))
    return sorted(angles)


def _face_coefficients(
    linkage: Linkage, fixed: Floats, free: tuple[int, ...]
) -> tuple[complex, complex, complex, complex]:
    """Return start, frame, first and second of LimitFaces with these joints free and the others fixed."""
    parts = [0j, 0j, 0j]
    frames = [1 + 0j, 1 + 0j, 1 + 0j]
    part = 0
    for joint, link in enumerate(linkage.links):
        if joint in free:
            part += 1
        frames[part] *= complex(np.exp(1j * fixed[joint]))
        parts[part] += frames[part] * link
    return parts[0], frames[0], parts[1], frames[1] * parts[2]
