"""Choose the swivel, the elbow's angle on its circle, that keeps shoulder and wrist within their limits."""

import numpy as np
from numpy.typing import NDArray

from ..tree.swing_twist_limits import wrapped
from .ball_joints import BallJoint
from .elbow_circle import ArmTriangle

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Joints = tuple[BallJoint, BallJoint]
"""Shoulder and wrist."""

TRIED = 120
"""Samples around the circle, 3 degrees apart."""
HALVINGS = 26
"""Bisections that narrow the edge of the allowed range from 3 degrees to under 1e-9 rad."""
THIRDS = 40
"""Ternary search steps that narrow the minimum from 6 degrees to under 1e-8 rad."""
HOLLOWS = 4
"""Local minima of the sampled cost that are refined."""
AT_ONCE = 500
"""Frames in a batch, which bounds the memory."""
SHOULDER_FIRST = 1e3
"""Weight of the shoulder's excess relative to the wrist's: the wrist's position has priority over its rotation."""


def choose(joints: Joints, triangle: ArmTriangle, last: float) -> Floats:
    """Choose the swivel (N,) rad nearest to 0 within the limits; of two, the one closer to the frame before.

    Where no swivel is within the limits, choose the one least outside. last: rad, the swivel before the first frame.
    """
    swivel = np.zeros(len(triangle.elbow))
    rows = np.flatnonzero(~_holds(joints, triangle, swivel))
    if not len(rows):
        return swivel
    pieces = [rows[k : k + AT_ONCE] for k in range(0, len(rows), AT_ONCE)]
    sides = np.concatenate([_candidates(joints, triangle.rows(piece)) for piece in pieces])
    for row, (left, right) in zip(rows, sides, strict=True):
        before = last if row == 0 else swivel[row - 1]
        swivel[row] = left if abs(wrapped(left - before)) <= abs(wrapped(right - before)) else right
    return swivel


def _candidates(joints: Joints, triangle: ArmTriangle) -> Floats:
    """Swivels (N, 2) rad where the limits begin to hold in either direction from 0; twice the least outside if none."""
    step = 2 * np.pi / TRIED
    ring: Floats = np.linspace(0.0, 2 * np.pi, TRIED, endpoint=False)
    held = _holds(joints, triangle, np.broadcast_to(ring, (len(triangle.elbow), TRIED)))
    none = np.flatnonzero(~np.any(held, axis=1))
    least = np.zeros(len(held))
    if len(none):
        least[none] = _least(joints, triangle.rows(none), ring)
    sides = []
    for way, inside in ((1.0, held), (-1.0, np.roll(held[:, ::-1], 1, axis=1))):
        # A range narrower than a step is found as a minimum of the cost; its edge is within a step of that.
        first = np.where(np.any(held, axis=1), way * ring[np.argmax(inside, axis=1)], least)
        sides.append(_edge(joints, triangle, first, way * step))
    return wrapped(np.stack(sides, -1))


def _edge(joints: Joints, triangle: ArmTriangle, inside: Floats, step: float) -> Floats:
    """Bisect for the edge (N,) rad of the allowed range between `inside - step` and `inside`."""
    outside = inside - step
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        held = _holds(joints, triangle, middle)
        inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
    return inside


def _least(joints: Joints, triangle: ArmTriangle, ring: Floats) -> Floats:
    """Swivel (N,) rad of the least cost: a ternary search in the lowest local minima on the ring (TRIED,)."""
    step = float(ring[1])
    cost = _cost(joints, triangle, np.broadcast_to(ring, (len(triangle.elbow), TRIED)))
    hollow = (cost <= np.roll(cost, 1, axis=1)) & (cost <= np.roll(cost, -1, axis=1))
    deepest = np.argsort(np.where(hollow, cost, np.inf), axis=1)[:, :HOLLOWS]
    low, high = (deepest - 1) * step, (deepest + 1) * step
    for _ in range(THIRDS):
        one, other = (2 * low + high) / 3, (low + 2 * high) / 3
        nearer = _cost(joints, triangle, one) <= _cost(joints, triangle, other)
        low, high = np.where(nearer, low, one), np.where(nearer, other, high)
    middle = (low + high) / 2
    best = np.argmin(_cost(joints, triangle, middle), axis=1)
    least: Floats = np.take_along_axis(middle, best[:, None], axis=1)[:, 0]
    return least


def _holds(joints: Joints, triangle: ArmTriangle, swivel: Floats) -> Bools:
    """(N, ...) whether swivels (N, ...) rad are within the limits."""
    upper = triangle.upper_at(swivel)
    shoulder, wrist = joints
    both: Bools = shoulder.inside(upper) & wrist.inside(triangle.wrist_of(upper, triangle.elbow))
    return both


def _cost(joints: Joints, triangle: ArmTriangle, swivel: Floats) -> Floats:
    """Weighted excess (N, ...) of swivels (N, ...) rad over the limits; 0 inside."""
    upper = triangle.upper_at(swivel)
    shoulder, wrist = joints
    return SHOULDER_FIRST * shoulder.excess(upper) + wrist.excess(triangle.wrist_of(upper, triangle.elbow))
