"""Dragging a point of a hand to a place, while other fingertips are held where they are pinned.

A fingertip or a joint of a digit brings the digit along, and no other. The knuckles of the fingers are fixed in the
palm: who drags one turns the hand about its wrist. The wrist takes the whole hand along, as it is turned. Pins count so
much more than the goal that what is dragged stops where they would break.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, KNUCKLES, digit_of
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...solvers.pose_problem import Objective, PoseProblem, angles_of, middle_finger_length
from .digit_solver import Bending, DragStep
from .min_displacement import Nearest

Floats = NDArray[np.float64]

PIN_WEIGHT = 30.0
"""How many times more a pin counts than the goal."""
THERE = 1e-6
"""Part of the hand's length: a fingertip that is so near to its pin is left alone."""
BEYOND = 1.02
"""Parts of a digit's reach: goals that are farther count as if they were there. The farther a goal, the more a digit
would strain for less and less."""

WRIST = "wrist"
GRABBED: tuple[str, ...] = (WRIST, *KNUCKLES, *(joint for joints in CHAIN_JOINTS.values() for joint in joints[1:]))
"""The joints that can be dragged."""


@dataclass(frozen=True, slots=True, eq=False)
class Pin:
    """Where a fingertip is held."""

    digit: str
    place: Floats
    """(3,) m in the world; with another digit, the way from its tip in the wrist's frame."""
    other: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Drag:
    """A point of a hand that is being dragged."""

    begun: Pose
    """One frame: the hand as it was."""
    joint: str
    """One of GRABBED."""
    problem: PoseProblem
    """Its objectives are the pins'."""
    digits: tuple[str, ...]
    """Those that bend."""
    coupled: bool
    by: Bending
    hangs: Floats
    """(3,) m in the world, where what the point hangs on is; it does not move."""
    reach: float
    """m, how far from there the point could be."""

    @property
    def hand(self) -> HandModel:
        """Whose point it is."""
        return self.begun.hand

    @property
    def place(self) -> Floats:
        """(3,) m in the world, where the point is at the beginning."""
        return place_of(self.begun, self.joint)

    @property
    def joints(self) -> frozenset[int] | None:
        """The joints that are turned; None where the whole hand moves."""
        if self.joint == WRIST or self.joint in KNUCKLES:
            return None
        return frozenset(JOINT_INDEX[joint] for digit in self.digits for joint in CHAIN_JOINTS[digit][:-1])

    def step(self, goal: Floats, last: DragStep | None = None) -> DragStep:
        """The pose of one frame with the point at its goal (3,) m in the world, or straight towards it; last: what the
        step before came to. Raises HandError for a hand that the solver does not take."""
        objective = Objective(self.hand.site_index(self.joint), self._within(goal))
        return self.by.step(self.problem.towards((objective, *self.problem.objectives)), last)

    def held(self, root: Floats, last: DragStep) -> DragStep:
        """The pins' fingertips held where they are with the wrist at root (4, 4), wherever it was meant to be."""
        begun, pins = Pose(self.hand, root[None], self.begun.angles), self.problem.objectives
        if not pins:
            return replace(last, pose=begun)
        problem = PoseProblem.of(begun, angles_of(self.hand, self.digits), pins, coupled=self.coupled)
        pose = Pose(self.hand, root[None], last.pose.angles)
        return self.by.step(problem, replace(last, pose=pose, objectives=()))

    def tips(self, step: DragStep) -> dict[str, Floats]:
        """digit -> (3,) m in the world, where the solver was told to bring its tip."""
        names = {self.hand.site_index(joints[-1]): digit for digit, joints in CHAIN_JOINTS.items()}
        return {names[site]: place for site, place in step.aims.items() if site in names}

    def _within(self, goal: Floats) -> Floats:
        """The goal, no farther from where the point hangs than it could ever come; of a knuckle exactly so far."""
        away = goal - self.hangs
        length = float(np.linalg.norm(away))
        if self.joint == WRIST or (self.joint not in KNUCKLES and length <= BEYOND * self.reach):
            return goal
        if length <= THERE * self.reach:
            return self.place
        within: Floats = self.hangs + away * ((1.0 if self.joint in KNUCKLES else BEYOND) * self.reach / length)
        return within


def drag(begun: Pose, joint: str, pins: Sequence[Pin] = (), *, coupled: bool = True, by: Bending | None = None) -> Drag:
    """A drag of a joint that begins at a pose of one frame. coupled: whether a finger's last joint goes with the one
    before it. by: what bends the digits, one of kinds.KINDS, Nearest unless said."""
    hand = begun.hand
    whole = joint == WRIST or joint in KNUCKLES
    own = None if whole else digit_of(joint)
    # What is dragged goes where it is dragged; its pin is set anew where it is let go.
    heeded = [pin for pin in pins if pin.digit != own or pin.other or not joint.endswith("tip")]
    moving = {own} if own else set()
    heeded = list(_moved(begun, heeded, moving, whole))
    digits = {pin.digit for pin in heeded} | {pin.other for pin in heeded if pin.other} | moving
    bent = tuple(digit for digit in DIGITS if digit in digits)
    base = np.arange(3) if joint == WRIST else np.arange(3, ROOT_DOFS) if whole else np.zeros(0, int)
    free = np.concatenate([base, angles_of(hand, bent)])
    objectives = [_objective(hand, pin) for pin in heeded]
    return Drag(
        begun,
        joint,
        PoseProblem.of(begun, free, objectives, coupled=coupled),
        bent,
        coupled,
        by or Nearest(),
        *_reach(begun, joint),
    )


def place_of(pose: Pose, joint: str) -> Floats:
    """(3,) m in the world, where a joint of a pose of one frame is."""
    place: Floats = kinematics.joint_frames(pose.hand, pose)[0, JOINT_INDEX[joint], :3, 3]
    return place


def _reach(begun: Pose, joint: str) -> tuple[Floats, float]:
    """(3,) m what a joint hangs on, and m how far from there it could be."""
    chain = (WRIST, joint) if joint == WRIST or joint in KNUCKLES else CHAIN_JOINTS[str(digit_of(joint))]
    rows = [JOINT_INDEX[each] for each in chain[: chain.index(joint) + 1]]
    places = kinematics.joint_frames(begun.hand, begun)[0, rows, :3, 3]
    return places[0], float(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum())


def _objective(hand: HandModel, pin: Pin) -> Objective:
    site = hand.site_index(CHAIN_JOINTS[pin.digit][-1])
    other = hand.site_index(CHAIN_JOINTS[pin.other][-1]) if pin.other else None
    return Objective(site, pin.place, PIN_WEIGHT, other)


def _moved(begun: Pose, pins: Sequence[Pin], moving: set[str], whole: bool) -> Iterator[Pin]:
    """The pins that a drag of digits, or of the whole hand, could break, and those that do not hold yet: the rest is
    left alone exactly."""
    near = THERE * middle_finger_length(begun.hand)
    left, digits = list(pins), set(moving)
    while True:
        broken = [
            pin
            for pin in left
            if {pin.digit, pin.other} & digits or (whole and not pin.other) or _off(begun, pin) > near
        ]
        if not broken:
            return
        yield from broken
        left = [pin for pin in left if pin not in broken]
        digits |= {digit for pin in broken for digit in (pin.digit, pin.other) if digit}


def _off(pose: Pose, pin: Pin) -> float:
    tip = place_of(pose, CHAIN_JOINTS[pin.digit][-1])
    if pin.other:
        tip = (tip - place_of(pose, CHAIN_JOINTS[pin.other][-1])) @ pose.root[0, :3, :3]
    return float(np.linalg.norm(tip - pin.place))
