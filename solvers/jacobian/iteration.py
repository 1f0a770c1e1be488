"""The iteration of the Jacobian methods: step, evaluate, keep the best pose, until a row converges.

A row is one part of the hand in one frame; all rows of a batch are iterated together.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import jacobians
from ..qp.kkt_system import WorkingSet
from .problem import RelativePoses
from .residual_rows import PartTargets, ResidualRows, coupled
from .steps import StepBounds, classic, hessian

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CAREFUL = "levenberg-marquardt"
"""The method that rejects steps that raise the cost."""
STIFF = 0.003
"""m, the posture weight of the first steps, where the start is far from the solution. With a small weight the solution
lies in a narrow curved valley, along which steps are short; with a large one a few steps lead close to it."""
SOFTER = 10.0
"""What the posture weight is divided by after a step shorter than SETTLED, down to its final value."""
SETTLED = 0.1
"""rad"""
TRUST = 1e-4
"""Levenberg-Marquardt's initial λ, relative to the Hessian's largest diagonal element."""
LEAST, MOST = 1e-12, 1e8
"""Bounds of λ."""
FREE = 1e-10
"""With λ above this, a short step may be due to the damping and does not end the iteration."""
EASIER, HARDER = 0.1, 10.0
"""Factors on λ after an accepted step and after a rejected one."""

SAME = 1.0 + 1e-13
"""Costs whose ratio is less are equal up to rounding: near the solution, steps improve a pose without lowering it."""


@dataclass(frozen=True, slots=True)
class StepMethod:
    """How steps are computed and when the iteration ends: settings of `Jacobian`."""

    name: str
    damping: float
    homing: float
    iterations: int
    tolerance: float


@dataclass(slots=True, eq=False)
class _Walk:
    """The N rows that have not converged, at their present poses."""

    rows: Ints
    """(N,) ascending indices of the F · G rows of the batch, frame-major."""
    frames: Ints
    parts: Ints
    at: ResidualRows
    trust: Floats
    """(N,) λ"""
    stiff: Floats
    """(N,) the present posture weight, relative to its final value."""
    working: WorkingSet | None = None
    """(N, k + h) the constraints that were active in the last step."""

    def keep(self, going: Bools) -> None:
        if np.all(going):
            return
        which = np.flatnonzero(going)
        self.rows, self.frames, self.parts = self.rows[which], self.frames[which], self.parts[which]
        self.at, self.trust, self.stiff = self.at.select(which), self.trust[which], self.stiff[which]
        self.working = None if self.working is None else self.working[which]


def search(
    task: PartTargets, method: StepMethod, start: RelativePoses, stiff: float = STIFF
) -> tuple[RelativePoses, Floats]:
    """Iterate from the start poses; returns the best poses and the cost (F, G) of each part in m².

    stiff: m, the posture weight of the first steps.
    """
    best, now, trial = start.copy(), start.copy(), start.copy()
    count, parts = len(start.angles), len(task.parts.dofs)
    posture, careful = task.worth.posture, method.name == CAREFUL
    walk = _begin(task, now, max(stiff / posture, 1.0) if careful else 1.0)
    merit = walk.at.cost(posture)
    for _ in range(method.iterations):
        if not len(walk.rows):
            break
        weight, final = posture * walk.stiff, walk.stiff == 1
        step = _step(task, method, walk, now, weight)
        _move(task, walk, now, trial, step)
        after = task.rows(walk.frames, walk.parts, trial)
        nearer = after.cost(weight) <= SAME * walk.at.cost(weight)
        taken = nearer | (not careful)
        walk.at = walk.at.where(taken, after)
        _put(task, walk, taken, trial, now)
        cost = walk.at.cost(posture)
        better = (cost <= SAME * merit[walk.rows]) | ~final
        merit[walk.rows[better]] = cost[better]
        _put(task, walk, better, now, best)
        size = np.abs(step).max(-1)
        small = size < method.tolerance
        ends = small & final & ((walk.trust <= FREE) | (not careful))
        walk.trust = np.clip(walk.trust * np.where(nearer, np.where(small, 0.0, EASIER), HARDER), LEAST, MOST)
        walk.stiff = np.where(nearer & (size < SETTLED), np.maximum(walk.stiff / SOFTER, 1.0), walk.stiff)
        walk.keep(~ends & (walk.trust < MOST))
    return best, merit.reshape(count, parts)


def _begin(task: PartTargets, start: RelativePoses, stiff: float) -> _Walk:
    """All rows at their start poses."""
    parts = len(task.parts.dofs)
    rows = np.arange(len(start.angles) * parts)
    at = task.rows(rows // max(parts, 1), rows % max(parts, 1), start)
    ones = np.ones(len(rows))
    return _Walk(rows, rows // max(parts, 1), rows % max(parts, 1), at, TRUST * ones, stiff * ones)


def _step(task: PartTargets, method: StepMethod, walk: _Walk, now: RelativePoses, posture: Floats) -> Floats:
    """(N, base + n) the next step of each row: m and rad of a floating root, then rad."""
    room = _room(task, walk, now)
    scales = task.scales[walk.parts]
    if method.name != CAREFUL:
        homing = -method.homing * walk.at.off / scales
        return classic(walk.at, room, method.name, method.damping, homing)
    free = np.broadcast_to((walk.stiff == 1)[:, None], scales.shape)
    if walk.working is not None:
        free = free & (walk.working[:, : scales.shape[1]] == 0)
    square, gradient = hessian(walk.at, scales, posture, free)
    diagonal = np.einsum("nii->ni", square)
    diagonal += (walk.trust * diagonal.max(-1))[:, None]
    solution = room.nearest(square, gradient, walk.working)
    walk.working = solution.working
    return solution.x


def _room(task: PartTargets, walk: _Walk, now: RelativePoses) -> StepBounds:
    """The bounds of the rows' steps: limits and hard couplings, less where the rows are."""
    parts = walk.parts
    dofs = task.parts.dofs[parts]
    q = now.angles[walk.frames[:, None], dofs]
    low, high = task.limits
    open_ends = np.full((len(parts), task.base), np.inf)
    coefficients, lower, upper = task.couplings
    rows = task.parts.hard[parts]
    values = coupled(coefficients[rows], now.angles[walk.frames])
    hard = coefficients[rows[:, :, None], dofs[:, None, :]]
    return StepBounds(
        np.concatenate([-open_ends, low[dofs] - q], axis=1),
        np.concatenate([open_ends, high[dofs] - q], axis=1),
        np.concatenate([np.zeros((*rows.shape, task.base)), hard], axis=2),
        lower[rows] - values,
        upper[rows] - values,
    )


def _move(task: PartTargets, walk: _Walk, now: RelativePoses, trial: RelativePoses, step: Floats) -> None:
    """Write the poses `now`, moved by a step (N, base + n), into `trial`."""
    dofs = task.parts.dofs[walk.parts]
    low, high = task.limits
    at = walk.frames[:, None], dofs
    trial.angles[at] = np.clip(now.angles[at] + step[:, task.base :], low[dofs], high[dofs])
    if task.floating:
        base = step[:, : task.base]
        trial.root[walk.frames], _ = jacobians.integrate(now.root[walk.frames], np.zeros((len(step), 0)), base)


def _put(task: PartTargets, walk: _Walk, which: Bools, source: RelativePoses, target: RelativePoses) -> None:
    """Copy the rows selected by `which` (N,) from one set of poses into another."""
    frames, dofs = walk.frames[which], task.parts.dofs[walk.parts[which]]
    target.angles[frames[:, None], dofs] = source.angles[frames[:, None], dofs]
    if task.floating:
        target.root[frames] = source.root[frames]
