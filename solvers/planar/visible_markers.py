"""The visible markers of a digit, of one frame or of many, in the frame of the digit's base."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.targets import Targets
from .digit_steps import DigitMarkers
from .planar_plan import MarkedDigit

Floats = NDArray[np.float64]
Rows = NDArray[np.intp] | slice


def visible_in_frame(
    marked: MarkedDigit, positions: list[list[float]], weights: list[float], root: list[list[float]]
) -> DigitMarkers[float]:
    """Return a digit's markers that are seen in one frame, from its end inwards.

    Args:
        marked: the digit.
        positions: (T, 3) m, of all targets.
        weights: (T,) of all targets.
        root: see to_base_frame.
    """
    seen = [(index, column) for index, column in enumerate(marked.columns) if weights[column] > 0]
    points = [to_base_frame(root, marked, positions[column]) for _, column in seen]
    return DigitMarkers([index for index, _ in seen], points, [weights[column] for _, column in seen])


def group_by_end(weights: Floats, all_visible: bool) -> Iterator[tuple[Rows, int]]:
    """Group the frames by their outermost visible marker, the first of weights (F, S) above zero: rows, marker."""
    if all_visible and weights.shape[1]:
        yield slice(None), 0
        return
    visible = weights > 0
    for end in range(weights.shape[1]):
        rows = np.flatnonzero(visible[:, end] & ~visible[:, :end].any(axis=1))
        if len(rows):
            yield rows, end


def visible_in_frames(
    targets: Targets, marked: MarkedDigit, end: int, rows: Rows, root: Floats
) -> DigitMarkers[Floats]:
    """Return a digit's markers from its end inwards in these frames; those not seen are zero."""
    points, weights = [], []
    for column in marked.columns[end:]:
        weight = targets.weights[rows, column]
        position = targets.positions[rows, column].T
        points.append(to_base_frame(root, marked, np.where(weight > 0, position, 0.0)))
        weights.append(weight)
    return DigitMarkers(list(range(end, len(marked.columns))), points, weights)


def to_base_frame(root: Any, marked: MarkedDigit, point: Any) -> Any:
    """Transform a point from the world to the frame of a digit's base, mirrored in X for a left hand.

    root: the first three rows of T_world_wrist, transposed: (4, 3), or (4, 3, N).
    """
    (ax, ay, az), (bx, by, bz), (cx, cy, cz), (tx, ty, tz) = root
    ox, oy, oz = marked.origin
    x, y, z = point
    x, y, z = x - tx, y - ty, z - tz
    x, y, z = ax * x + ay * y + az * z - ox, bx * x + by * y + bz * z - oy, cx * x + cy * y + cz * z - oz
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = marked.base_rows
    return ax * x + ay * y + az * z, bx * x + by * y + bz * z, cx * x + cy * y + cz * z
