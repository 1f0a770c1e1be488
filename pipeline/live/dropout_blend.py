"""Ease a hand that is no longer seen to its rest pose, and blend back without a jump when it returns."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.smoothstep import smoothstep

Floats = NDArray[np.float64]

HOLD_SECONDS = 0.25
"""s for which a hand that is not seen keeps its pose. Most dropouts are shorter."""
HOLD_INTERVALS, LONGEST_HOLD = 2.0, 2.0
"""Number of median frame intervals for which an unseen hand keeps its pose at least, and their maximum in s, for
cameras that send one frame per second."""
EASE_SECONDS = 0.8
"""s in which an unseen hand then eases to its rest pose, at its last position."""
RETURN_SECONDS = 0.3
"""s in which a hand that was lost or measured again blends to its solved pose."""
LOST_AFTER_INTERVALS = 4.0
"""Number of mean frame intervals without a frame after which a hand is lost."""
BURST_SECONDS = 0.1
"""s, minimum gap after which a hand is lost, since wireless networks deliver frames in bursts."""


@dataclass(slots=True, eq=False)
class DropoutBlend:
    """The displayed pose of one hand: the solved pose while the hand is seen; otherwise it eases to rest."""

    hand: HandModel
    _solved_pose: Pose | None = None
    _displayed_pose: Pose | None = None
    _seen_at: float = -np.inf
    _interval: float = np.inf
    """s between two frames in which the hand is seen, a running mean."""
    _gaps: deque[float] = field(default_factory=lambda: deque(maxlen=5))
    """s between the latest frames in which the hand was seen."""
    _lost: bool = True
    _blend_start: Pose | None = None
    """The pose from which the current blend started; None without a blend."""
    _blend_began_at: float = -np.inf
    _rest_pose: Pose | None = None
    """The rest pose of a lost hand. It stays the same object while it is unchanged, so callers can compare identity."""

    @property
    def lost(self) -> bool:
        """Whether the hand has not been seen for longer than its pose is held."""
        return self._lost

    def update(self, pose: Pose, time: float) -> bool:
        """Set the solved pose (1 frame) at a time in s. Return whether the hand had been lost."""
        gap = time - self._seen_at
        was_lost = self._lost or gap > max(LOST_AFTER_INTERVALS * self._interval, BURST_SECONDS)
        if was_lost:
            self._start_blend(time)
        if not self._lost:
            self._interval = gap if np.isinf(self._interval) else self._interval + 0.1 * (gap - self._interval)
        if gap <= LONGEST_HOLD:
            self._gaps.append(gap)
        self._solved_pose, self._seen_at, self._lost, self._rest_pose = pose, time, False, None
        return was_lost

    def set_hand(self, hand: HandModel, time: float) -> None:
        """Use a newly measured hand from a time in s on."""
        self.hand = hand
        if self._solved_pose is not None:
            self._solved_pose = Pose(hand, self._solved_pose.root, self._solved_pose.angles)
            self._start_blend(time)

    def _hold_seconds(self) -> float:
        """Return the duration in s for which an unseen hand keeps its pose."""
        median_gap = sorted(self._gaps)[len(self._gaps) // 2] if self._gaps else 0.0
        return min(max(HOLD_SECONDS, HOLD_INTERVALS * median_gap), LONGEST_HOLD)

    def _start_blend(self, time: float) -> None:
        if self._displayed_pose is not None:
            self._blend_start, self._blend_began_at = self._displayed_pose, time

    def pose_at(self, time: float) -> Pose | None:
        """Return the pose to display at a time in s; None before the hand was first seen."""
        if self._solved_pose is None:
            return None
        if not self._lost and time - self._seen_at > self._hold_seconds():
            self._lost, self._blend_start, self._blend_began_at = True, self._displayed_pose or self._solved_pose, time
        goal = self._solved_pose
        if self._lost:
            if self._rest_pose is None or self._rest_pose.hand is not self.hand:
                self._rest_pose = Pose(self.hand, goal.root, self.hand.neutral[None])
            goal = self._rest_pose
        fraction = (time - self._blend_began_at) / (EASE_SECONDS if self._lost else RETURN_SECONDS)
        if self._blend_start is None or fraction >= 1.0:
            self._blend_start, self._displayed_pose = None, goal
        else:
            self._displayed_pose = interpolate(self._blend_start, goal, float(smoothstep(np.array(fraction))))
        return self._displayed_pose


def interpolate(start: Pose, end: Pose, t: float) -> Pose:
    """Interpolate two poses of one frame: angles and position linearly, the wrist's rotation along the shorter arc."""
    first, last = rot.from_matrix(start.root[:, :3, :3]), rot.from_matrix(end.root[:, :3, :3])
    last = np.where(np.sum(first * last, axis=-1, keepdims=True) < 0, -last, last)
    rotation = (1 - t) * first + t * last
    root = np.eye(4)[None].copy()
    root[:, :3, :3] = rot.to_matrix(rotation / np.linalg.norm(rotation, axis=-1, keepdims=True))
    root[:, :3, 3] = (1 - t) * start.root[:, :3, 3] + t * end.root[:, :3, 3]
    return Pose(end.hand, root, (1 - t) * start.angles + t * end.angles)
