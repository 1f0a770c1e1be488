"""The one freedom of an arm whose wrist is placed: which elbow of its circle keeps shoulder and wrist within limits."""

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
"""Swivels that are tried around the circle, 3 degrees apart."""
HALVINGS = 26
"""Steps that bring the edge of what the limits let from 3 degrees to under 1e-9 rad."""
THIRDS = 40
"""Steps that bring the least outside from 6 degrees to under 1e-8 rad."""
HOLLOWS = 4
"""Of the swivels tried that are better than those beside them, how many are looked into for what lies between."""
AT_ONCE = 500
"""Frames whose swivels are tried at once, which bounds the memory."""
SHOULDER_FIRST = 1e3
"""The shoulder's excess beside the wrist's: where not both hold, the wrist's place goes before the hand's rotation."""


def choose(joints: Joints, triangle: ArmTriangle, last: float) -> Floats:
    """(N,) rad the swivel nearest to 0 within the limits; of two the one that goes on from the frame before.

    last: rad, the swivel before the first frame. Where no swivel is within the limits, the least outside.
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
    """(N, 2) rad the first swivels within the limits either way from 0; where none is, twice the least outside."""
    step = 2 * np.pi / TRIED
    ring: Floats = np.linspace(0.0, 2 * np.pi, TRIED, endpoint=False)
    held = _holds(joints, triangle, np.broadcast_to(ring, (len(triangle.elbow), TRIED)))
    none = np.flatnonzero(~np.any(held, axis=1))
    least = np.zeros(len(held))
    if len(none):
        least[none] = _least(joints, triangle.rows(none), ring)
    sides = []
    for way, inside in ((1.0, held), (-1.0, np.roll(held[:, ::-1], 1, axis=1))):
        # Limits that hold over less than a step are found as the least outside, and begin within a step of it.
        first = np.where(np.any(held, axis=1), way * ring[np.argmax(inside, axis=1)], least)
        sides.append(_edge(joints, triangle, first, way * step))
    return wrapped(np.stack(sides, -1))


def _edge(joints: Joints, triangle: ArmTriangle, inside: Floats, step: float) -> Floats:
    """(N,) rad where the limits begin to hold, between `step` before `inside` and there; `inside` if they never do."""
    outside = inside - step
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        held = _holds(joints, triangle, middle)
        inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
    return inside


def _least(joints: Joints, triangle: ArmTriangle, ring: Floats) -> Floats:
    """(N,) rad of the least cost, from the hollows of the costs on the ring (TRIED,), each deepened in thirds."""
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
    """(N, ...) how far swivels (N, ...) rad are outside the limits; 0 inside."""
    upper = triangle.upper_at(swivel)
    shoulder, wrist = joints
    return SHOULDER_FIRST * shoulder.excess(upper) + wrist.excess(triangle.wrist_of(upper, triangle.elbow))
