"""Solves any tree of joints: several ends, goals at inner joints, orientations, closed loops, a free root, limits.

FABRIK (Aristidou & Lasenby 2011) and FABRIK-CGA 3.3, or another method to compare with. A row (one frame) is iterated
(fabrik_passes.py, ccd_sweep.py, velocity_step.py) until it is near enough or stalls, then refined over all joints at
once (newton_finish.py). Rows that are still off are refined again from other start poses, a slightly bent one first, as
the iteration stalls at a straight chain within limits. The best pose is taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..dynamical.limb_step import StepLimit
from ..settings import check as check_settings
from ..settings import setting
from ..solver import hold_last
from . import swing_twist_limits
from .ccd_sweep import ccd_sweep
from .fabrik_passes import inward_pass, outward_pass
from .goal_points import goal_points
from .goals import Goals, TreePose, TreeState, check
from .newton_finish import refine
from .start_poses import error_bound, solve_out_of_reach, start_pose
from .tree_kinematics import TreeFrames, TreeProblems, measure
from .tree_plan import TreePlan, make_plan
from .tree_skeleton import Skeleton, frames
from .velocity_step import damped_step, dynamical_step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.intp]
Bools = NDArray[np.bool_]

MAX_STALLED_PASSES = 3
"""Number of consecutive stalled passes after which the passes end; a step of dynamical counts as its gain."""


METHODS = {
    "fabrik": "Passes inwards and outwards",
    "ccd": "Sweeps of cyclic coordinate descent: one joint after another, the outermost first",
    "jacobian": "Steps of damped least squares over all angles",
    "dynamical": "Steps of dynamical inverse kinematics, which slow down towards limits",
}


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """Method, tolerances and iteration counts. Lengths are relative to the skeleton's reach.

    Raises RecipeError for a setting of the wrong type or out of range, such as NaN.
    """

    tolerance: float = setting(1e-6, "Largest error of a solved row")
    near: float = setting(0.05, "Errors below this skip the iterations: the refinement gains more")
    stall: float = setting(
        0.1, "Fraction of the error that an iteration must remove; of dynamical, fraction of its gain", maximum=1.0
    )
    method: str = setting("fabrik", "Method of an iteration", choices=METHODS)
    passes: int = setting(12, "Maximum iterations: passes, sweeps or steps", maximum=10_000)
    steps: int = setting(40, "Maximum refinement steps from one start pose", maximum=10_000)
    restarts: int = setting(8, "Start poses tried for a row that is still off", maximum=10_000)
    restart_gain: float = setting(1e-4, "Minimum improvement by a restart to be accepted")
    intersect_spheres: bool = setting(True, "Whether a joint between two known positions is where their spheres meet")
    damping: float = setting(0.01, "Damping λ of the steps of jacobian", minimum=1e-6, maximum=10.0)
    gain: float = setting(
        0.5,
        "Fraction of the errors that a step of dynamical removes; smaller ones take more passes",
        minimum=1e-3,
        maximum=1.0,
    )
    max_step: float = setting(0.5, "Largest change of an angle in a step of dynamical", minimum=1e-3, unit="rad")
    slope: float = setting(
        20.0, "Steepness with which dynamical slows down towards limits, per radian", minimum=0.1, maximum=1000
    )
    follow: bool = setting(True, "Whether a frame starts from the pose before it; else all start at rest")

    def __post_init__(self) -> None:
        check_settings(self, "tree settings")


def solve(
    skeleton: Skeleton, goals: Goals, state: TreeState | None = None, settings: TreeSettings | None = None
) -> tuple[TreePose, TreeState]:
    """Solve each frame; returns the poses, and the state to pass on for the next piece of the same motion.

    Solving in pieces gives the same poses as solving at once. Joints that no goal affects keep their last angles.
    state: None for the rest pose, or the nearest to it within limits. Raises SkeletonError for goals that contradict
    the skeleton or are not finite.
    """
    check(skeleton, goals)
    settings = settings or TreeSettings()
    rest_state = at_rest(skeleton)
    last = state or rest_state
    sites = goal_points(skeleton, goals)
    plans: dict[bytes, TreePlan] = {}
    angles = np.full((len(goals), len(skeleton.joints), 3), np.nan)
    shift, iterations = np.full((len(goals), 3), np.nan), np.zeros(len(goals), int)
    for rows, has_goal in _batches(sites.weights > 0, settings.follow):
        key = has_goal.tobytes()
        if key not in plans:
            plans[key] = make_plan(skeleton, sites, has_goal)
        plan = plans[key]
        if len(plan.joints):
            start = _start(skeleton, plan, len(rows), last if settings.follow else rest_state)
            goal_indices = np.ix_(rows, np.flatnonzero(has_goal))
            solved, iterations[rows] = _solve_rows(
                plan, TreeProblems(*start, sites.goals[goal_indices], sites.weights[goal_indices]), settings
            )
            angles[np.ix_(rows, plan.joints)] = solved.angles
            shift[rows] = (solved.root_position - skeleton.rest[0, :3, 3]) * skeleton.root_free
        if settings.follow:
            angles[rows], shift[rows] = _hold_last(angles[rows], shift[rows], last)
            last = TreeState(angles[rows[-1]], shift[rows[-1]])
    angles, shift = _hold_last(angles, shift, last)
    pose = replace(_pose(skeleton, goals.root, angles, shift), iterations=iterations)
    return pose, TreeState(angles[-1], shift[-1]) if len(goals) else last


def solve_from(skeleton: Skeleton, goals: Goals, angles: Floats, settings: TreeSettings | None = None) -> TreePose:
    """Refine each frame from its own start angles (F, J, 3) rad to the nearest local optimum, by Newton steps only.

    Use it with good start poses. A free root starts at rest. Raises SkeletonError as `solve` does.
    """
    check(skeleton, goals)
    settings = settings or TreeSettings()
    sites = goal_points(skeleton, goals)
    angles, shift = swing_twist_limits.clamp(skeleton.cone, skeleton.twist, angles), np.zeros((len(goals), 3))
    origin = skeleton.rest[0, :3, 3]
    for rows, has_goal in _batches(sites.weights > 0, False):
        plan = make_plan(skeleton, sites, has_goal)
        goal_indices, moved_joints = np.ix_(rows, np.flatnonzero(has_goal)), np.ix_(rows, plan.joints)
        start = TreeProblems(
            np.tile(origin, (len(rows), 1)),
            angles[moved_joints],
            sites.goals[goal_indices],
            sites.weights[goal_indices],
        )
        refined = refine(plan, start, settings.tolerance * plan.reach, settings.steps) if len(plan.joints) else start
        angles[moved_joints], shift[rows] = refined.angles, (refined.root_position - origin) * skeleton.root_free
    return _pose(skeleton, goals.root, angles, shift)


def at_rest(skeleton: Skeleton) -> TreeState:
    """Return the state before the first frame: all joints at rest, or at the nearest angles within limits."""
    zero = np.zeros((len(skeleton.joints), 3))
    return TreeState(swing_twist_limits.clamp(skeleton.cone, skeleton.twist, zero), np.zeros(3))


def _batches(has_goal: Bools, follow: bool) -> Iterator[tuple[Rows, Bools]]:
    """Yield rows that are solved together, and the sites (S,) that have goals in them.

    These are all rows with the same goals, or single rows with `follow`, where each starts from the previous one.
    """
    if follow:
        yield from ((np.array([row]), has_goal[row]) for row in range(len(has_goal)))
        return
    patterns, which = np.unique(has_goal, axis=0, return_inverse=True)
    yield from ((np.flatnonzero(which.ravel() == k), pattern) for k, pattern in enumerate(patterns))


def _hold_last(angles: Floats, shift: Floats, last: TreeState) -> tuple[Floats, Floats]:
    """Return angles (F, J, 3) and shifts (F, 3) with NaN replaced by the last value before."""
    joints = [
        hold_last(angles[:, j], np.isfinite(angles[:, j, 0]), last.angles[j])[:, None] for j in range(angles.shape[1])
    ]
    return np.concatenate(joints, 1), hold_last(shift, np.isfinite(shift[:, 0]), last.shift)


def _start(skeleton: Skeleton, plan: TreePlan, rows: int, state: TreeState) -> tuple[Floats, Floats]:
    """Return the root positions (R, 3) and angles (R, N, 3) of rows that all start at this state."""
    origin = skeleton.rest[0, :3, 3] + state.shift * skeleton.root_free
    return np.tile(origin, (rows, 1)), np.tile(state.angles[plan.joints], (rows, 1, 1))


def _pose(skeleton: Skeleton, root: Floats, angles: Floats, shift: Floats) -> TreePose:
    shifted_root = root.copy()
    shifted_root[:, :3, 3] += np.einsum("fij,fj->fi", root[:, :3, :3], shift)
    rotations = skeleton.rotations(angles)
    return TreePose(shifted_root, angles, rotations, frames(skeleton, shifted_root, rotations)[..., :3, 3])


def _solve_rows(plan: TreePlan, rows: TreeProblems, settings: TreeSettings) -> tuple[TreeProblems, Ints]:
    """Return the rows at their best poses, and the number of iterations of each (R,). Rows are independent."""
    tolerance, restart_gain = settings.tolerance * plan.reach, settings.restart_gain * plan.reach
    closed_form, is_solved = solve_out_of_reach(plan, rows)
    best_rows = replace(rows, angles=closed_form)
    _, largest, _ = measure(plan, rows)
    far_rows = np.flatnonzero(~is_solved & (largest > settings.near * plan.reach))
    iterations = np.zeros(len(is_solved), int)
    iterated_rows, iterations[far_rows] = _iterate(plan, rows.select(far_rows), settings)
    best_rows = best_rows.replace_rows(far_rows, iterated_rows)
    open_rows = np.flatnonzero(~is_solved)
    best_rows = best_rows.replace_rows(open_rows, refine(plan, best_rows.select(open_rows), tolerance, settings.steps))
    bound = error_bound(plan, rows)
    for number in range(settings.restarts):
        error, largest, _ = measure(plan, best_rows)
        restart_rows = np.flatnonzero(~is_solved & (largest > tolerance) & (error > bound + restart_gain))
        if not len(restart_rows):
            break
        # Refine without passes, which lead from many start poses to the same dead end within limits.
        start = rows.select(restart_rows)
        start = replace(start, angles=start_pose(plan, start.angles, number))
        trial = refine(plan, start, tolerance, settings.steps)
        new_error, new_largest, _ = measure(plan, trial)
        improved_rows = np.flatnonzero((new_largest <= tolerance) | (new_error < error[restart_rows] - restart_gain))
        best_rows = best_rows.replace_rows(restart_rows[improved_rows], trial.select(improved_rows))
    return best_rows, iterations


def _iterate(plan: TreePlan, rows: TreeProblems, settings: TreeSettings) -> tuple[TreeProblems, Ints]:
    """Iterate from the rows' poses; return the best poses, and the number of iterations of each row (R,).

    A row stops when it is near enough or stalls.
    """
    tolerance = settings.tolerance * plan.reach
    # A step of dynamical removes only the fraction `gain` of the error, so it counts as that fraction of an iteration.
    step_fraction = settings.gain if settings.method == "dynamical" else 1.0
    best_rows, current, active = rows, rows, np.arange(len(rows.angles))
    lowest = np.full(len(active), np.inf)
    stalls, iterations = np.zeros(len(active)), np.zeros(len(active), int)
    for number in range(settings.passes + 1):
        error, largest, posed = measure(plan, current)
        improved_rows = np.flatnonzero(error < lowest[active])
        best_rows = best_rows.replace_rows(active[improved_rows], current.select(improved_rows))
        improved = error < (1 - step_fraction * settings.stall) * lowest[active]
        stalls[active] = np.where(improved, 0.0, stalls[active] + step_fraction)
        lowest[active[improved_rows]] = error[improved_rows]
        continuing = np.flatnonzero((largest > tolerance) & (stalls[active] < MAX_STALLED_PASSES))
        active = active[continuing]
        if number == settings.passes or not len(active):
            break
        current = _run_iteration(plan, current.select(continuing), posed.select(continuing), settings)
        iterations[active] += 1
    return best_rows, iterations


def _run_iteration(plan: TreePlan, rows: TreeProblems, posed: TreeFrames, settings: TreeSettings) -> TreeProblems:
    """Return the rows after one iteration of the method."""
    if settings.method == "ccd":
        return ccd_sweep(plan, posed, rows)
    if settings.method == "jacobian":
        return damped_step(plan, posed, rows, settings.damping)
    if settings.method == "dynamical":
        return dynamical_step(plan, posed, rows, settings.gain, StepLimit(settings.max_step, settings.slope))
    positions, weights = inward_pass(plan, posed, rows, intersect_spheres=settings.intersect_spheres)
    new_rows = replace(rows, root_position=positions[:, 0]) if plan.root_free else rows
    return replace(new_rows, angles=outward_pass(plan, posed, new_rows, positions, weights))
