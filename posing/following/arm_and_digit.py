"""A hand brought along a course: the arm carries the wrist, and what the arm cannot do the digit does.

All places are in one space, the one in which the arm's shoulder stands.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import digit_of
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...solvers import arm as arms
from .digit_reach import NEAR, bring_tip, lengthened, tip_places, touch_digit
from .primitives import Course
from .touching import Case, Shell, aimed, touch

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shoulder:
    """An arm, and where it begins."""

    arm: arms.Arm
    base: Floats
    """(4, 4) or (N, 4, 4) the shoulder's frame."""


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """What of a hand follows."""

    joint: str
    """The wrist or a tip."""
    beside: Floats = field(default_factory=lambda: np.zeros(3))
    """(3,) m in the wrist's frame, from where the model has it to where it is seen: a person may pose bones as no hand
    moves."""

    def places(self, hand: HandModel, angles: Floats) -> Floats:
        """(N, 3) m in the wrist's frame, where it is seen at angles (N, D) rad."""
        where: Floats = tip_places(hand, angles, self.joint) + self.beside
        return where


@dataclass(frozen=True, slots=True, eq=False)
class Brought:
    """A hand over the N steps of a course."""

    pose: Pose
    """Its root is where the wrist comes to."""
    cases: tuple[Case, ...]
    """(N,) of the arm with the hand as its last bone, or where there is no arm of the digit."""
    ends: Floats
    """(N, 3) m, where the hand's end comes to by forward kinematics."""
    missed: Floats
    """(N,) m, from there to the course."""


def bring(hand: HandModel, angles: Floats, end: End, course: Course, carried: Shoulder | None) -> Brought:
    """The hand at angles (D,) rad whose end goes along a course.

    carried: the arm that it hangs on; None for a hand that goes wherever it is put. What arm and hand as it stands do
    not reach the digit does, as far as its limits let it: it makes the hand longer, and where it is the arm's limits
    that are in the way it goes on alone. Raises HandError.
    """
    many = np.repeat(angles[None], len(course), 0)
    if carried is None:
        free: Case = "inside"
        return _brought(Pose(hand, course.wrists, many), end, course.ends, (free,) * len(course))
    arm, base = carried.arm, arms.base_of(carried.base, len(course))
    shell, name = Shell(*arms.distances(arm)), digit_of(end.joint)
    roots, cases = _carried(arm, shell, base, course, end.places(hand, many))
    short = np.isin(cases, ["outside", "near"])
    if name and np.any(short):
        far = np.linalg.norm(course.ends[short] - base[short, :3, 3], axis=-1)
        many[short] = lengthened(hand, name, angles, np.maximum(far - shell.most, shell.least - far))
        roots, _ = _carried(arm, shell, base, course, end.places(hand, many))
    result = _brought(Pose(hand, roots, many), end, course.ends, cases)
    held = np.flatnonzero((result.missed > NEAR) & ~short)
    if name and len(held):
        many[held] = bring_tip(hand, name, angles, _in_hand(roots[held], course.ends[held]) - end.beside)
        result = _brought(Pose(hand, roots, many), end, course.ends, cases)
    return result


def reach_out(hand: HandModel, root: Floats, angles: Floats, end: End, places: Floats) -> Brought:
    """A hand that stays where it is, root (4, 4), and reaches out to places (N, 3) m with a digit's tip.

    Raises HandError.
    """
    name = str(digit_of(end.joint))
    roots = np.repeat(root[None], len(places), 0)
    goals = _in_hand(roots, places) - end.beside
    cases = touch_digit(hand, name, angles, goals).cases
    return _brought(Pose(hand, roots, bring_tip(hand, name, angles, goals)), end, places, cases)


def _carried(
    arm: arms.Arm, shell: Shell, base: Floats, course: Course, tips: Floats
) -> tuple[Floats, tuple[Case, ...]]:
    """(N, 4, 4) where an arm brings a wrist whose end is at tips (N, 3) m in its frame, and the cases."""
    last = np.linalg.norm(tips, axis=-1)
    wanted = course.ends - (course.wrists[:, :3, :3] @ tips[..., None])[..., 0]
    found = touch(shell, last, base[:, :3, 3], course.ends, wanted)
    frames = aimed(course.wrists, tips, found)
    posed, _ = arms.solve(arm, frames, base)
    roots: Floats = arms.frames(arm, posed, base)[:, 2]
    return roots, found.cases


def _in_hand(roots: Floats, places: Floats) -> Floats:
    """(N, 3) places in the wrist's frames (N, 4, 4)."""
    goals: Floats = (np.swapaxes(roots[:, :3, :3], 1, 2) @ (places - roots[:, :3, 3])[..., None])[..., 0]
    return goals


def _brought(pose: Pose, end: End, goals: Floats, cases: tuple[Case, ...]) -> Brought:
    places = end.places(pose.hand, pose.angles)
    ends = (pose.root[:, :3, :3] @ places[..., None])[..., 0] + pose.root[:, :3, 3]
    return Brought(pose, cases, ends, np.linalg.norm(ends - goals, axis=-1))
