"""Newton's method within the limits, damped (Levenberg-Marquardt), for all frames of a pose problem at once.

Each frame stops on its own and does not depend on the others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS, integrate
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
"""rad or m, largest component of a step."""
SMALL = 1e-5
"""rad or m, size of the last step."""
GAIN = 1e-7
"""Relative decrease of the cost in the last step."""
HARDER, EASIER, TRUST = 10.0, 0.1, 1e-6
"""Levenberg-Marquardt: factors on λ after a failed and after a successful step, and the least λ above zero, relative to
the Hessian's largest diagonal element."""
SAME = 1.0 + 1e-9
"""Ratio below which two costs are equal up to rounding."""
NUDGE, BETTER = 0.05, 1e-6
"""rad or m, the step away from a saddle, and the relative decrease of the cost that it must bring."""

STRAYED = 0.5 * 0.002**2
"""m² for a hand of the usual length: a pose of higher cost misses its goal, or is bent far from the start."""
CHEAPER = 0.8
"""Ratio of costs below which the solution from another starting pose replaces the first one."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The poses of F frames and their cost."""

    pose: Pose
    cost: Floats
    """(F,) m², half the sum of squares."""

    @property
    def strayed(self) -> Bools:
        """(F,) whether the pose misses its goal, or is bent far from the start."""
        usual: Bools = self.cost > STRAYED * (middle_finger_length(self.pose.hand) / USUAL_LENGTH) ** 2
        return usual


def solve(problem: PoseProblem, begin: Pose | None = None, *, patient: bool = True) -> Solution:
    """Solve every frame of a pose problem. Angles stay within the hand's limits.

    Args:
        problem: F frames.
        begin: F frames, initial poses of the search; by default the problem's start.
        patient: whether to continue with more damping after a step that increased the cost.
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
    """Search the strayed frames again from half closed digits, and keep the better solution.

    A finger bent backwards may be stopped by its limits where a flexed one reaches farther.
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
    """Return the start's angles (F, D) rad with the free middle and last joints half closed."""
    hand = problem.hand
    knuckles = {JOINT_INDEX[joints[0]] for joints in CHAIN_JOINTS.values()}
    closes = np.array([movement == "flexion" for movement in hand.movements])
    closes &= ~np.isin(hand.axis_joint, list(knuckles)) & np.isin(np.arange(hand.dofs) + ROOT_DOFS, problem.free)
    return np.where(closes, hand.limits.mean(axis=1), problem.start.angles)


@dataclass(slots=True, eq=False)
class _Search:
    """State of the search in the N frames that have not converged."""

    aims: Aims
    here: Iterate
    trust: Floats
    """(N,) λ"""

    def select(self, rows: Ints) -> "_Search":
        """Return some of the frames."""
        return _Search(self.aims.select(rows), self.here.select(rows), self.trust[rows])

    def step(self, patient: bool) -> Bools:
        """Take a step in each frame, away from a saddle where it converged to one; (N,) whether the frame is done."""
        there, size = self._stepped(self.here)
        astray = there.cost > SAME * self.here.cost
        if patient and astray.any() and len(self.aims.ends) > 1:
            # A long step leaves a pin whose path is curved; the next step brings it back.
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
        """Return the iterate after a step, and the step's largest component (N,)."""
        hessian = _positive(here, self.trust, stiff=len(self.aims.ends) > 1)
        step = np.asarray(-np.linalg.solve(hessian, here.gradient[..., None])[..., 0], np.float64)
        step = self._held(here, step, hessian)
        return self._gone(here, step), np.abs(step).max(axis=1, initial=0.0)

    def _held(self, here: Iterate, step: Floats, hessian: Floats) -> Floats:
        """Replace steps (N, k) that violate a limit or constraint by the best steps within them (quadratic program)."""
        problem = self.aims.problem
        own = np.zeros((len(here.angles), ROOT_DOFS + problem.hand.dofs))
        own[:, ROOT_DOFS:] = here.angles
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
        """Return the iterate after a step (N, k) of the free variables, clipped to the limits."""
        problem, root = self.aims.problem, here.root
        whole = np.zeros((len(step), ROOT_DOFS + problem.hand.dofs))
        whole[:, problem.free] = step
        if self.aims.wrist[1]:
            root, _ = integrate(root, here.angles, whole)
        elif self.aims.wrist[0]:
            root = root.copy()
            root[:, :3, 3] += whole[:, :3]
        low, high = problem.hand.limits.T
        return self.aims.at(root, np.minimum(np.maximum(here.angles + whole[:, ROOT_DOFS:], low), high))

    def _leave_saddle(self, rows: Ints) -> Bools:
        """Step away from saddles along the direction of negative curvature; (n,) which of the frames did.

        A straight finger that is pushed along itself can bend either way, and takes the better one.
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
    """Return a positive definite Hessian (N, k, k) for a step.

    Where it is indefinite, the second-order part is dropped; if `stiff`, negative eigenvalues are replaced by their
    absolute values instead, which needs fewer steps but now and then ends farther off.
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
    """Return the indices of the matrices (N, k, k) that are not positive definite."""
    try:
        np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return [0]
        return [row for row in range(len(matrices)) if _not_positive(matrices[row : row + 1])]
    return []
