"""Dragging a point of a hand to a goal, while other fingertips stay at their pins.

A fingertip or a joint of a digit moves its digit and no other. The knuckles are fixed in the palm, so a dragged knuckle
rotates the hand about its wrist. The wrist moves the whole hand without rotating it. Pins weigh so much more than the
goal that the dragged point stops where they would break.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, KNUCKLES
from ...hand.kinematics import Pose, joint_position
from ...hand.model import HandModel
from ...solvers.pose_problem import Objective, PoseProblem, Solution, angles_of, half_closed, solve
from .drag_pins import PIN_MET
from .drag_step import DragSolver, DragStep
from .hook import unhooked

Floats = NDArray[np.float64]

REACH_FRACTION = 0.9999
"""Fraction of a digit's reach beyond which goals are brought nearer. Towards farther goals, a digit would bend a lot to
gain very little."""
AT_GOAL_TOLERANCE = 1e-9
"""m on a hand of the usual length: a point within this distance of its goal has not been dragged."""
SAME_ANGLE_TOLERANCE = 1e-3
"""rad, maximum difference of angles between two searches that agree."""
ALTERNATIVE_COST_RATIO = 0.8
"""Ratio of an alternative's cost to the current one, below which the alternative is taken."""
MIN_START_FLEXION = np.deg2rad(6.0)
"""rad, minimum flexion of middle and last joints at the start of a search, so that a straight digit bends towards the
palm."""
UNPINNED_GOAL_WEIGHT = 10.0
"""Weight of a goal without pins, so high that preferences keep the point only some micrometres away from it."""
MISSED_DISTANCE = 1.2e-4
"""m on a hand of the usual length: a goal missed by more than this loses weight with its distance."""
ARC_DISTANCE = 0.005
"""m on a hand of the usual length: a fingertip farther than this from the mouse moves along its arc."""
DEGREES_PER_MM, DEGREES_PER_STEP = 8.0, 2.0
"""Degrees by which an angle may change for each millimetre that the goal moves, on a hand of the usual length, and in
addition in each step."""
MIN_PROGRESS = 0.5
"""Fraction of the rate limit by which a limited pose must come nearer to the unlimited one."""
OVERSHOOT = 1.3
"""Maximum distance of a limited pose from the last one, as a multiple of the rate limit."""

WRIST = "wrist"
DRAGGABLE: tuple[str, ...] = (WRIST, *KNUCKLES, *(joint for joints in CHAIN_JOINTS.values() for joint in joints[1:]))
"""The joints that can be dragged."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The pose nearest to the start of the drag, independent of the goal's path.

    A search from the last pose finds the local minimum next to it. If a goal is out of reach, the digit changes to
    other minima, and a search from there may stay in one after the goal has returned. From then on, other searches
    start from the first pose and from half closed digits, until all agree, and the cheapest result is taken. With pins,
    these searches end at the first step that raises the cost, because they start far away. A digit changes to another
    minimum at a limited rate, while its point stays at the goal.
    """

    def step(self, problem: PoseProblem, last: DragStep | None = None) -> DragStep:
        """See DragSolver."""
        objectives, single = problem.objectives, len(problem.objectives) == 1
        problem = (
            _weighted(problem, max(UNPINNED_GOAL_WEIGHT, float(np.max(objectives[0].weight)))) if single else problem
        )
        found, strayed = (_search if single else _search_with_pins)(problem, last)
        pose = _curled(problem, found, last) if single and objectives[0].along is not None else found
        before = _rate_limit_start(problem, last, hooked=pose is not found)
        if before is not None:
            moved = float(np.linalg.norm(objectives[0].position - before[1]))
            limit = np.deg2rad(DEGREES_PER_STEP + 1000 * DEGREES_PER_MM * moved / problem.scale)
            limited = _rate_limited(problem, before[0], pose, limit, correct=pose is found)
            pose, strayed = limited, strayed or limited is not pose
        sites = _site_positions(problem, pose)
        targets = {
            objective.site: _goal_at_depth(objective, sites[ends[0][0]])
            for objective, ends in zip(objectives, problem.rows, strict=True)
            if objective.relative is None
        }
        return DragStep(pose, objectives, targets, strayed)


@dataclass(frozen=True, slots=True, eq=False)
class Drag:
    """A point of a hand that is being dragged."""

    start: Pose
    """One frame: the hand before the drag."""
    joint: str
    """One of DRAGGABLE."""
    position: Floats
    """(3,) m in the world, where the point was at the start."""
    problem: PoseProblem
    """Its first objective is that of the point, the others are those of the pins."""
    digits: tuple[str, ...]
    """The digits that bend."""
    coupled: bool
    """Whether a finger's last joint follows its middle one."""
    solver: DragSolver
    base: Floats
    """(3,) m in the world, the first joint of the point's chain, which does not move."""
    reach: float
    """m, maximum distance of the point from `base`."""
    any_depth: bool
    """Whether goals may be at any depth."""

    @property
    def hand(self) -> HandModel:
        """The model of the hand."""
        return self.start.hand

    @property
    def pins(self) -> tuple[Objective, ...]:
        """The pins' objectives."""
        return self.problem.objectives[1:]

    @property
    def joints(self) -> frozenset[int] | None:
        """The joints that rotate; None where the whole hand moves."""
        if self.joint == WRIST or self.joint in KNUCKLES:
            return None
        return frozenset(JOINT_INDEX[joint] for digit in self.digits for joint in CHAIN_JOINTS[digit][:-1])

    def step(self, goal: Floats, last: DragStep | None = None, along: Floats | None = None) -> DragStep:
        """Return the pose of one frame with the point at its goal, or towards it.

        Args:
            goal: (3,) m in the world.
            last: the step before.
            along: (3,) unit direction along which the goal may be anywhere, such as the view direction; None for a
                fixed goal. Only points of fingers dragged by Nearest use it.

        Raises HandError for a hand that the solver does not support.
        """
        along = along if self.any_depth else None
        objective = Objective(self.problem.objectives[0].site, self._within_reach(goal, along), along=along)
        return self.solver.step(replace(self.problem, objectives=(objective, *self.pins)), last)

    def hold_pins(self, root: Floats, last: DragStep) -> DragStep:
        """Return the pose with the wrist at a given root (4, 4), and the pinned fingertips at their pins."""
        start, pins = Pose(self.hand, root[None], self.start.angles), self.pins
        if not pins:
            return replace(last, pose=start)
        problem = PoseProblem.of(start, angles_of(self.hand, self.digits), pins, coupled=self.coupled)
        pose = Pose(self.hand, root[None], last.pose.angles)
        return self.solver.step(problem, replace(last, pose=pose, objectives=()))

    def reached(self, step: DragStep, goal: Floats, along: Floats) -> Floats:
        """Return the goal (3,) m in the world of a step with any depth, at the depth of the dragged point.

        If the point missed the goal, return the point itself.
        """
        if not self.any_depth:
            return goal
        point = joint_position(step.pose, self.joint)[0]
        at_depth: Floats = goal + ((point - goal) @ along) * along
        return at_depth if float(np.linalg.norm(at_depth - point)) <= MISSED_DISTANCE * self.problem.scale else point

    def tip_targets(self, step: DragStep) -> dict[str, Floats]:
        """Return digit -> (3,) m in the world, the target that the solver was given for its tip."""
        named = {self.start.hand.sites[site].name: target for site, target in step.targets.items()}
        return {digit: named[joints[-1]] for digit, joints in CHAIN_JOINTS.items() if joints[-1] in named}

    def _within_reach(self, goal: Floats, along: Floats | None) -> Floats:
        """Return the goal, moved to within the point's reach; for a knuckle, onto the sphere on which it moves."""
        offset = goal - self.base
        if along is not None:
            offset = offset - (offset @ along) * along
            length = float(np.linalg.norm(offset))
            return (
                goal
                if length <= REACH_FRACTION * self.reach
                else self.base + offset * (REACH_FRACTION * self.reach / length)
            )
        length = float(np.linalg.norm(offset))
        if self.joint == WRIST or (self.joint not in KNUCKLES and length <= REACH_FRACTION * self.reach):
            return goal
        if length <= PIN_MET * self.reach:
            return self.position
        limited: Floats = self.base + offset * (
            (1.0 if self.joint in KNUCKLES else REACH_FRACTION) * self.reach / length
        )
        return limited


def _search(problem: PoseProblem, last: DragStep | None) -> tuple[Pose, bool]:
    """Return the pose with the point at its goal, and whether the next step needs the other searches, too."""
    start = problem.start
    if _goal_distance(problem, start) <= AT_GOAL_TOLERANCE * problem.scale:
        return start, False
    found = solve(problem, _with_min_flexion(problem, last.pose if last else start))
    strayed = bool(found.strayed[0])
    if strayed or (last is not None and last.state):
        angles = np.concatenate([start.angles, half_closed(problem)])
        two_starts = problem.select(np.zeros(2, np.int64))
        alternatives = solve(two_starts, Pose(start.hand, two_starts.start.root, angles))
        strayed = strayed or bool(
            np.abs(alternatives.pose.angles[0] - found.pose.angles[0]).max() > SAME_ANGLE_TOLERANCE
        )
        found = _cheapest(found, alternatives)
    missed, tolerance = _goal_distance(problem, found.pose), MISSED_DISTANCE * problem.scale
    if missed > tolerance:
        # A digit must not lean far to come only a little nearer to a goal out of reach.
        weight = problem.objectives[0].weight * np.sqrt(tolerance / missed)
        found = solve(_weighted(problem, weight), found.pose)
    return found.pose, strayed


def _weighted(problem: PoseProblem, weight: float) -> PoseProblem:
    """Return the problem of a single objective with another weight for it."""
    return replace(problem, objectives=(replace(problem.objectives[0], weight=weight),))


def _search_with_pins(problem: PoseProblem, last: DragStep | None) -> tuple[Pose, bool]:
    """Search for the pose with fingertips at their pins."""
    found = solve(problem, last.pose if last else None)
    strayed = last is not None and bool(last.state)
    if strayed:
        alternative = solve(problem, patient=False)
        strayed = bool(np.abs(alternative.pose.angles - found.pose.angles).max() > SAME_ANGLE_TOLERANCE)
        found = alternative if alternative.cost[0] < found.cost[0] else found
    return found.pose, strayed or bool(found.strayed[0])


def _cheapest(found: Solution, alternatives: Solution) -> Solution:
    """Return the solution of one frame, or an alternative that is far cheaper."""
    best = int(np.argmin(alternatives.cost))
    if alternatives.cost[best] >= ALTERNATIVE_COST_RATIO * found.cost[0]:
        return found
    pose = Pose(alternatives.pose.hand, alternatives.pose.root[[best]], alternatives.pose.angles[[best]])
    return Solution(pose, alternatives.cost[[best]], alternatives.strayed[[best]])


def _with_min_flexion(problem: PoseProblem, pose: Pose) -> Pose:
    """Return the pose with its middle and last joints bent by MIN_START_FLEXION at least, within their limits."""
    minimum = np.minimum(MIN_START_FLEXION, pose.hand.limits[:, 1])
    bends = problem.bending & (pose.angles < minimum)
    return Pose(pose.hand, pose.root, np.where(bends, minimum, pose.angles)) if bends.any() else pose


def _curled(problem: PoseProblem, pose: Pose, last: DragStep | None) -> Pose:
    """Return a pose in which the dragged finger does not hook; the same object if it already does not."""
    arc = unhooked(problem, pose)
    if arc is None:
        return pose
    on_arc, limits = arc
    angles, dofs = np.concatenate([on_arc.angles, (last.pose if last else on_arc).angles]), problem.free - ROOT_DOFS
    angles[1, dofs] = np.clip(angles[1, dofs], *limits)
    two_starts = replace(problem.select(np.zeros(2, np.int64)), limits=limits)
    found = solve(two_starts, Pose(pose.hand, two_starts.start.root, angles))
    least_bent = Pose(pose.hand, pose.root, found.pose.angles[[int(np.argmin(found.cost))]])
    fraction = min(_goal_distance(problem, least_bent) / (ARC_DISTANCE * problem.scale), 1.0)
    return Pose(pose.hand, pose.root, least_bent.angles + fraction * (on_arc.angles - least_bent.angles))


def _rate_limit_start(problem: PoseProblem, last: DragStep | None, *, hooked: bool) -> tuple[Pose, Floats] | None:
    """Return the pose and goal (3,) m from which angles change at a limited rate; None if the rate is not limited."""
    if len(problem.objectives) > 1:
        return None
    if last is None:
        return (problem.start, _site_positions(problem, problem.start)[0]) if hooked else None
    return (last.pose, last.objectives[0].position) if len(last.objectives) == 1 else None


def _goal_distance(problem: PoseProblem, pose: Pose) -> float:
    """Return the distance (m) of the dragged point from its goal."""
    objective, point = problem.objectives[0], _site_positions(problem, pose)[0]
    return float(np.linalg.norm(point - _goal_at_depth(objective, point)))


def _goal_at_depth(objective: Objective, point: Floats) -> Floats:
    """Return an objective's goal (3,) m in the world; if it has any depth, at the depth of a point."""
    if objective.along is None:
        return objective.position
    goal: Floats = objective.position + ((point - objective.position) @ objective.along) * objective.along
    return goal


def _site_positions(problem: PoseProblem, pose: Pose) -> Floats:
    """Return the positions (S, 3) m in the world of the objectives' sites."""
    root = pose.root[0]
    sites: Floats = problem.chains.at(pose.angles).positions[0] @ root[:3, :3].T + root[:3, 3]
    return sites


def _rate_limited(problem: PoseProblem, last: Pose, pose: Pose, limit: float, *, correct: bool) -> Pose:
    """Return a pose between the last one and a new one in which no angle has changed by more than about `limit` rad.

    correct: whether to bring the point back to its goal.
    """
    change = pose.angles - last.angles
    largest = float(np.abs(change).max())
    if largest <= limit:
        return pose
    between = Pose(pose.hand, pose.root, last.angles + change * (limit / largest))
    if not correct:
        return between
    # Bring the point back to its goal from there, unless that leads back to the last pose.
    corrected = solve(replace(problem, start=between)).pose
    from_last, from_pose = (np.abs(corrected.angles - other.angles).max() for other in (last, pose))
    return corrected if from_last <= OVERSHOOT * limit and from_pose <= largest - MIN_PROGRESS * limit else between
