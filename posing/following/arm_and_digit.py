"""A hand moved along a course: the arm moves the wrist, and the digit does what the arm cannot.

All positions are in the same space as the arm's shoulder.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import digit_of
from ...hand.kinematics import Pose, joint_position
from ...hand.model import HandModel
from ...solvers import arm as arms
from .digit_reach import NEAR, bring_tip, lengthened, touch_digit
from .primitives import Course
from .touching import Case, Shell, aimed, touch

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shoulder:
    """An arm and the frame of its shoulder."""

    arm: arms.Arm
    base: Floats
    """(4, 4) or (N, 4, 4), m, the shoulder's frame."""


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The point of a hand that follows a course."""

    joint: str
    """The wrist or a tip."""
    beside: Floats = field(default_factory=lambda: np.zeros(3))
    """(3,) m in the wrist's frame, offset of the visible point from the model's, since a user may pose bones as no hand
    moves."""

    def places(self, hand: HandModel, angles: Floats) -> Floats:
        """Return its positions (N, 3) m in the wrist's frame at angles (N, D) rad."""
        where: Floats = joint_position(Pose.at_origin(hand, angles), self.joint) + self.beside
        return where


@dataclass(frozen=True, slots=True, eq=False)
class Brought:
    """The poses of a hand over the N steps of a course."""

    pose: Pose
    """N poses of the hand."""
    cases: tuple[Case, ...]
    """(N,) cases of the arm with the hand as its last bone; without an arm, of the digit."""
    ends: Floats
    """(N, 3) m, positions of the end by forward kinematics."""
    missed: Floats
    """(N,) m, distances of the end from the course."""


def bring(hand: HandModel, angles: Floats, end: End, course: Course, carried: Shoulder | None) -> Brought:
    """Move the end of a hand at angles (D,) rad along a course.

    carried: the hand's arm; None for a hand that moves freely. Where the arm is too short, the digit extends the hand
    within its limits; where the arm's limits are in the way, the digit alone reaches for the course. Raises HandError
    for a hand that is not five flexing digits on a rigid palm.
    """
    many = np.repeat(angles[None], len(course), 0)
    if carried is None:
        free: Case = "inside"
        return _brought(Pose(hand, course.wrists, many), end, course.ends, (free,) * len(course))
    arm, base = carried.arm, arms.shoulder_frames(carried.base, len(course))
    shell, name = Shell(*arms.reach_range(arm)), digit_of(end.joint)
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
    """Reach for positions (N, 3) m with a digit's tip while the wrist stays at root (4, 4).

    Raises HandError for a hand that is not five flexing digits on a rigid palm.
    """
    name = str(digit_of(end.joint))
    roots = np.repeat(root[None], len(places), 0)
    goals = _in_hand(roots, places) - end.beside
    cases = touch_digit(hand, name, angles, goals).cases
    return _brought(Pose(hand, roots, bring_tip(hand, name, angles, goals)), end, places, cases)


def _carried(
    arm: arms.Arm, shell: Shell, base: Floats, course: Course, tips: Floats
) -> tuple[Floats, tuple[Case, ...]]:
    """Return the wrist frames (N, 4, 4) that an arm reaches, and the cases; tips: (N, 3) m, the end in these frames."""
    last = np.linalg.norm(tips, axis=-1)
    wanted = course.ends - (course.wrists[:, :3, :3] @ tips[..., None])[..., 0]
    found = touch(shell, last, base[:, :3, 3], course.ends, wanted)
    frames = aimed(course.wrists, tips, found)
    posed, _ = arms.solve(arm, frames, base)
    roots: Floats = arms.frames(arm, posed, base)[:, 2]
    return roots, found.cases


def _in_hand(roots: Floats, places: Floats) -> Floats:
    """Map points (N, 3) into the wrist's frames (N, 4, 4)."""
    goals: Floats = (np.swapaxes(roots[:, :3, :3], 1, 2) @ (places - roots[:, :3, 3])[..., None])[..., 0]
    return goals


def _brought(pose: Pose, end: End, goals: Floats, cases: tuple[Case, ...]) -> Brought:
    places = end.places(pose.hand, pose.angles)
    ends = (pose.root[:, :3, :3] @ places[..., None])[..., 0] + pose.root[:, :3, 3]
    return Brought(pose, cases, ends, np.linalg.norm(ends - goals, axis=-1))
