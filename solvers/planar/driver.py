"""The driver of the planar solvers (FABRIK-CGA 3.4): the palm from its markers, a plane for each digit, bends in it."""

import math

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.scalar_math import ARRAY, SCALAR
from ...hand.targets import Targets
from ..chunks import for_each_chunk
from ..solver import State, hold_last_columns
from .chain_batch import MissedGoals, bend_digits, descend
from .digit_steps import bend_from_targets, digit_angles, find_plane, solve_digit
from .following import follow
from .planar_plan import PlanarPlan, PlanarState, Steps, make_plan
from .visible_markers import group_by_end, visible_in_frame, visible_in_frames

Floats = NDArray[np.float64]


def solve_hand(
    hand: HandModel, targets: Targets, state: State | None, steps: Steps, sweeps: int, *, following: bool = False
) -> tuple[Pose, PlanarState]:
    """Solve every frame with these steps. See Solver.

    Args:
        hand: five flexing digits on a rigid palm.
        targets: F frames.
        state: the state that the previous piece returned; None at the start of a take.
        steps: the steps of the solver.
        sweeps: maximum sweeps of cyclic coordinate descent if limits keep a digit from its goal. following: whether a
            digit's iterations start from the frame before; only for bends that are IteratedBends.

    Returns:
        The pose of each frame, and the state for the next piece.

    Raises:
        HandError: the palm is not rigid, or a digit does not flex in three joints.
    """
    state = state or State(np.eye(4), hand.neutral)
    plan = state.plan if isinstance(state, PlanarState) else None
    if plan is None or not plan.serves(hand, targets, steps):
        plan = make_plan(hand, targets, steps)
    roots = plan.palm.roots(targets, state.root)
    passes = None
    if following:
        roots = np.broadcast_to(roots, (len(targets), 4, 4))
        angles, passes = follow(plan, targets, roots, state.angles, sweeps)
    elif len(targets) == 1:
        angles = _solve_frame(plan, targets, roots, state.angles.tolist(), sweeps)
    else:
        solved = solve_angles(plan, targets, roots, sweeps)
        angles = hold_last_columns(solved, np.isfinite(solved), state.angles)
        roots = np.broadcast_to(roots, (len(targets), 4, 4))
    root, last = (roots[-1], angles[-1]) if len(targets) else (state.root, state.angles)
    return Pose(hand, roots, angles), PlanarState(root, last, plan, passes)


def solve_angles(plan: PlanarPlan, targets: Targets, roots: Floats, sweeps: int) -> Floats:
    """Solve the angles (F, D) rad, NaN where no target determines them; roots (F, 4, 4) or (1, 4, 4)."""
    if len(targets) == 1:
        return _solve_frame(plan, targets, roots, [math.nan] * plan.hand.dofs, sweeps)
    # Column-major, because each angle is written and read over all frames.
    angles = np.full((plan.hand.dofs, len(targets)), np.nan).T

    def solve(chunk: slice) -> None:
        _solve_chunk(plan, targets.select(chunk), roots[chunk] if len(roots) > 1 else roots, angles[chunk], sweeps)

    for_each_chunk(len(targets), solve)
    return angles


def _solve_frame(plan: PlanarPlan, targets: Targets, roots: Floats, angles: list[float], sweeps: int) -> Floats:
    """Solve one frame: its angles (1, D) rad, those not determined as in `angles`."""
    positions, weights = targets.positions[0].tolist(), targets.weights[0].tolist()
    root = roots[0, :3].T.tolist()
    for marked in plan.digits:
        visible = visible_in_frame(marked, positions, weights, root)
        if not visible.indices:
            continue
        for dof, angle in zip(marked.dofs, solve_digit(SCALAR, marked, visible, sweeps), strict=True):
            if math.isfinite(angle):
                angles[dof] = angle
    return np.array([angles])


def _solve_chunk(plan: PlanarPlan, targets: Targets, roots: Floats, angles: Floats, sweeps: int) -> None:
    """Write the solved angles of a chunk into `angles` (F, D)."""
    root = np.ascontiguousarray(np.transpose(roots[:, :3], (2, 1, 0)))
    all_visible = bool(np.all(targets.weights > 0))
    frames = np.arange(len(targets))
    digits, rows_of = [], []
    for marked in plan.digits:
        for rows, end in group_by_end(targets.weights[:, marked.columns], all_visible):
            chunk_root = root if len(roots) == 1 else root[..., rows]
            visible = visible_in_frames(targets, marked, end, rows, chunk_root)
            digits.append(find_plane(ARRAY, marked, visible))
            rows_of.append(rows)
    results = bend_digits([digit.end.bend for digit in digits], [digit.bend_goal for digit in digits])
    missed = []
    for digit, rows, bend in zip(digits, rows_of, results, strict=True):
        solved, off = digit_angles(ARRAY, digit, bend, bend_from_targets)
        for dof, values in zip(digit.marked.dofs, solved, strict=True):
            angles[rows, dof] = values
        if off.any():
            x, y, z = digit.goal
            missed.append(MissedGoals(digit.end.dofs, frames[rows][off], (x[off], y[off], z[off])))
    descend(missed, angles, sweeps)
