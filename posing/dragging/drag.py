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
"""Parts of a digit's reach beyond which goals are brought nearer. The farther a goal, the more a digit would bend to
come only a little nearer to it."""
AT_GOAL_TOLERANCE = 1e-9
"""m on a hand of the usual length: a point so near to its goal has not been dragged."""
SAME_ANGLE_TOLERANCE = 1e-3
"""rad between two searches with the same result."""
ALTERNATIVE_COST_RATIO = 0.8
"""Ratio of costs below which the result of another search is taken."""
MIN_START_FLEXION = np.deg2rad(6.0)
"""rad, the least flexion of middle and last joints where a search starts: a straight digit buckles towards the palm."""
WEIGHT = 10.0
"""Weight of a goal without pins: preferences keep the point off it by some micrometres."""
MISSED = 1.2e-4
"""m on a hand of the usual length: a goal that is missed by more counts less, the farther it is."""
ON_ARC = 0.005
"""m on a hand of the usual length: a fingertip that would be farther from the mouse than this moves along its arc."""
RATE, SLACK = 8.0, 2.0
"""Degrees that an angle may change for each millimetre that the goal moves, on a hand of the usual length, and besides
that in each step."""
CLOSER = 0.5
"""Parts of the rate limit by which a limited pose must come nearer to the unlimited one."""
OVERSHOOT = 1.3
"""Parts of the rate limit that a limited pose may be from the last one."""

WRIST = "wrist"
DRAGGABLE: tuple[str, ...] = (WRIST, *KNUCKLES, *(joint for joints in CHAIN_JOINTS.values() for joint in joints[1:]))
"""The joints that can be dragged."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The pose nearest to the start of the drag, independent of the goal's path.

    A search from the last pose finds the bend next to it. Digits whose goal is out of reach change to other bends, and
    a search from there may stay in one after the goal has returned. So other searches, from the start and from
    half closed digits, are made from then on until both agree, and the cheapest result is taken. With pins they end
    with a step that raises the cost: they start far away. A digit changes to another bend at a limited rate, while
    its point stays at the goal.
    """

    def step(self, problem: PoseProblem, last: DragStep | None = None) -> DragStep:
        """See DragSolver."""
        objectives, single = problem.objectives, len(problem.objectives) == 1
        problem = _weighted(problem, max(WEIGHT, float(np.max(objectives[0].weight)))) if single else problem
        found, strayed = (_search if single else _search_with_pins)(problem, last)
        pose = _curled(problem, found, last) if single and objectives[0].along is not None else found
        before = _before(problem, last, hooked=pose is not found)
        if before is not None:
            moved = float(np.linalg.norm(objectives[0].position - before[1]))
            limit = np.deg2rad(SLACK + 1000 * RATE * moved / problem.scale)
            limited = _rate_limited(problem, before[0], pose, limit, correct=pose is found)
            pose, strayed = limited, strayed or limited is not pose
        sites = _sites(problem, pose)
        targets = {
            objective.site: _goal(objective, sites[ends[0][0]])
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
    """The first objective is the point's, the others are the pins'."""
    digits: tuple[str, ...]
    """The digits that bend."""
    coupled: bool
    """Whether a finger's last joint follows its middle one."""
    solver: DragSolver
    base: Floats
    """(3,) m in the world, the first joint of the point's chain, which does not move."""
    reach: float
    """m, the farthest that the point can be from there."""
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
            along: (3,) unit direction in which the goal may be anywhere, such as that of the view; None for none. It is
                for points of fingers that Nearest drags, the goals of all others are points.

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
        """The goal (3,) m in the world of a step with any depth, at the depth of the dragged point; the point itself
        where it did not come to its goal."""
        if not self.any_depth:
            return goal
        point = joint_position(step.pose, self.joint)[0]
        at_depth: Floats = goal + ((point - goal) @ along) * along
        return at_depth if float(np.linalg.norm(at_depth - point)) <= MISSED * self.problem.scale else point

    def tip_targets(self, step: DragStep) -> dict[str, Floats]:
        """Digit -> (3,) m in the world, the target that the solver was given for its tip."""
        named = {self.start.hand.sites[site].name: target for site, target in step.targets.items()}
        return {digit: named[joints[-1]] for digit, joints in CHAIN_JOINTS.items() if joints[-1] in named}

    def _within_reach(self, goal: Floats, along: Floats | None) -> Floats:
        """The goal, moved to where the point can nearly reach; that of a knuckle, to the sphere on which it moves."""
        away = goal - self.base
        if along is not None:
            away = away - (away @ along) * along
            length = float(np.linalg.norm(away))
            return goal if length <= REACH_FRACTION * self.reach else self.base + away * (REACH_FRACTION * self.reach / length)
        length = float(np.linalg.norm(away))
        if self.joint == WRIST or (self.joint not in KNUCKLES and length <= REACH_FRACTION * self.reach):
            return goal
        if length <= PIN_MET * self.reach:
            return self.position
        nearer: Floats = self.base + away * ((1.0 if self.joint in KNUCKLES else REACH_FRACTION) * self.reach / length)
        return nearer


def _search(problem: PoseProblem, last: DragStep | None) -> tuple[Pose, bool]:
    """Return the pose with a point at its goal, and whether the next step needs the other searches too."""
    start = problem.start
    if _off(problem, start) <= AT_GOAL_TOLERANCE * problem.scale:
        return start, False
    found = solve(problem, _buckled(problem, last.pose if last else start))
    strayed = bool(found.strayed[0])
    if strayed or (last is not None and last.state):
        angles = np.concatenate([start.angles, half_closed(problem)])
        twice = problem.select(np.zeros(2, np.int64))
        alternatives = solve(twice, Pose(start.hand, twice.start.root, angles))
        strayed = strayed or bool(np.abs(alternatives.pose.angles[0] - found.pose.angles[0]).max() > SAME_ANGLE_TOLERANCE)
        found = _cheapest(found, alternatives)
    missed, near = _off(problem, found.pose), MISSED * problem.scale
    if missed > near:
        # Out of reach, a digit must not lean far for little.
        weight = problem.objectives[0].weight * np.sqrt(near / missed)
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


def _buckled(problem: PoseProblem, pose: Pose) -> Pose:
    """Return the pose with its middle and last joints bent at least a little, as far as they can."""
    least = np.minimum(MIN_START_FLEXION, pose.hand.limits[:, 1])
    bends = problem.bending & (pose.angles < least)
    return Pose(pose.hand, pose.root, np.where(bends, least, pose.angles)) if bends.any() else pose


def _curled(problem: PoseProblem, pose: Pose, last: DragStep | None) -> Pose:
    """Return a pose in which the dragged finger does not hook; the same object if it already does not."""
    bent = unhooked(problem, pose)
    if bent is None:
        return pose
    on_arc, limits = bent
    angles, own = np.concatenate([on_arc.angles, (last.pose if last else on_arc).angles]), problem.free - ROOT_DOFS
    angles[1, own] = np.clip(angles[1, own], *limits)
    twice = replace(problem.select(np.zeros(2, np.int64)), limits=limits)
    found = solve(twice, Pose(pose.hand, twice.start.root, angles))
    least_bent = Pose(pose.hand, pose.root, found.pose.angles[[int(np.argmin(found.cost))]])
    part = min(_off(problem, least_bent) / (ON_ARC * problem.scale), 1.0)
    return Pose(pose.hand, pose.root, least_bent.angles + part * (on_arc.angles - least_bent.angles))


def _before(problem: PoseProblem, last: DragStep | None, *, hooked: bool) -> tuple[Pose, Floats] | None:
    """The pose and the goal (3,) m from which angles change at a limited rate; None if the rate is not limited."""
    if len(problem.objectives) > 1:
        return None
    if last is None:
        return (problem.start, _sites(problem, problem.start)[0]) if hooked else None
    return (last.pose, last.objectives[0].position) if len(last.objectives) == 1 else None


def _off(problem: PoseProblem, pose: Pose) -> float:
    """m from the first objective's goal to its point."""
    objective, point = problem.objectives[0], _sites(problem, pose)[0]
    return float(np.linalg.norm(point - _goal(objective, point)))


def _goal(objective: Objective, point: Floats) -> Floats:
    """(3,) m in the world, where an objective has its site, at the depth of a point if any depth will do."""
    if objective.along is None:
        return objective.position
    goal: Floats = objective.position + ((point - objective.position) @ objective.along) * objective.along
    return goal


def _sites(problem: PoseProblem, pose: Pose) -> Floats:
    """(S, 3) m in the world, the sites of the objectives."""
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
    # The point is brought back to its goal from there, unless that leads back to the last pose.
    corrected = solve(replace(problem, start=between)).pose
    from_last, left = (np.abs(corrected.angles - other.angles).max() for other in (last, pose))
    return corrected if from_last <= OVERSHOOT * limit and left <= largest - CLOSER * limit else between
