"""A hand that is lost eases to rest, and goes back to the performer's without a jump."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.kinematics import Pose
from ...hand.model import HandModel

Floats = NDArray[np.float64]

HOLD = 0.25
"""s for which a hand that is not seen stays as it was: most drop-outs are shorter."""
EASE = 0.8
"""s in which it then comes to rest, where it was last."""
RETURN = 0.3
"""s in which a hand that was away, or is measured anew, goes over to where it is seen."""
AWAY = 4.0
"""Times the usual step between two sights, after which a hand was away."""
BURST = 0.1
"""s within which it was not, whatever is usual: over a wireless network frames come in bursts."""


@dataclass(slots=True, eq=False)
class DropoutBlend:
    """What is shown of one hand: the solved pose while it is seen, else what it eases to."""

    hand: HandModel
    _solved: Pose | None = None
    _shown: Pose | None = None
    _seen: float = -np.inf
    _usual: float = np.inf
    """s between two sights, about."""
    _lost: bool = True
    _from: Pose | None = None
    """Where the last change began; None while there is none to go over from."""
    _since: float = -np.inf
    _rest: Pose | None = None
    """Where a lost hand comes to: the same for as long as nothing changes, so that who shows it can tell."""

    @property
    def lost(self) -> bool:
        """Whether it has not been seen for longer than HOLD."""
        return self._lost

    def see(self, pose: Pose, now: float) -> None:
        """A solved pose of one frame, at `now` s."""
        step = now - self._seen
        if self._lost or step > max(AWAY * self._usual, BURST):
            self._go_over(now)
        if not self._lost:
            self._usual = step if np.isinf(self._usual) else self._usual + 0.1 * (step - self._usual)
        self._solved, self._seen, self._lost, self._rest = pose, now, False, None

    def measured(self, hand: HandModel, now: float) -> None:
        """Has other measures from `now` s on."""
        self.hand = hand
        if self._solved is not None:
            self._solved = Pose(hand, self._solved.root, self._solved.angles)
            self._go_over(now)

    def _go_over(self, now: float) -> None:
        if self._shown is not None:
            self._from, self._since = self._shown, now

    def show(self, now: float) -> Pose | None:
        """The pose at `now` s; None before the hand was ever seen."""
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
    """0..1 that begins and ends without a jolt."""
    share = min(max(share, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


def between(a: Pose, b: Pose, share: float) -> Pose:
    """A pose of one frame on the way from one to another: angles and place straight, the wrist's turn the short way."""
    first, last = rot.from_matrix(a.root[:, :3, :3]), rot.from_matrix(b.root[:, :3, :3])
    last = np.where(np.sum(first * last, axis=-1, keepdims=True) < 0, -last, last)
    turn = (1 - share) * first + share * last
    root = np.eye(4)[None].copy()
    root[:, :3, :3] = rot.to_matrix(turn / np.linalg.norm(turn, axis=-1, keepdims=True))
    root[:, :3, 3] = (1 - share) * a.root[:, :3, 3] + share * b.root[:, :3, 3]
    return Pose(b.hand, root, (1 - share) * a.angles + share * b.angles)
