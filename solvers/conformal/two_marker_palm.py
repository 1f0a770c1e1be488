"""The palm's rotation from two markers on it, FABRIK-CGA 3.4.1, the case B² < 0: the least rotation about their line.

A third point of the palm is on the circle in which the spheres about the two markers meet: at the point of the circle
nearest to where it was in the frame before. The palm is rigid, so the circle's centre is fixed on the line of the
markers and its radius is constant. One direction is left to be found in each frame.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import Point

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MIN_DISTANCE_M = 0.005
"""m, minimum distance between the two markers, and of the third point from their line, for a defined rotation."""
DIRECTION_TOLERANCE = 1e-9
"""Component perpendicular to the line, relative to the one along it, below which it has no direction."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoMarkerPalm:
    """Two markers on the palm and a third point off their line."""

    first: int
    second: int
    """Indices of the two markers among the palm's."""
    third_point: Floats
    """(3,) m, vector from the midpoint of the markers to the third point."""
    axes: Floats
    """(3, 3) unit columns: from the first marker to the second, perpendicular to it towards the third point, and their
    cross product."""


def two_marker_palm(positions: Floats, visible: Sequence[int], joints: Floats) -> TwoMarkerPalm | None:
    """Choose the two visible markers farthest apart, and the joint farthest from their line.

    Args:
        positions: (P, 3) m, the palm's markers in the wrist's frame.
        visible: indices of the visible ones.
        joints: (J, 3) m, the palm's joints in the wrist's frame.

    Returns:
        The pair; None with fewer than two visible markers, or if markers or joints are too close, see MIN_DISTANCE_M.
    """
    if len(visible) < 2:
        return None
    first, second = max(combinations(visible, 2), key=lambda pair: math.dist(positions[pair[0]], positions[pair[1]]))
    line = positions[second] - positions[first]
    length = float(np.linalg.norm(line))
    if length < MIN_DISTANCE_M:
        return None
    line = line / length
    third_points = joints - (positions[first] + positions[second]) / 2
    perpendicular = third_points - (third_points @ line)[:, None] * line
    farthest = int(np.linalg.norm(perpendicular, axis=1).argmax())
    radius = float(np.linalg.norm(perpendicular[farthest]))
    if radius < MIN_DISTANCE_M:
        return None
    axes = np.stack([line, perpendicular[farthest] / radius, np.cross(line, perpendicular[farthest] / radius)], axis=1)
    return TwoMarkerPalm(first, second, third_points[farthest], axes)


def least_rotations(
    pairs: list[TwoMarkerPalm], pair_index: Ints, lines: Floats, initial: Floats, continues: Bools
) -> Floats:
    """Rotate the palm as little as possible onto the lines of its pairs, frame by frame.

    Args:
        pairs: the pairs of markers.
        pair_index: (N,) index of each frame's pair.
        lines: (N, 3) unit vectors from the pair's first marker to its second, in the world.
        initial: (N, 3, 3) the palm's rotation before the frame, where `continues` is False.
        continues: (N,) whether the previous result is the palm's rotation before the frame.

    Returns:
        (N, 3, 3) the palm's rotations.
    """
    axes, third_points = np.stack([pair.axes for pair in pairs]), np.stack([pair.third_point for pair in pairs])
    # The third point of each pair in the axes of each pair.
    in_pair_axes = np.einsum("kij,li->klj", axes, third_points).tolist()
    previous = np.einsum("nij,nj->ni", initial, third_points[pair_index])
    directions = np.array(
        _third_point_directions(
            lines.tolist(), pair_index.tolist(), previous.tolist(), continues.tolist(), in_pair_axes
        )
    )
    world = np.stack([lines, directions, np.cross(lines, directions)], axis=2)
    rotations: Floats = world @ np.swapaxes(axes[pair_index], 1, 2)
    return rotations


def _third_point_directions(
    lines: list[Point[float]],
    pair_index: list[int],
    previous: list[Point[float]],
    continues: list[bool],
    in_pair_axes: list[list[Point[float]]],
) -> list[Point[float]]:
    """Return unit vectors perpendicular to each line towards the third point; in plain floats, as frames are
    sequential."""
    directions: list[Point[float]] = []
    last, a, b, c, u, v, w = 0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0
    for (x, y, z), pair, position, continued in zip(lines, pair_index, previous, continues, strict=True):
        p, q, r = position
        if continued:
            along, beside, above = in_pair_axes[last][pair]
            p = along * a + beside * u + above * (b * w - c * v)
            q = along * b + beside * v + above * (c * u - a * w)
            r = along * c + beside * w + above * (a * v - b * u)
        projection = p * x + q * y + r * z
        u, v, w = p - projection * x, q - projection * y, r - projection * z
        length = math.sqrt(u * u + v * v + w * w)
        if length <= DIRECTION_TOLERANCE * abs(projection):
            # A point on the line is equally near to the whole circle: use a fixed direction.
            u, v, w = _perpendicular(x, y, z)
            length = math.sqrt(u * u + v * v + w * w)
        u, v, w = u / length, v / length, w / length
        directions.append((u, v, w))
        last, a, b, c = pair, x, y, z
    return directions


def _perpendicular(x: float, y: float, z: float) -> Point[float]:
    """Return a vector perpendicular to a direction, not normalised."""
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        return 0.0, -z, y
    return (z, 0.0, -x) if abs(y) <= abs(z) else (-y, x, 0.0)
