"""The search: Newton's steps inside the limits, from a pose that is near, so that few are needed.

Frames end one by one; none depends on another.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import BASE, moved
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX
from ...hand.kinematics import Pose
from ..qp import quadratic_program as qp
from .iterate import Aims, Iterate
from .problem import USUAL_LENGTH, PoseProblem, middle_finger_length

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STEPS = 20
LARGEST = 0.3
"""rad, and parts of a metre: no step goes further."""
SMALL = 1e-5
"""rad, and parts of a metre: a step that is shorter is the last."""
GAIN = 1e-7
"""Part of what a pose costs: a step that saves less is the last."""
HARDER, EASIER, TRUST = 10.0, 0.1, 1e-6
"""Levenberg-Marquardt: what λ is multiplied by after a step that failed, and after one that did not; the first λ that
is not zero, as part of the Hessian's largest element."""
SAME = 1.0 + 1e-9
"""Costs that differ by a smaller factor are equal but for rounding."""
NUDGE, BETTER = 0.05, 1e-6
"""rad, and parts of a metre, how far beside the crest between two bends a search goes on; and the part of what a pose
costs that it must save by that."""

STRAYED = 0.5 * 0.002**2
"""m² for a hand of the usual length: what is dearer is out of reach, or bent far from the start."""
CHEAPER = 0.8
"""Parts of what a pose costs, below which another bend is taken that no step led to."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The poses of F frames."""

    pose: Pose
    cost: Floats
    """(F,) m², half the sum of squares."""

    @property
    def strayed(self) -> Bools:
        """(F,) whether it is out of reach, or bent far from the start."""
        usual: Bools = self.cost > STRAYED * (middle_finger_length(self.pose.hand) / USUAL_LENGTH) ** 2
        return usual


def solve(problem: PoseProblem, begin: Pose | None = None, *, patient: bool = True) -> Solution:
    """The pose of each frame that meets the objectives best and of such is nearest to the problem's start.

    begin: F frames, where the search begins, the start if it is None. patient: whether it goes on where a step has led
    it astray. Angles stay inside the hand's limits.
    """
    begin = begin or problem.start
    aims = Aims.of(problem)
    search = _Search(aims, aims.at(begin.root, begin.angles), np.zeros(len(begin)))
    roots, angles, costs = begin.root.copy(), begin.angles.copy(), np.empty(len(begin))
    rows = np.arange(len(begin))
    for number in range(STEPS):
        ended = search.step(patient) | (number == STEPS - 1)
        if ended.any():
            done, here = rows[ended], search.here.select(np.flatnonzero(ended))
            roots[done], angles[done], costs[done] = here.root, here.angles, here.cost
            search, rows = search.select(np.flatnonzero(~ended)), rows[~ended]
            if not len(rows):
                break
    return Solution(Pose(problem.hand, roots, angles), costs)


def retried(problem: PoseProblem, found: Solution) -> Solution:
    """The same, where it strayed also searched for from half closed digits, and the better taken.

    A finger that is bent back may be stopped by its limits where one that is bent reaches farther.
    """
    rows = np.flatnonzero(found.strayed)
    if not len(rows):
        return found
    hand, some = problem.hand, problem.select(rows)
    other = solve(some, Pose(hand, some.start.root, _half_closed(some)))
    less = other.cost < CHEAPER * found.cost[rows]
    roots, angles, costs = found.pose.root.copy(), found.pose.angles.copy(), found.cost.copy()
    better = rows[less]
    roots[better], angles[better], costs[better] = other.pose.root[less], other.pose.angles[less], other.cost[less]
    return Solution(Pose(hand, roots, angles), costs)


def _half_closed(problem: PoseProblem) -> Floats:
    """(F, D) rad at the start, with the middle and last joints that may move half way closed."""
    hand = problem.hand
    knuckles = {JOINT_INDEX[joints[0]] for joints in CHAIN_JOINTS.values()}
    closes = np.array([movement == "flexion" for movement in hand.movements])
    closes &= ~np.isin(hand.axis_joint, list(knuckles)) & np.isin(np.arange(hand.dofs) + BASE, problem.free)
    return np.where(closes, hand.limits.mean(axis=1), problem.start.angles)


@dataclass(slots=True, eq=False)
class _Search:
    """The N frames that still move."""

    aims: Aims
    here: Iterate
    trust: Floats
    """(N,) λ"""

    def select(self, rows: Ints) -> "_Search":
        """Some of the frames."""
        return _Search(self.aims.select(rows), self.here.select(rows), self.trust[rows])

    def step(self, patient: bool) -> Bools:
        """Takes a step, or the one beside a saddle; (N,) whose last it was."""
        there, size = self._stepped(self.here)
        astray = there.cost > SAME * self.here.cost
        if patient and astray.any() and len(self.aims.ends) > 1:
            # A step that was long for the bend of a pin's way has left the pin: the next one brings it back.
            rows = np.flatnonzero(astray)
            back = self.select(rows)
            there = there.where(rows, back._stepped(there.select(rows))[0])
            astray = there.cost > SAME * self.here.cost
        gained = np.where(astray, np.inf, self.here.cost - there.cost)
        easier = np.where(self.trust > TRUST, self.trust * EASIER, 0.0)
        self.trust = np.where(astray, np.maximum(self.trust * HARDER, TRUST), easier)
        taken = np.flatnonzero(~astray)
        if len(taken):
            self.here = self.here.where(taken, there.select(taken) if len(taken) < len(astray) else there)
        ended: Bools = (size < SMALL) | (gained < GAIN * self.here.cost)
        if not patient:
            ended |= astray
        for_saddle = np.flatnonzero(ended if patient else ended & ~astray)
        if len(for_saddle):
            ended[for_saddle] = ~self._leave_saddle(for_saddle)
        return ended

    def _stepped(self, here: Iterate) -> tuple[Iterate, Floats]:
        """Where a step leads, and (N,) its largest part."""
        hessian = _positive(here, self.trust, stiff=len(self.aims.ends) > 1)
        step = np.asarray(-np.linalg.solve(hessian, here.gradient[..., None])[..., 0], np.float64)
        step = self._held(here, step, hessian)
        return self._gone(here, step), np.abs(step).max(axis=1, initial=0.0)

    def _held(self, here: Iterate, step: Floats, hessian: Floats) -> Floats:
        """(N, k) steps that break a limit or a constraint as those that are best within, by their Hessians."""
        problem = self.aims.problem
        own = np.zeros((len(here.angles), BASE + problem.hand.dofs))
        own[:, BASE:] = here.angles
        own, rows, whole = own[:, problem.free], problem.constraints, step
        least: Floats = np.maximum(problem.limits[0] - own, -LARGEST)
        most: Floats = np.minimum(problem.limits[1] - own, LARGEST)
        if len(rows):
            values = (problem.constrained * here.angles[:, None]).sum(-1)
            least = np.concatenate([least, problem.bounds[0] - values], axis=1)
            most = np.concatenate([most, problem.bounds[1] - values], axis=1)
            whole = np.concatenate([step, (rows * step[:, None]).sum(-1)], axis=1)
        held = np.flatnonzero(((whole < least) | (whole > most)).any(axis=1))
        if len(held):
            linear = -(hessian[held] @ step[held, :, None])[..., 0]
            step[held] = qp.solve_all(qp.QuadraticProgram(hessian[held], linear, least[held], most[held], rows)).x
        return step

    def _gone(self, here: Iterate, step: Floats) -> Iterate:
        """Where a step (N, k) of what may change leads, inside the limits."""
        problem, root = self.aims.problem, here.root
        whole = np.zeros((len(step), BASE + problem.hand.dofs))
        whole[:, problem.free] = step
        if self.aims.wrist[1]:
            root, _ = moved(root, here.angles, whole)
        elif self.aims.wrist[0]:
            root = root.copy()
            root[:, :3, 3] += whole[:, :3]
        low, high = problem.hand.limits.T
        return self.aims.at(root, np.minimum(np.maximum(here.angles + whole[:, BASE:], low), high))

    def _leave_saddle(self, rows: Ints) -> Bools:
        """(n,) which of some frames go on from a pose that is no least but the crest between two.

        A straight finger that is pushed along itself bends either way, and goes where it is better.
        """
        values, ways = np.linalg.eigh(self.here.square[rows] + self.here.bends[rows])
        leaves: Bools = values[:, 0] < 0.0
        if not leaves.any():
            return leaves
        rows, way = rows[leaves], ways[leaves, :, 0]
        way = way * (NUDGE / np.abs(way).max(axis=1, keepdims=True))
        crest, unit = self.select(rows), np.broadcast_to(np.eye(way.shape[1]), (*way.shape, way.shape[1]))
        there, other = (crest._gone(crest.here, crest._held(crest.here, each, unit)) for each in (way, -way))
        better = np.flatnonzero(other.cost < there.cost)
        there = there.where(better, other.select(better))
        saves = there.cost < (1.0 - BETTER) * crest.here.cost
        self.here = self.here.where(rows[saves], there.select(np.flatnonzero(saves)))
        self.trust[rows[saves]] = 0.0
        leaves[leaves] = saves
        return leaves


def _positive(here: Iterate, trust: Floats, *, stiff: bool) -> Floats:
    """(N, k, k) the Hessian for a step.

    Where there is no least it goes without the bends; stiff: down what bends downwards as if it bent upwards as much,
    which takes fewer steps, but now and then to farther off.
    """
    whole = here.square + here.bends
    diagonal = np.arange(whole.shape[1])
    largest = here.square[:, diagonal, diagonal].max(axis=1, initial=0.0)
    whole[:, diagonal, diagonal] += (trust * largest)[:, None]
    for row in _not_positive(whole):
        if not stiff:
            whole[row] -= here.bends[row]
        else:
            values, ways = np.linalg.eigh(whole[row])
            whole[row] = (ways * np.maximum(np.abs(values), 1e-9 * values[-1])) @ ways.T
    return whole


def _not_positive(matrices: Floats) -> list[int]:
    """The matrices (N, k, k) that are not positive definite."""
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return [0]
        return [row for row in range(len(matrices)) if _not_positive(matrices[row : row + 1])]
    return []
