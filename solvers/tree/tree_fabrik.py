"""FABRIK for any tree of joints: several ends, goals at inner joints, orientations, closed loops, a free root, limits.

FABRIK (Aristidou & Lasenby 2011) and FABRIK-CGA 3.3. A row (one frame) is iterated inwards and outwards
(fabrik_passes.py) until it is near enough or stalls, then refined over all joints at once (newton_finish.py). Rows that
are still off are refined again from other start poses, a slightly bent one first, as the iteration stalls at a straight
chain within limits. The best pose is taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import settings as kinds
from ..settings import setting
from ..solver import hold_last
from . import swing_twist_limits
from .fabrik_passes import inwards, outwards
from .goal_points import sites_of
from .goals import Goals, TreePose, TreeState, check
from .newton_finish import finish
from .skeleton import Skeleton, frames
from .start_poses import beginning, least_miss, out_of_reach
from .tree_kinematics import TreeFrames, TreeProblems, measure
from .tree_plan import TreePlan, make

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Bools = NDArray[np.bool_]

STALLS = 3
"""Consecutive passes with too little gain after which the passes end."""


@dataclass(frozen=True, slots=True)
class TreeFabrikSettings:
    """Tolerances and iteration counts. Lengths are relative to the skeleton's reach.

    Raises RecipeError for a setting of the wrong type or out of range, such as NaN.
    """

    tolerance: float = setting(1e-6, "How near to its goals a row is done")
    near: float = setting(0.05, "From nearer than this no passes are made: the finish gains more")
    stall: float = setting(0.1, "The part of its miss that a pass must gain", most=1.0)
    passes: int = setting(12, "Most passes", most=10_000)
    steps: int = setting(40, "Most steps of the finish from one beginning", most=10_000)
    beginnings: int = setting(8, "Poses from which a row that is still off begins again", most=10_000)
    worth: float = setting(1e-4, "How much nearer another beginning must end to be taken where it does not arrive")
    follow: bool = setting(True, "Whether a frame begins at the pose of the one before, not all at rest and at once")

    def __post_init__(self) -> None:
        kinds.check(self, "tree settings")


def solve(
    skeleton: Skeleton, goals: Goals, state: TreeState | None = None, settings: TreeFabrikSettings | None = None
) -> tuple[TreePose, TreeState]:
    """Solve each frame; returns the poses, and the state to pass on for the next piece of the same motion.

    Solving in pieces gives the same poses as solving at once. Joints that no goal affects keep their last angles.
    state: None for the rest pose, or the nearest to it within limits. Raises SkeletonError for goals that contradict
    the skeleton or are not finite.
    """
    check(skeleton, goals)
    settings = settings or TreeFabrikSettings()
    rest = at_rest(skeleton)
    last = state or rest
    sites = sites_of(skeleton, goals)
    plans: dict[bytes, TreePlan] = {}
    turns = np.full((len(goals), len(skeleton.joints), 3), np.nan)
    shift = np.full((len(goals), 3), np.nan)
    for rows, asked in _batches(sites.weights > 0, settings.follow):
        key = asked.tobytes()
        if key not in plans:
            plans[key] = make(skeleton, sites, asked)
        plan = plans[key]
        if len(plan.joints):
            begin = _begin(skeleton, plan, len(rows), last if settings.follow else rest)
            chosen = np.ix_(rows, np.flatnonzero(asked))
            solved = _solve_rows(plan, TreeProblems(*begin, sites.goals[chosen], sites.weights[chosen]), settings)
            turns[np.ix_(rows, plan.joints)] = solved.turns
            shift[rows] = (solved.origin - skeleton.rest[0, :3, 3]) * skeleton.root_free
        if settings.follow:
            turns[rows], shift[rows] = _held(turns[rows], shift[rows], last)
            last = TreeState(turns[rows[-1]], shift[rows[-1]])
    turns, shift = _held(turns, shift, last)
    return _posed(skeleton, goals.root, turns, shift), TreeState(turns[-1], shift[-1]) if len(goals) else last


def solve_from(skeleton: Skeleton, goals: Goals, turns: Floats, settings: TreeFabrikSettings | None = None) -> TreePose:
    """Refine each frame from its own start angles (F, J, 3) to the nearest local optimum, without FABRIK passes.

    For start poses that are known to be good. A free root starts at rest. Raises SkeletonError as `solve` does.
    """
    check(skeleton, goals)
    settings = settings or TreeFabrikSettings()
    sites = sites_of(skeleton, goals)
    turns, shift = swing_twist_limits.clamp(skeleton.cone, skeleton.twist, turns), np.zeros((len(goals), 3))
    origin = skeleton.rest[0, :3, 3]
    for rows, asked in _batches(sites.weights > 0, False):
        plan = make(skeleton, sites, asked)
        chosen, moved = np.ix_(rows, np.flatnonzero(asked)), np.ix_(rows, plan.joints)
        begin = TreeProblems(np.tile(origin, (len(rows), 1)), turns[moved], sites.goals[chosen], sites.weights[chosen])
        done = finish(plan, begin, settings.tolerance * plan.reach, settings.steps) if len(plan.joints) else begin
        turns[moved], shift[rows] = done.turns, (done.origin - origin) * skeleton.root_free
    return _posed(skeleton, goals.root, turns, shift)


def at_rest(skeleton: Skeleton) -> TreeState:
    """The state before the first frame: all joints at rest, or at the nearest angles within limits."""
    zero = np.zeros((len(skeleton.joints), 3))
    return TreeState(swing_twist_limits.clamp(skeleton.cone, skeleton.twist, zero), np.zeros(3))


def _batches(asked: Bools, follow: bool) -> Iterator[tuple[Rows, Bools]]:
    """Rows that are solved together, and which sites (S,) have goals in them: single frames, or all frames alike."""
    if follow:
        yield from ((np.array([row]), asked[row]) for row in range(len(asked)))
        return
    kinds, which = np.unique(asked, axis=0, return_inverse=True)
    yield from ((np.flatnonzero(which.ravel() == k), kind) for k, kind in enumerate(kinds))


def _held(turns: Floats, shift: Floats, last: TreeState) -> tuple[Floats, Floats]:
    """Angles (F, J, 3) and shifts (F, 3) with NaN replaced by the last value before."""
    joints = [
        hold_last(turns[:, j], np.isfinite(turns[:, j, 0]), last.turns[j])[:, None] for j in range(turns.shape[1])
    ]
    return np.concatenate(joints, 1), hold_last(shift, np.isfinite(shift[:, 0]), last.shift)


def _begin(skeleton: Skeleton, plan: TreePlan, rows: int, state: TreeState) -> tuple[Floats, Floats]:
    """Root positions (R, 3) and angles (R, N, 3) of rows that all start at this state."""
    origin = skeleton.rest[0, :3, 3] + state.shift * skeleton.root_free
    return np.tile(origin, (rows, 1)), np.tile(state.turns[plan.joints], (rows, 1, 1))


def _posed(skeleton: Skeleton, root: Floats, turns: Floats, shift: Floats) -> TreePose:
    moved = root.copy()
    moved[:, :3, 3] += np.einsum("fij,fj->fi", root[:, :3, :3], shift)
    rotations = skeleton.rotations(turns)
    return TreePose(moved, turns, rotations, frames(skeleton, moved, rotations)[..., :3, 3])


def _solve_rows(plan: TreePlan, rows: TreeProblems, settings: TreeFabrikSettings) -> TreeProblems:
    """The rows at their best poses. No row's result depends on the others."""
    tolerance, worth = settings.tolerance * plan.reach, settings.worth * plan.reach
    straight, settled = out_of_reach(plan, rows)
    best = replace(rows, turns=straight)
    _, farthest, _ = measure(plan, rows)
    distant = np.flatnonzero(~settled & (farthest > settings.near * plan.reach))
    best = best.put(distant, _passes(plan, rows.select(distant), settings))
    search = np.flatnonzero(~settled)
    best = best.put(search, finish(plan, best.select(search), tolerance, settings.steps))
    least = least_miss(plan, rows)
    for number in range(settings.beginnings):
        left, farthest, _ = measure(plan, best)
        again = np.flatnonzero(~settled & (farthest > tolerance) & (left > least + worth))
        if not len(again):
            break
        # No passes: within limits they lead from many start poses to the same dead end.
        begin = rows.select(again)
        begin = replace(begin, turns=beginning(plan, begin.turns, number))
        tried = finish(plan, begin, tolerance, settings.steps)
        new_left, new_farthest, _ = measure(plan, tried)
        better = np.flatnonzero((new_farthest <= tolerance) | (new_left < left[again] - worth))
        best = best.put(again[better], tried.select(better))
    return best


def _passes(plan: TreePlan, rows: TreeProblems, settings: TreeFabrikSettings) -> TreeProblems:
    """The best poses found by FABRIK passes from the rows' poses.

    Rows that are near enough, and rows whose passes stall, stop; the others go on.
    """
    tolerance = settings.tolerance * plan.reach
    best, now, going = rows, rows, np.arange(len(rows.turns))
    least = np.full(len(going), np.inf)
    stalls = np.zeros(len(going), int)
    for number in range(settings.passes + 1):
        left, farthest, placed = measure(plan, now)
        better = np.flatnonzero(left < least[going])
        best = best.put(going[better], now.select(better))
        gained = left < (1 - settings.stall) * least[going]
        stalls[going] = np.where(gained, 0, stalls[going] + 1)
        least[going[better]] = left[better]
        on = np.flatnonzero((farthest > tolerance) & (stalls[going] < STALLS))
        going = going[on]
        if number == settings.passes or not len(going):
            break
        now = _pass(plan, now.select(on), placed.select(on))
    return best


def _pass(plan: TreePlan, rows: TreeProblems, placed: TreeFrames) -> TreeProblems:
    wanted, pull = inwards(plan, placed, rows)
    moved = replace(rows, origin=wanted[:, 0]) if plan.root_free else rows
    return replace(moved, turns=outwards(plan, placed, moved, wanted, pull))
