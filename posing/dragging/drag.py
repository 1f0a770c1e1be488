"""Dragging a point of a hand to a goal, while other fingertips stay at their pins.

A fingertip or a joint of a digit moves its digit and no other. The knuckles are fixed in the palm, so a dragged knuckle
rotates the hand about its wrist. The wrist moves the whole hand without rotating it. Pins weigh so much more than the
goal that the dragged point stops where they would break.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, KNUCKLES, digit_of
from ...hand.kinematics import Pose, joint_position
from ...hand.model import HandModel
from ...solvers.pose_problem import Objective, PoseProblem, angles_of, middle_finger_length, retry_strayed, solve

Floats = NDArray[np.float64]

PIN_WEIGHT = 30.0
"""Weight of a pin; that of the goal is 1."""
PIN_MET = 1e-6
"""Part of the hand's length: a fingertip so near to its pin is at it."""
FARTHEST = 1.02
"""Parts of a digit's reach beyond which goals are brought nearer. The farther a goal, the more a digit would bend to
come only a little nearer to it."""
SAME_ANGLES = 1e-3
"""rad between two searches with the same result."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Pin:
    """Where a fingertip is held."""

    digit: str
    place: Floats
    """(3,) m in the world; with another digit, the vector from its tip in the wrist's frame."""
    other: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DragStep:
    """The result of a step of a drag, from which the next one continues."""

    pose: Pose
    """One frame."""
    objectives: tuple[Objective, ...] = ()
    """Those of the step; a pose that no step made has none."""
    targets: Mapping[int, Floats] = field(default_factory=dict)
    """Site -> (3,) m in the world, the target that the solver was given for it."""
    state: Any = None
    """What a solver keeps from one step to the next."""


class DragSolver(Protocol):
    """A frozen dataclass with one method."""

    def step(self, problem: PoseProblem, last: DragStep | None = None) -> DragStep:
        """The pose that meets the problem's objectives, or comes near to them; last: the step before.

        Raises HandError for a hand that the solver does not support.
        """
        ...


@dataclass(frozen=True, slots=True)
class Nearest:
    """The pose nearest to where the drag began, whatever path the goal took.

    A search from the last pose finds the bend next to it. Digits whose goal is out of reach change to other bends, and
    a search from there may stay in one after the goal has come back. So a second search from the beginning is made from
    then on until both agree, and the cheaper result is taken. With pins it ends with a step that raises the cost: it
    comes from far away. A digit changes to another bend at a limited rate, while its point stays at the goal.
    """

    def step(self, problem: PoseProblem, last: DragStep | None = None) -> DragStep:
        """See DragSolver."""
        objectives, single = problem.objectives, len(problem.objectives) == 1
        found = solve(problem, last.pose if last else None)
        strayed = last is not None and bool(last.state)
        if strayed:
            other = solve(problem, patient=single)
            strayed = bool(np.abs(other.pose.angles - found.pose.angles).max() > SAME_ANGLES)
            found = other if other.cost[0] < found.cost[0] else found
        strayed = strayed or bool(found.strayed[0])
        pose = (retry_strayed(problem, found) if single and found.strayed[0] else found).pose
        if last is not None and single and len(last.objectives) == 1:
            moved = float(np.linalg.norm(objectives[0].position - last.objectives[0].position))
            limit = np.deg2rad(SLACK + 1000 * RATE * moved / problem.scale)
            limited = _rate_limited(problem, last.pose, pose, limit)
            pose, strayed = limited, strayed or limited is not pose
        targets = {each.site: each.position for each in objectives if each.relative is None}
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
    """Those that bend."""
    coupled: bool
    """Whether a finger's last joint follows its middle one."""
    solver: DragSolver
    base: Floats
    """(3,) m in the world, the first joint of the point's chain, which does not move."""
    reach: float
    """m, the farthest that the point can be from there."""

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

    def step(self, goal: Floats, last: DragStep | None = None) -> DragStep:
        """The pose of one frame with the point at its goal (3,) m in the world, or towards it; last: the step before.

        Raises HandError for a hand that the solver does not support.
        """
        objective = Objective(self.problem.objectives[0].site, self._within_reach(goal))
        return self.solver.step(replace(self.problem, objectives=(objective, *self.pins)), last)

    def hold_pins(self, root: Floats, last: DragStep) -> DragStep:
        """The pose with the wrist at root (4, 4), wherever it should be, and the pinned fingertips at their pins."""
        start, pins = Pose(self.hand, root[None], self.start.angles), self.pins
        if not pins:
            return replace(last, pose=start)
        problem = PoseProblem.of(start, angles_of(self.hand, self.digits), pins, coupled=self.coupled)
        pose = Pose(self.hand, root[None], last.pose.angles)
        return self.solver.step(problem, replace(last, pose=pose, objectives=()))

    def tip_targets(self, step: DragStep) -> dict[str, Floats]:
        """Digit -> (3,) m in the world, the target that the solver was given for its tip."""
        named = {self.start.hand.sites[site].name: target for site, target in step.targets.items()}
        return {digit: named[joints[-1]] for digit, joints in CHAIN_JOINTS.items() if joints[-1] in named}

    def _within_reach(self, goal: Floats) -> Floats:
        """The goal, brought to where the point can nearly come; that of a knuckle, to the sphere on which it moves."""
        away = goal - self.base
        length = float(np.linalg.norm(away))
        if self.joint == WRIST or (self.joint not in KNUCKLES and length <= FARTHEST * self.reach):
            return goal
        if length <= PIN_MET * self.reach:
            return self.position
        nearer: Floats = self.base + away * ((1.0 if self.joint in KNUCKLES else FARTHEST) * self.reach / length)
        return nearer


def drag(
    start: Pose, joint: str, pins: Sequence[Pin] = (), *, coupled: bool = True, solver: DragSolver | None = None
) -> Drag:
    """Begin to drag a joint of a hand.

    Args:
        start: the hand, one frame.
        joint: one of DRAGGABLE.
        pins: where fingertips are held; that of the dragged tip itself is ignored.
        coupled: whether a finger's last joint follows its middle one.
        solver: what bends the digits, see DRAG_SOLVERS; Nearest by default.
    """
    hand = start.hand
    whole = joint == WRIST or joint in KNUCKLES
    own = None if whole else digit_of(joint)
    moving = {own} if own else set()
    others = [pin for pin in pins if pin.digit != own or pin.other or not joint.endswith("tip")]
    kept = list(_affected(start, others, moving, whole))
    digits = {pin.digit for pin in kept} | {pin.other for pin in kept if pin.other} | moving
    bent = tuple(digit for digit in DIGITS if digit in digits)
    base = np.arange(3) if joint == WRIST else np.arange(3, ROOT_DOFS) if whole else np.zeros(0, int)
    free = np.concatenate([base, angles_of(hand, bent)])
    chain = (WRIST, joint) if whole else CHAIN_JOINTS[str(own)]
    rows = [JOINT_INDEX[each] for each in chain[: chain.index(joint) + 1]]
    places = kinematics.joint_frames(hand, start)[0, rows, :3, 3]
    objectives = [Objective(hand.site_index(joint), places[-1]), *(_objective(hand, pin) for pin in kept)]
    problem = PoseProblem.of(start, free, objectives, coupled=coupled)
    reach = float(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum())
    return Drag(start, joint, places[-1], problem, bent, coupled, solver or Nearest(), places[0], reach)


def _rate_limited(problem: PoseProblem, last: Pose, pose: Pose, limit: float) -> Pose:
    """A pose between the last one and a new one in which no angle has changed by more than about `limit` rad."""
    change = pose.angles - last.angles
    largest = float(np.abs(change).max())
    if largest <= limit:
        return pose
    between = Pose(pose.hand, pose.root, last.angles + change * (limit / largest))
    # The point is brought back to its goal from there, unless that leads back to the last pose.
    corrected = solve(replace(problem, start=between)).pose
    from_last, left = (np.abs(corrected.angles - other.angles).max() for other in (last, pose))
    return corrected if from_last <= OVERSHOOT * limit and left <= largest - CLOSER * limit else between


def _objective(hand: HandModel, pin: Pin) -> Objective:
    site = hand.site_index(CHAIN_JOINTS[pin.digit][-1])
    other = hand.site_index(CHAIN_JOINTS[pin.other][-1]) if pin.other else None
    return Objective(site, pin.place, PIN_WEIGHT, other)


def _affected(start: Pose, pins: Sequence[Pin], moving: set[str], whole: bool) -> Iterator[Pin]:
    """The pins that a drag of digits, or of the whole hand, could break, and those that are not met yet. The digits of
    the others keep their angles exactly."""
    near = PIN_MET * middle_finger_length(start.hand)
    left, digits = list(pins), set(moving)
    while True:
        broken = [
            pin
            for pin in left
            if {pin.digit, pin.other} & digits or (whole and not pin.other) or _distance(start, pin) > near
        ]
        if not broken:
            return
        yield from broken
        left = [pin for pin in left if pin not in broken]
        digits |= {digit for pin in broken for digit in (pin.digit, pin.other) if digit}


def _distance(pose: Pose, pin: Pin) -> float:
    """m from a fingertip to its pin."""
    tip = joint_position(pose, CHAIN_JOINTS[pin.digit][-1])[0]
    if pin.other:
        tip = (tip - joint_position(pose, CHAIN_JOINTS[pin.other][-1])[0]) @ pose.root[0, :3, :3]
    return float(np.linalg.norm(tip - pin.place))
