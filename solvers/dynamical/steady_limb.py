"""A limb iterated to convergence on one frame.

This is the dynamical method with constant targets and unbounded gain: each step is then a Gauss-Newton step within the
limits. The damping grows where a step raises the cost (Levenberg 1944, Marquardt 1963), and such a step is not taken.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import ARRAY, SCALAR, N, NumberFunctions
from .limb_kinematics import LimbFrames, SiteTarget, Square, among, bent, definite, normal, picked, place
from .limb_step import TurnBounds, add_couplings, bounds, coupling_cost, step
from .limbs import LimbModel

Floats = NDArray[np.float64]

STILL = 1e-7
"""rad: a smaller step is not taken, so that rounding decides nothing."""
GREATER, LESS = 30.0, 0.03
"""Factors on the damping after a rejected step and after an accepted one."""
GAINED = 0.1
"""Smallest ratio of actual to predicted cost reduction: two poses of equal cost must not alternate."""


LEAST = 1e-7
"""m²: a matrix with smaller pivots does not count as positive definite."""
FREELY = 1.0
"""rad that a joint may move in one step; also the assumed size of the step before the first."""


@dataclass(frozen=True, slots=True)
class SettlingMethod:
    """When a limb counts as converged, and how its steps are damped and bounded."""

    tolerance: float
    """m"""
    steps: int
    damping: float
    """m², λ"""
    room: TurnBounds
    near: float = 1e-3
    """rad: a step this small ends the iteration. Steps shrink by a constant factor or faster, so the iteration also
    ends where the next step, shrunk like the last, would be this small."""


def settle_one(
    limb: LimbModel, angles: list[float], seen: list[SiteTarget[float]], known: list[Any], method: SettlingMethod
) -> list[float]:
    """The angles (n,) to which a limb converges in one frame from `angles`; undetermined ones stay."""
    placed = place(SCALAR, limb, angles, seen)
    if _met(limb, placed, method):
        return angles
    cost, damping, before = _cost(SCALAR, limb, placed), method.damping, FREELY
    program: Any = None
    for number in range(method.steps):
        if program is None or number == 1:
            program = _program(SCALAR, limb, placed, seen, number > 0)
        ends = bounds(SCALAR, limb, placed.angles, method.room, known)
        move = step(SCALAR, limb, damped(program, damping), ends)
        size = max(map(abs, move))
        if size < _still(limb):
            break
        there = place(SCALAR, limb, [angle + way for angle, way in zip(placed.angles, move, strict=True)], seen)
        dearer = _cost(SCALAR, limb, there)
        if not cost - dearer >= GAINED * _promised(program, move):
            damping *= GREATER
            continue
        placed, cost, program = there, dearer, None
        if size < method.near or size * size < method.near * before:
            break
        damping, before = max(damping * LESS, method.damping), size
    return placed.angles


def settle_many(
    limb: LimbModel, angles: Floats, seen: list[SiteTarget[Floats]], known: list[Any], method: SettlingMethod
) -> None:
    """The same for many frames: iterates angles (n, F) in place. Frames that have converged are left alone."""
    met: Any = _met(limb, place(ARRAY, limb, list(angles), seen), method)
    moving = np.flatnonzero(~np.broadcast_to(met, angles.shape[1:]))
    damping, before = np.full(len(moving), method.damping), np.full(len(moving), FREELY)
    for number in range(method.steps):
        if not len(moving):
            return
        seen_there = among(moving, seen)
        placed = place(ARRAY, limb, list(angles[:, moving]), seen_there)
        program = _program(ARRAY, limb, placed, seen_there, number > 0)
        ends = bounds(ARRAY, limb, placed.angles, method.room, picked(moving, tuple(known)))
        move: Any = step(ARRAY, limb, damped(program, damping), ends)
        there = place(ARRAY, limb, [angle + way for angle, way in zip(placed.angles, move, strict=True)], seen_there)
        gained = _cost(ARRAY, limb, placed) - _cost(ARRAY, limb, there)
        size: Any = np.abs(move).max(axis=0)
        still = size < _still(limb)
        better = (gained >= GAINED * _promised(program, move)) & ~still
        angles[:, moving[better]] = np.asarray(there.angles)[:, better]
        near = (size < method.near) | (size * size < method.near * before)
        damping = np.where(better, np.maximum(damping * LESS, method.damping), damping * GREATER)
        before = np.where(better, size, before)
        going = ~(still | (better & near))
        moving, damping, before = moving[going], damping[going], before[going]


def _met(limb: LimbModel, placed: LimbFrames[N], method: SettlingMethod) -> Any:
    """Whether all targets are within tolerance and there is no hard coupling."""
    met: Any = placed.farthest <= method.tolerance**2
    return met & (not limb.hard)


def _still(limb: LimbModel) -> float:
    """rad, the smallest step that is taken; with hard couplings even tiny violations are corrected."""
    return 1e-13 if limb.hard else STILL


def _cost(m: NumberFunctions[N], limb: LimbModel, placed: LimbFrames[N]) -> Any:
    """m², of targets and couplings."""
    return placed.cost + coupling_cost(m, limb, placed.angles)


def damped(program: Any, damping: Any) -> Any:
    """The program with λ added to its diagonal."""
    return [[*row[:-1], row[-1] + damping] for row in program[0]], program[1]


def _promised(program: tuple[Any, Any], move: list[N]) -> Any:
    """m², a lower bound of the cost reduction that the quadratic model predicts for a step."""
    return sum(pull * way for pull, way in zip(program[1], move, strict=True))


def _program(
    m: NumberFunctions[N], limb: LimbModel, placed: LimbFrames[N], seen: list[SiteTarget[N]], again: bool
) -> tuple[Any, Any]:
    """The matrix and the right side of a step, from the second step on (`again`) with second-order terms."""
    square, right = normal(limb, placed, seen, 1.0)
    if again:
        square = _bent(m, limb, placed, seen, square)
    add_couplings(m, limb, placed.angles, (square, right), 1.0)
    return square, right


def _bent(
    m: NumberFunctions[N], limb: LimbModel, placed: LimbFrames[N], seen: list[SiteTarget[N]], square: Square[N]
) -> Square[N]:
    """Add the second-order term to the matrix; where the sum is not positive definite, a diagonal bound of it instead.

    A symmetric matrix is at most the diagonal of its rows' absolute sums (Gershgorin 1931). Steps with that bound do
    not oscillate, as plain Gauss-Newton steps do where a target is far out of reach.
    """
    if all(each.place is None for each in seen):
        return square
    bends = bent(limb, placed, seen)
    whole = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(square, bends, strict=True)]
    sound = definite(m, whole, LEAST)
    if m is SCALAR and sound:
        return whole
    sums: list[Any] = [0.0] * len(square)
    for i, row in enumerate(bends):
        for j, bend in enumerate(row):
            sums[i] = sums[i] + abs(bend)
            sums[j] = sums[j] + (abs(bend) if j < i else 0.0)
    bound: Square[Any] = [list(row) for row in square]
    for i, total in enumerate(sums):
        bound[i][i] = bound[i][i] + total
    return [[m.where(sound, a, b) for a, b in zip(*rows, strict=True)] for rows in zip(whole, bound, strict=True)]
