"""The driver of the planar solvers (FABRIK-CGA 3.4): the palm from its markers, a plane for each digit, bends in it."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.scalar_math import ARRAY, SCALAR
from ...hand.targets import Targets
from ..chunks import in_chunks
from ..solver import State, hold_last_columns
from .digit_steps import DigitMarkers, solve_digit
from .planar_plan import MarkedDigit, PlanarPlan, PlanarState, Steps, make_plan

Floats = NDArray[np.float64]

Rows = NDArray[np.intp] | slice


def solve_hand(
    hand: HandModel, targets: Targets, state: State | None, steps: Steps, sweeps: int
) -> tuple[Pose, PlanarState]:
    """Solve every frame with these steps. See Solver.

    Args:
        hand: five flexing digits on a rigid palm.
        targets: F frames.
        state: what the previous piece returned; None at the start of a take.
        steps: the steps of the solver.
        sweeps: most sweeps of cyclic coordinate descent if limits keep a digit from its goal.

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
    if len(targets) == 1:
        angles = _solve_one(plan, targets, roots, state.angles.tolist(), sweeps)
    else:
        solved = solve_angles(plan, targets, roots, sweeps)
        angles = hold_last_columns(solved, np.isfinite(solved), state.angles)
        roots = np.broadcast_to(roots, (len(targets), 4, 4))
    root, last = (roots[-1], angles[-1]) if len(targets) else (state.root, state.angles)
    return Pose(hand, roots, angles), PlanarState(root, last, plan)


def solve_angles(plan: PlanarPlan, targets: Targets, roots: Floats, sweeps: int) -> Floats:
    """Solve the angles (F, D) rad, NaN where no target determines them; roots (F, 4, 4) or (1, 4, 4)."""
    if len(targets) == 1:
        return _solve_one(plan, targets, roots, [math.nan] * plan.hand.dofs, sweeps)
    # Column-major, because each angle is written and read over all frames.
    angles = np.full((plan.hand.dofs, len(targets)), np.nan).T

    def solve(chunk: slice) -> None:
        _solve_chunk(plan, targets.select(chunk), roots[chunk] if len(roots) > 1 else roots, angles[chunk], sweeps)

    in_chunks(len(targets), solve)
    return angles


def _solve_one(plan: PlanarPlan, targets: Targets, roots: Floats, angles: list[float], sweeps: int) -> Floats:
    """Solve one frame: its angles (1, D) rad, those not determined as in `angles`."""
    positions, weights = targets.positions[0].tolist(), targets.weights[0].tolist()
    root = roots[0, :3].T.tolist()
    for marked in plan.digits:
        indices, points, marker_weights = [], [], []
        for index, column in enumerate(marked.columns):
            if weights[column] > 0:
                indices.append(index)
                points.append(to_base_frame(root, marked, positions[column]))
                marker_weights.append(weights[column])
        if not indices:
            continue
        solved = solve_digit(SCALAR, marked, DigitMarkers(indices, points, marker_weights), sweeps)
        for dof, angle in zip(marked.dofs, solved, strict=True):
            if math.isfinite(angle):
                angles[dof] = angle
    return np.array([angles])


def _solve_chunk(plan: PlanarPlan, targets: Targets, roots: Floats, angles: Floats, sweeps: int) -> None:
    """Write the solved angles of a chunk into `angles` (F, D)."""
    root = np.ascontiguousarray(np.transpose(roots[:, :3], (2, 1, 0)))
    all_visible = bool(np.all(targets.weights > 0))
    for marked in plan.digits:
        for rows, end in _group_by_end(targets.weights[:, marked.columns], all_visible):
            chunk_root = root if len(roots) == 1 else root[..., rows]
            visible = _visible_markers(targets, marked, end, rows, chunk_root)
            solved = solve_digit(ARRAY, marked, visible, sweeps)
            for dof, values in zip(marked.dofs, solved, strict=True):
                angles[rows, dof] = values


def _group_by_end(weights: Floats, all_visible: bool) -> Iterator[tuple[Rows, int]]:
    """Group the frames by their outermost visible marker, the first of weights (F, S) above zero: rows, marker."""
    if all_visible and weights.shape[1]:
        yield slice(None), 0
        return
    visible = weights > 0
    for end in range(weights.shape[1]):
        rows = np.flatnonzero(visible[:, end] & ~visible[:, :end].any(axis=1))
        if len(rows):
            yield rows, end


def _visible_markers(targets: Targets, marked: MarkedDigit, end: int, rows: Rows, root: Floats) -> DigitMarkers[Floats]:
    """Return a digit's markers from its end inwards in these frames; those not seen are zero."""
    points, weights = [], []
    for column in marked.columns[end:]:
        weight = targets.weights[rows, column]
        position = targets.positions[rows, column].T
        points.append(to_base_frame(root, marked, np.where(weight > 0, position, 0.0)))
        weights.append(weight)
    return DigitMarkers(list(range(end, len(marked.columns))), points, weights)


def to_base_frame(root: Any, marked: MarkedDigit, point: Any) -> Any:
    """Transform a point from the world to the frame of a digit's base, mirrored in X for a left hand.

    root: the first three rows of T_world_wrist, transposed: (4, 3), or (4, 3, N).
    """
    (ax, ay, az), (bx, by, bz), (cx, cy, cz), (tx, ty, tz) = root
    ox, oy, oz = marked.origin
    x, y, z = point
    x, y, z = x - tx, y - ty, z - tz
    x, y, z = ax * x + ay * y + az * z - ox, bx * x + by * y + bz * z - oy, cx * x + cy * y + cz * z - oz
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = marked.base_rows
    return ax * x + ay * y + az * z, bx * x + by * y + bz * z, cx * x + cy * y + cz * z
