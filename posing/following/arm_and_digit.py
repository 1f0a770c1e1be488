"""Move a hand along a path: the arm moves the wrist, and a digit makes up for what the arm cannot do.

All positions are in the same space as the arm's shoulder.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import digit_of
from ...hand.kinematics import Pose, joint_position
from ...hand.model import HandModel
from ...solvers import arm as arms
from .digit_reach import TIP_TOLERANCE_M, bring_tip, extend_digit, touch_digit
from .primitives import HandPath
from .touching import Case, Shell, aimed_frames, touch

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shoulder:
    """An arm and the frame of its shoulder."""

    arm: arms.Arm
    base: Floats
    """(4, 4) or (N, 4, 4), m, the shoulder's frame."""


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The point of a hand that follows a path."""

    joint: str
    """The wrist or a tip."""
    offset: Floats = field(default_factory=lambda: np.zeros(3))
    """(3,) m in the wrist's frame, offset of the visible point from the model's. It is not zero if the user has posed
    bones in a way in which no hand moves."""

    def positions(self, hand: HandModel, angles: Floats) -> Floats:
        """Return its positions (N, 3) m in the wrist's frame at angles (N, D) rad."""
        where: Floats = joint_position(Pose.at_origin(hand, angles), self.joint) + self.offset
        return where


@dataclass(frozen=True, slots=True, eq=False)
class FollowedPath:
    """The poses of a hand over the N steps of a path."""

    pose: Pose
    """N poses of the hand."""
    cases: tuple[Case, ...]
    """(N,) cases of the arm with the hand as its last bone; without an arm, of the digit."""
    ends: Floats
    """(N, 3) m, positions of the end by forward kinematics."""
    distances: Floats
    """(N,) m, distances of the end from the path."""


def solve_path(hand: HandModel, angles: Floats, end: End, path: HandPath, shoulder: Shoulder | None) -> FollowedPath:
    """Move the end of a hand at angles (D,) rad along a path.

    shoulder: the hand's arm; None for a hand that moves freely. Where the arm is too short, the digit extends the hand
    within its limits; where the arm's limits are in the way, the digit alone reaches for the path. Raises HandError
    for a hand that is not five flexing digits on a rigid palm.
    """
    all_angles = np.repeat(angles[None], len(path), 0)
    if shoulder is None:
        free: Case = "inside"
        return _followed(Pose(hand, path.wrists, all_angles), end, path.ends, (free,) * len(path))
    arm, base = shoulder.arm, arms.shoulder_frames(shoulder.base, len(path))
    shell, digit = Shell(*arms.reach_range(arm)), digit_of(end.joint)
    roots, cases = _wrist_frames(arm, shell, base, path, end.positions(hand, all_angles))
    too_short = np.isin(cases, ["outside", "near"])
    if digit and np.any(too_short):
        distance = np.linalg.norm(path.ends[too_short] - base[too_short, :3, 3], axis=-1)
        all_angles[too_short] = extend_digit(
            hand, digit, angles, np.maximum(distance - shell.most, shell.least - distance)
        )
        roots, _ = _wrist_frames(arm, shell, base, path, end.positions(hand, all_angles))
    result = _followed(Pose(hand, roots, all_angles), end, path.ends, cases)
    blocked = np.flatnonzero((result.distances > TIP_TOLERANCE_M) & ~too_short)
    if digit and len(blocked):
        all_angles[blocked] = bring_tip(hand, digit, angles, _to_wrist(roots[blocked], path.ends[blocked]) - end.offset)
        result = _followed(Pose(hand, roots, all_angles), end, path.ends, cases)
    return result


def reach_with_digit(hand: HandModel, root: Floats, angles: Floats, end: End, points: Floats) -> FollowedPath:
    """Reach for positions (N, 3) m with a digit's tip while the wrist stays at root (4, 4).

    Raises HandError for a hand that is not five flexing digits on a rigid palm.
    """
    name = str(digit_of(end.joint))
    roots = np.repeat(root[None], len(points), 0)
    goals = _to_wrist(roots, points) - end.offset
    cases = touch_digit(hand, name, angles, goals).cases
    return _followed(Pose(hand, roots, bring_tip(hand, name, angles, goals)), end, points, cases)


def _wrist_frames(
    arm: arms.Arm, shell: Shell, base: Floats, path: HandPath, tips: Floats
) -> tuple[Floats, tuple[Case, ...]]:
    """Return the wrist frames (N, 4, 4) that an arm reaches, and the cases; tips: (N, 3) m, the end in these frames."""
    last = np.linalg.norm(tips, axis=-1)
    desired = path.ends - (path.wrists[:, :3, :3] @ tips[..., None])[..., 0]
    reached = touch(shell, last, base[:, :3, 3], path.ends, desired)
    frames = aimed_frames(path.wrists, tips, reached)
    posed, _ = arms.solve(arm, frames, base)
    roots: Floats = arms.frames(arm, posed, base)[:, 2]
    return roots, reached.cases


def _to_wrist(roots: Floats, positions: Floats) -> Floats:
    """Map points (N, 3) into the wrist's frames (N, 4, 4)."""
    goals: Floats = (np.swapaxes(roots[:, :3, :3], 1, 2) @ (positions - roots[:, :3, 3])[..., None])[..., 0]
    return goals


def _followed(pose: Pose, end: End, goals: Floats, cases: tuple[Case, ...]) -> FollowedPath:
    local_ends = end.positions(pose.hand, pose.angles)
    ends = (pose.root[:, :3, :3] @ local_ends[..., None])[..., 0] + pose.root[:, :3, 3]
    return FollowedPath(pose, cases, ends, np.linalg.norm(ends - goals, axis=-1))
