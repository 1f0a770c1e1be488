"""Fade the captured forearm of a wrist out when it is no longer sent, and in when it returns."""

from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from ...hand.forearm import WristForearm, blend_forearms, median_forearm
from ...hand.smoothstep import smoothstep
from .dropout_blend import EASE_SECONDS, HOLD_SECONDS, RETURN_SECONDS

SPIKE_WINDOW = 3
"""Number of frames whose median is displayed. Arms tracked by a camera jump in single frames."""


@dataclass(slots=True, eq=False)
class ForearmBlend:
    """The displayed forearm of one hand. It is relative to the wrist, so a hand that is lost keeps its bend."""

    late: bool = True
    """Whether the forearm is displayed one frame late and without spikes of one frame, as for hands smoothed with a
    lag."""
    _goal: WristForearm | None = None
    """The last forearm that was sent."""
    _window: deque[WristForearm] = field(default_factory=lambda: deque(maxlen=SPIKE_WINDOW))
    _displayed: WristForearm | None = None
    _missing_since: float | None = None
    """s, the first frame of the hand without a forearm; None while the forearm is sent."""
    _blend_start: WristForearm | None = None
    """The displayed forearm from which the current blend started; None without a blend."""
    _blend_began_at: float = -np.inf

    def update(self, sent: WristForearm | None, time: float, was_away: bool = False) -> None:
        """Set the forearm of a frame in which the hand is seen, at a time in s.

        sent: the forearm; None if the frame has none. was_away: whether the hand had been lost.
        """
        if sent is None:
            self._missing_since = time if self._missing_since is None else self._missing_since
            return
        if self._goal is None and self._missing_since is not None:
            # Frames without a forearm came first: start from weight 0.
            self._displayed = replace(sent, weight=np.zeros(1))
        returned = self._missing_since is not None and time - self._missing_since > HOLD_SECONDS
        if was_away or returned or self._goal is None:
            self.start_blend(time)
        if was_away or returned:
            self._window.clear()
        self._window.append(sent)
        self._goal, self._missing_since = median_forearm(self._window) if self.late else sent, None

    def start_blend(self, time: float) -> None:
        """Start to blend from the displayed forearm to the next ones, at a time in s."""
        if self._displayed is not None:
            self._blend_start, self._blend_began_at = self._displayed, time

    def at(self, time: float) -> WristForearm | None:
        """Return the forearm to display at a time in s; None before the first. The same object is returned while it is
        unchanged."""
        if self._goal is None:
            return None
        goal, fraction = self._goal, (time - self._blend_began_at) / RETURN_SECONDS
        if self._blend_start is None or fraction >= 1.0:
            self._blend_start = None
        else:
            goal = blend_forearms(self._blend_start, goal, smoothstep(np.array([fraction])))
        weight = self._remaining_weight(time) * goal.weight
        displayed = self._displayed
        if weight[0] != goal.weight[0]:
            goal = (
                displayed
                if displayed is not None and weight[0] == displayed.weight[0] == 0.0
                else replace(goal, weight=weight)
            )
        self._displayed = goal
        return goal

    def _remaining_weight(self, time: float) -> float:
        """Return the remaining fraction of the weight of a forearm that is not sent."""
        if self._missing_since is None:
            return 1.0
        return 1.0 - float(smoothstep(np.array((time - self._missing_since - HOLD_SECONDS) / EASE_SECONDS)))
