"""What the planar solvers share, as FABRIK-CGA section 3.4: palm from its markers, a plane a digit, bends in it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..hand.planes import plane_axes
from ..hand.targets import Targets
from .closest import approach, where
from .plan import End, Marked, Plan, PlanarState, Steps, make_plan
from .planar import Hint
from .solver import State, hold_last

Floats = NDArray[np.float64]

ROUNDS = 4
"""Times that the bend sideways and the bends in the plane are brought together; each leaves about a fifth."""

NEAR = 1e-4
"""m from its target at which a digit's end has arrived."""
OUTSIDE = 1e-5
"""m outside its plane from which a digit's end is brought there by bending sideways."""


def solve_hand(
    hand: HandModel, targets: Targets, state: State | None, steps: Steps, sweeps: int
) -> tuple[Pose, PlanarState]:
    """The pose of each frame by these steps, and the state to hand on. See Solver.

    sweeps: how often each joint turns in turn where limits keep a digit from its goal.

    Raises HandError for a hand that is not five flexing digits on a rigid palm.
    """
    state = state or State(np.eye(4), hand.neutral)
    plan = state.plan if isinstance(state, PlanarState) else None
    if plan is None or not plan.serves(hand, targets, steps):
        plan = make_plan(hand, targets, steps)
    roots = steps.palm(hand, targets, state.root)
    angles = np.broadcast_to(state.angles, (len(targets), hand.dofs)).copy()
    for marked in plan.digits:
        solved = _solve(plan, marked, _marks(plan, marked, targets, roots), sweeps)
        for d in np.flatnonzero(np.isfinite(solved).any(0)):
            angles[:, d] = hold_last(solved[:, d], np.isfinite(solved[:, d]), state.angles[d])
    root, last = (roots[-1], angles[-1]) if len(targets) else (state.root, state.angles)
    return Pose(hand, roots, angles), PlanarState(root, last, plan)


@dataclass(frozen=True, slots=True, eq=False)
class _Marks:
    """Where a digit's markers were seen, in its base's frame, mirrored in X for a left hand."""

    positions: Floats
    """(F, S, 3) m."""
    weights: Floats
    """(F, S)"""


def _marks(plan: Plan, marked: Marked, targets: Targets, roots: Floats) -> _Marks:
    weights = targets.weights[:, marked.columns]
    bases = roots @ marked.digit.T_wrist_base
    away = np.where(weights[..., None] > 0, targets.positions[:, marked.columns], 0.0) - bases[:, None, :3, 3]
    positions = np.einsum("fji,fsj->fsi", bases[:, :3, :3], away) * plan.mirror
    return _Marks(positions, weights)


def _solve(plan: Plan, marked: Marked, marks: _Marks, sweeps: int) -> Floats:
    """(F, D) the digit's angles, NaN where its targets do not tell."""
    solved = np.full((len(marks.positions), plan.hand.dofs), np.nan)
    if not marked.riders:
        return solved
    # The outermost marker seen is the digit's end.
    seen = np.where(marks.weights > 0, marked.reach, -1.0)
    for end in range(len(marked.riders)):
        rows = np.flatnonzero((seen.argmax(1) == end) & (seen[:, end] >= 0))
        if len(rows):
            chosen = _Marks(marks.positions[rows], marks.weights[rows])
            solved[rows] = _solve_rows(plan, marked, chosen, end, sweeps)
    return solved


def _solve_rows(plan: Plan, marked: Marked, marks: _Marks, end: int, sweeps: int) -> Floats:
    """(N, D) for rows whose outermost marker is the same one."""
    digit, points = marked.digit, marks.positions
    abduction, twist = plan.steps.plane(points, marks.weights, end, marked.plane_limits)
    if marked.aside.any():
        # A marker's place beside the plane is along the plane's normal, which it hardly turns.
        points = points - marked.aside[:, None] * plane_axes(abduction, twist)[:, None, 2]
        abduction, twist = plan.steps.plane(points, marks.weights, end, marked.plane_limits)
    placed = np.einsum("nij,nkj->nki", plane_axes(abduction, twist), points)
    others = [i for i in range(len(marked.riders)) if i != end]
    hints = [Hint(marked.riders[i], placed[:, i, :2], marks.weights[:, i]) for i in others]
    reached = marked.ends[end]
    flexions = reached.bend.many(placed[:, end, :2], hints)
    side = np.zeros(len(points))
    if digit.side_bend >= 0 and reached.rider.bone > 0:
        flexions, side = _bend_sideways(marked, reached, placed[:, end], hints, flexions)
    solved = np.full((len(points), plan.hand.dofs), np.nan)
    for d, values in ((digit.abduction, abduction), (digit.twist, twist), (digit.side_bend, side)):
        if d >= 0:
            solved[:, d] = values
    solved[:, digit.flexions] = flexions
    return _nearer(reached, points[:, end], solved, sweeps)


def _nearer(end: End, goal: Floats, solved: Floats, sweeps: int) -> Floats:
    """The angles (N, D), those of rows that the limits keep from their goal (N, 3) brought as near as they may."""
    missed = np.linalg.norm(where(end.turns, solved[:, end.dofs], end.ends) - goal, axis=-1)
    rows = np.flatnonzero(missed > NEAR)
    if len(rows):
        chosen = np.ix_(rows, np.array(end.dofs))
        solved[chosen] = approach(end.turns, solved[chosen], end.ends, goal[rows], sweeps)
    return solved


def _bend_sideways(
    marked: Marked, end: End, goal: Floats, hints: list[Hint], flexions: Floats
) -> tuple[Floats, Floats]:
    """The flexions (N, 3) and the second joint's abduction (N,) where the plane's limits leave the goal outside it.

    The second joint turns the rest of the digit out of the plane. Turned back, its goal (N, 3) lies in the plane at a
    slightly greater distance, which the digit then bends to; both are done in turn.
    """
    side = np.zeros(len(flexions))
    outside = np.abs(goal[:, 2]) > OUTSIDE
    if not outside.any():
        return flexions, side
    inside, beyond = goal[outside, :2], goal[outside, 2]
    hints = [Hint(hint.rider, hint.positions[outside], hint.weights[outside]) for hint in hints]
    bent = flexions[outside]
    for _ in range(ROUNDS):
        ahead = np.stack([np.cos(bent[:, 0]), np.sin(bent[:, 0])], -1)
        along = ((inside - marked.chain.lengths[0] * ahead) * ahead).sum(-1)
        bend = np.arctan2(-beyond, np.maximum(along, 1e-3)).clip(*marked.side_limits)
        longer = along * np.cos(bend) - beyond * np.sin(bend)
        bent = end.bend.many(inside + (longer - along)[:, None] * ahead, hints)
    flexions = flexions.copy()
    flexions[outside], side[outside] = bent, bend
    return flexions, side
