"""Ease a hand that is no longer seen to its rest pose, and blend back without a jump when it returns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.kinematics import Pose
from ...hand.model import HandModel

Floats = NDArray[np.float64]

HOLD = 0.25
"""s for which a hand that is not seen keeps its pose: most dropouts are shorter."""
EASE = 0.8
"""s in which it then eases to its rest pose, at its last position."""
RETURN = 0.3
"""s in which a hand that was lost, or has been measured again, blends to its solved pose."""
AWAY = 4.0
"""A hand counts as lost after a gap of this many usual intervals between two of its frames."""
BURST = 0.1
"""s, a gap that never counts as lost: over a wireless network frames come in bursts."""


@dataclass(slots=True, eq=False)
class DropoutBlend:
    """The displayed pose of one hand: the solved one while it is seen, otherwise easing to rest."""

    hand: HandModel
    _solved: Pose | None = None
    _shown: Pose | None = None
    _seen: float = -np.inf
    _usual: float = np.inf
    """s between two frames in which the hand is seen, a running mean."""
    _lost: bool = True
    _from: Pose | None = None
    """The pose from which the current blend started; None without a blend."""
    _since: float = -np.inf
    _rest: Pose | None = None
    """The rest pose of a lost hand. The same object while nothing changes, so that callers can compare by identity."""

    @property
    def lost(self) -> bool:
        """Whether the hand has not been seen for longer than HOLD."""
        return self._lost

    def see(self, pose: Pose, now: float) -> None:
        """Take the solved pose (1 frame) at `now` s."""
        step = now - self._seen
        if self._lost or step > max(AWAY * self._usual, BURST):
            self._go_over(now)
        if not self._lost:
            self._usual = step if np.isinf(self._usual) else self._usual + 0.1 * (step - self._usual)
        self._solved, self._seen, self._lost, self._rest = pose, now, False, None

    def measured(self, hand: HandModel, now: float) -> None:
        """Use a newly measured hand from `now` s on."""
        self.hand = hand
        if self._solved is not None:
            self._solved = Pose(hand, self._solved.root, self._solved.angles)
            self._go_over(now)

    def _go_over(self, now: float) -> None:
        if self._shown is not None:
            self._from, self._since = self._shown, now

    def show(self, now: float) -> Pose | None:
        """Return the pose to display at `now` s; None before the hand was first seen."""
        if self._solved is None:
            return None
        if not self._lost and now - self._seen > HOLD:
            self._lost, self._from, self._since = True, self._shown or self._solved, now
        goal = self._resting(self._solved) if self._lost else self._solved
        share = _smooth((now - self._since) / (EASE if self._lost else RETURN))
        if self._from is None or share >= 1.0:
            self._from, self._shown = None, goal
        else:
            self._shown = between(self._from, goal, share)
        return self._shown

    def _resting(self, last: Pose) -> Pose:
        if self._rest is None or self._rest.hand is not self.hand:
            self._rest = Pose(self.hand, last.root, self.hand.neutral[None])
        return self._rest


def _smooth(share: float) -> float:
    """Smoothstep: 0..1 with zero slope at both ends."""
    share = min(max(share, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


def between(a: Pose, b: Pose, share: float) -> Pose:
    """Interpolate two poses of one frame: angles and position linearly, the wrist's rotation along the shorter arc."""
    first, last = rot.from_matrix(a.root[:, :3, :3]), rot.from_matrix(b.root[:, :3, :3])
    last = np.where(np.sum(first * last, axis=-1, keepdims=True) < 0, -last, last)
    turn = (1 - share) * first + share * last
    root = np.eye(4)[None].copy()
    root[:, :3, :3] = rot.to_matrix(turn / np.linalg.norm(turn, axis=-1, keepdims=True))
    root[:, :3, 3] = (1 - share) * a.root[:, :3, 3] + share * b.root[:, :3, 3]
    return Pose(b.hand, root, (1 - share) * a.angles + share * b.angles)
