"""A limb at rest: steps repeated on one frame until they no longer move it.

This is the dynamical method with its targets standing still and its gain without bound: each step of it is then one of
Gauss and Newton within limits. The damping grows where a step leads away (Levenberg 1944, Marquardt 1963), so that none
is taken that does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.scalar_math import MANY, ONE, N, NumberFunctions
from .limb_kinematics import LimbFrames, SiteTarget, Square, among, bent, definite, normal, picked, place
from .limb_step import TurnBounds, add_couplings, bounds, coupling_cost, step
from .limbs import LimbModel

Floats = NDArray[np.float64]

STILL = 1e-7
"""rad: a step that is smaller is not taken, so that rounding decides nothing."""
GREATER, LESS = 30.0, 0.03
"""What the damping is multiplied by when a step leads away, and when it does not."""
GAINED = 0.1
"""Of what a step promised, the least that it must bring: two poses that miss as much must not alternate."""


LEAST = 1e-7
"""m²: a matrix with smaller pivots has no least that can be told."""
FREELY = 1.0
"""rad that a joint may turn in one step; as if such a step came before the first."""


@dataclass(frozen=True, slots=True)
class SettlingMethod:
    """How all limbs of all frames come to rest."""

    tolerance: float
    """m"""
    steps: int
    damping: float
    """m², λ"""
    room: TurnBounds
    near: float = 1e-3
    """rad that are still to go when a limb is at rest. Steps shrink from one to the next by the same factor, or faster:
    the next one is as much smaller than the last as that was than the one before."""


def settle_one(
    limb: LimbModel, angles: list[float], seen: list[SiteTarget[float]], known: list[Any], method: SettlingMethod
) -> list[float]:
    """The angles (n,) of a limb at rest in one frame, begun at angles; what is not known stays."""
    placed = place(ONE, limb, angles, seen)
    if _met(limb, placed, method):
        return angles
    cost, damping, before = _cost(ONE, limb, placed), method.damping, FREELY
    program: Any = None
    for number in range(method.steps):
        if program is None or number == 1:
            program = _program(ONE, limb, placed, seen, number > 0)
        ends = bounds(ONE, limb, placed.angles, method.room, known)
        move = step(ONE, limb, damped(program, damping), ends)
        size = max(map(abs, move))
        if size < _still(limb):
            break
        there = place(ONE, limb, [angle + way for angle, way in zip(placed.angles, move, strict=True)], seen)
        dearer = _cost(ONE, limb, there)
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
    """The same for many frames: brings angles (n, F) to rest in place. Frames that are at rest are left alone."""
    met: Any = _met(limb, place(MANY, limb, list(angles), seen), method)
    moving = np.flatnonzero(~np.broadcast_to(met, angles.shape[1:]))
    damping, before = np.full(len(moving), method.damping), np.full(len(moving), FREELY)
    for number in range(method.steps):
        if not len(moving):
            return
        seen_there = among(moving, seen)
        placed = place(MANY, limb, list(angles[:, moving]), seen_there)
        program = _program(MANY, limb, placed, seen_there, number > 0)
        ends = bounds(MANY, limb, placed.angles, method.room, picked(moving, tuple(known)))
        move: Any = step(MANY, limb, damped(program, damping), ends)
        there = place(MANY, limb, [angle + way for angle, way in zip(placed.angles, move, strict=True)], seen_there)
        gained = _cost(MANY, limb, placed) - _cost(MANY, limb, there)
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
    """Whether no target asks for a correction, where no coupling must hold."""
    met: Any = placed.farthest <= method.tolerance**2
    return met & (not limb.hard)


def _still(limb: LimbModel) -> float:
    """rad: couplings that must hold are brought to hold however little they miss."""
    return 1e-13 if limb.hard else STILL


def _cost(m: NumberFunctions[N], limb: LimbModel, placed: LimbFrames[N]) -> Any:
    """m²"""
    return placed.cost + coupling_cost(m, limb, placed.angles)


def damped(program: Any, damping: Any) -> Any:
    """The program with λ on its diagonal."""
    return [[*row[:-1], row[-1] + damping] for row in program[0]], program[1]


def _promised(program: tuple[Any, Any], move: list[N]) -> Any:
    """m², the least by which the cost falls along a step where it bends as its program has it."""
    return sum(pull * way for pull, way in zip(program[1], move, strict=True))


def _program(
    m: NumberFunctions[N], limb: LimbModel, placed: LimbFrames[N], seen: list[SiteTarget[N]], again: bool
) -> tuple[Any, Any]:
    """The matrix and the right side of a step; `again`: not the first, so that something is missed still."""
    square, right = normal(limb, placed, seen, 1.0)
    if again:
        square = _bent(m, limb, placed, seen, square)
    add_couplings(m, limb, placed.angles, (square, right), 1.0)
    return square, right


def _bent(
    m: NumberFunctions[N], limb: LimbModel, placed: LimbFrames[N], seen: list[SiteTarget[N]], square: Square[N]
) -> Square[N]:
    """The matrix with how the ways of the places bend; where that has no least, with a bound of the bends instead.

    A bend B is at most the diagonal of the sums of the sizes in its rows (Gershgorin 1931). Steps by a bound do not
    swing to and fro, as those without bends do where a target is far out of reach.
    """
    if all(each.place is None for each in seen):
        return square
    bends = bent(limb, placed, seen)
    whole = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(square, bends, strict=True)]
    sound = definite(m, whole, LEAST)
    if m is ONE and sound:
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
