"""Ease a wrist from its forearm to where it was captured when the forearm is no longer sent, and back on its return."""

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from ...hand.forearm import WristForearm, blended, median_forearm
from ...hand.smoothstep import smoothstep
from .dropout_blend import EASE_SECONDS, HOLD_SECONDS, RETURN_SECONDS

SPIKE_WINDOW = 3
"""Frames whose middle one is displayed: arms of figures that a camera follows leap for single frames."""


@dataclass(slots=True, eq=False)
class ForearmBlend:
    """The displayed forearm of one hand. It is seen from the wrist, so that a hand that is lost keeps its bend."""

    late: bool = True
    """Whether the forearm is displayed one frame late, without spikes of one frame, as hands that are smoothed with a
    lag are."""
    _goal: WristForearm | None = None
    """The last one that was sent."""
    _window: deque[WristForearm] = field(default_factory=lambda: deque(maxlen=SPIKE_WINDOW))
    _displayed: WristForearm | None = None
    _missing_since: float | None = None
    """s, the first frame of the hand that came without a forearm; None while it is sent."""
    _blend_start: WristForearm | None = None
    """The displayed forearm from which the current blend started; None without a blend."""
    _blend_began_at: float = -np.inf

    def update(self, sent: WristForearm | None, time: float, away: bool = False) -> None:
        """Take the forearm of a frame in which the hand is seen, at `now` s; None if it came without one.

        away: whether the hand had been away.
        """
        if sent is None:
            self._missing_since = time if self._missing_since is None else self._missing_since
            return
        if self._goal is None and self._missing_since is not None:
            # The hand came first, and points as captured.
            self._displayed = replace(sent, weight=np.zeros(1))
        returned = self._missing_since is not None and time - self._missing_since > HOLD_SECONDS
        if away or returned or self._goal is None:
            self.start_blend(time)
        if away or returned:
            self._window.clear()
        self._window.append(sent)
        self._goal, self._missing_since = median_forearm(self._window) if self.late else sent, None

    def start_blend(self, time: float) -> None:
        """Go over to the next forearms from the one that is displayed at `now` s."""
        if self._displayed is not None:
            self._blend_start, self._blend_began_at = self._displayed, time

    def at(self, time: float) -> WristForearm | None:
        """Return the forearm to display at `now` s, the same object while nothing changes; None before the first."""
        if self._goal is None:
            return None
        goal, fraction = self._goal, (time - self._blend_began_at) / RETURN_SECONDS
        if self._blend_start is None or fraction >= 1.0:
            self._blend_start = None
        else:
            goal = blended(self._blend_start, goal, smoothstep(np.array([fraction])))
        weight = self._kept(time) * goal.weight
        displayed = self._displayed
        if weight[0] != goal.weight[0]:
            goal = (
                displayed
                if displayed is not None and weight[0] == displayed.weight[0] == 0.0
                else replace(goal, weight=weight)
            )
        self._displayed = goal
        return goal

    def _kept(self, time: float) -> float:
        """Return how much of its weight a forearm that is not sent has kept."""
        if self._missing_since is None:
            return 1.0
        return 1.0 - float(smoothstep(np.array((time - self._missing_since - HOLD_SECONDS) / EASE_SECONDS)))
