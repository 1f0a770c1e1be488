"""Choose the swivel, the elbow's angle on its circle, that keeps shoulder and wrist within their limits."""

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import wrap_angle
from .ball_joints import BallJoint
from .elbow_circle import ArmTriangle

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Joints = tuple[BallJoint, BallJoint]
"""Shoulder and wrist."""

SAMPLES = 120
"""Number of samples around the circle, 3 degrees apart."""
BISECTIONS = 26
"""Bisections that narrow the edge of the allowed range from 3 degrees to under 1e-9 rad."""
TERNARY_STEPS = 40
"""Ternary search steps that narrow the minimum from 6 degrees to under 1e-8 rad."""
MAX_MINIMA = 4
"""Number of local minima of the sampled cost that are refined, the lowest ones."""
BATCH = 500
"""Number of frames in a batch, to limit memory."""
SHOULDER_WEIGHT = 1e3
"""Weight of the shoulder's excess relative to the wrist's: the wrist's position has priority over its rotation."""


def choose_swivel(joints: Joints, triangle: ArmTriangle, last: float) -> Floats:
    """Choose the swivel (N,) rad nearest to 0 within the limits; of two, the one closer to the previous frame's.

    If no swivel is within the limits, the one with the least excess is chosen. last: rad, the swivel before the first
    frame.
    """
    swivel = np.zeros(len(triangle.elbow))
    rows = np.flatnonzero(~_within_limits(joints, triangle, swivel))
    if not len(rows):
        return swivel
    batches = [rows[k : k + BATCH] for k in range(0, len(rows), BATCH)]
    edges = np.concatenate([_candidates(joints, triangle.select(batch)) for batch in batches])
    for row, (first, second) in zip(rows, edges, strict=True):
        previous = last if row == 0 else swivel[row - 1]
        swivel[row] = first if abs(wrap_angle(first - previous)) <= abs(wrap_angle(second - previous)) else second
    return swivel


def _candidates(joints: Joints, triangle: ArmTriangle) -> Floats:
    """Return swivels (N, 2) rad where the limits start to hold in either direction from 0; if there are none, twice the
    swivel that is least outside."""
    step = 2 * np.pi / SAMPLES
    ring: Floats = np.linspace(0.0, 2 * np.pi, SAMPLES, endpoint=False)
    allowed = _within_limits(joints, triangle, np.broadcast_to(ring, (len(triangle.elbow), SAMPLES)))
    infeasible = np.flatnonzero(~np.any(allowed, axis=1))
    least_outside = np.zeros(len(allowed))
    if len(infeasible):
        least_outside[infeasible] = _least_outside(joints, triangle.select(infeasible), ring)
    edges = []
    for direction, inside in ((1.0, allowed), (-1.0, np.roll(allowed[:, ::-1], 1, axis=1))):
        # A range narrower than a step is found as a minimum of the cost; its edge is within a step of that.
        first = np.where(np.any(allowed, axis=1), direction * ring[np.argmax(inside, axis=1)], least_outside)
        edges.append(_edge(joints, triangle, first, direction * step))
    return wrap_angle(np.stack(edges, -1))


def _edge(joints: Joints, triangle: ArmTriangle, inside: Floats, step: float) -> Floats:
    """Bisect for the edge (N,) rad of the allowed range between `inside - step` and `inside`."""
    outside = inside - step
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        allowed = _within_limits(joints, triangle, middle)
        inside, outside = np.where(allowed, middle, inside), np.where(allowed, outside, middle)
    return inside


def _least_outside(joints: Joints, triangle: ArmTriangle, ring: Floats) -> Floats:
    """Return the swivel (N,) rad of the least cost: a ternary search in the lowest local minima on the ring
    (SAMPLES,)."""
    step = float(ring[1])
    cost = _cost(joints, triangle, np.broadcast_to(ring, (len(triangle.elbow), SAMPLES)))
    minima = (cost <= np.roll(cost, 1, axis=1)) & (cost <= np.roll(cost, -1, axis=1))
    lowest = np.argsort(np.where(minima, cost, np.inf), axis=1)[:, :MAX_MINIMA]
    low, high = (lowest - 1) * step, (lowest + 1) * step
    for _ in range(TERNARY_STEPS):
        lower, upper = (2 * low + high) / 3, (low + 2 * high) / 3
        nearer = _cost(joints, triangle, lower) <= _cost(joints, triangle, upper)
        low, high = np.where(nearer, low, lower), np.where(nearer, upper, high)
    middle = (low + high) / 2
    best_column = np.argmin(_cost(joints, triangle, middle), axis=1)
    least_outside: Floats = np.take_along_axis(middle, best_column[:, None], axis=1)[:, 0]
    return least_outside


def _within_limits(joints: Joints, triangle: ArmTriangle, swivel: Floats) -> Bools:
    """Return (N, ...) whether swivels (N, ...) rad are within the limits."""
    upper = triangle.upper_rotation(swivel)
    shoulder, wrist = joints
    is_inside: Bools = shoulder.inside(upper) & wrist.inside(triangle.wrist_rotation(upper, triangle.elbow))
    return is_inside


def _cost(joints: Joints, triangle: ArmTriangle, swivel: Floats) -> Floats:
    """Return the weighted excess (N, ...) of swivels (N, ...) rad over the limits; 0 inside."""
    upper = triangle.upper_rotation(swivel)
    shoulder, wrist = joints
    return SHOULDER_WEIGHT * shoulder.excess(upper) + wrist.excess(triangle.wrist_rotation(upper, triangle.elbow))
