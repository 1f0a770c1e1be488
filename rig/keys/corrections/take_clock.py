"""The clock of a take: which scene frame shows which time of the capture."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..frame_times import scene_rate
from ..take_report import TIMING_PROPERTY

if TYPE_CHECKING:
    from bpy.types import Action, Scene

Floats = NDArray[np.float64]

CLOCK_PROPERTY = "knuckle_clock"
"""Custom property of a take's action: its first frame, the capture's time in s there, and frames per second."""


@dataclass(frozen=True, slots=True)
class TakeClock:
    """Converts scene frames to seconds of the capture's clock, and back."""

    frame: float
    time: float
    """s on the capture's clock that falls on `frame`."""
    rate: float
    """Scene frames per second."""

    def times(self, frames: ArrayLike) -> Floats:
        """Return the times (F,) s of scene frames (F,)."""
        return self.time + (np.asarray(frames, float) - self.frame) / self.rate

    def frames(self, times: ArrayLike) -> Floats:
        """Return the scene frames (F,) of times (F,) s."""
        return self.frame + (np.asarray(times, float) - self.time) * self.rate


def store_clock(action: "Action", frames: Floats, times: Floats, scene: "Scene") -> None:
    """Keep the clock of a take with keys on scene frames (F,) at times (F,) s in its action."""
    action[CLOCK_PROPERTY] = [float(frames[0]), float(times[0]), scene_rate(scene)]


def clock_of(action: "Action", scene: "Scene") -> TakeClock:
    """Return the clock of a take.

    A take without a stored clock has the scene's rate, and if it has no capture, its time starts at the scene's frame
    0.
    """
    numbers = _numbers(action.get(CLOCK_PROPERTY), 3)
    if numbers is not None and numbers[2] > 0:
        return TakeClock(numbers[0], numbers[1], numbers[2])
    frame, time = _numbers(action.get(TIMING_PROPERTY), 2) or (0.0, 0.0)
    return TakeClock(frame, time, scene_rate(scene))


def fix_clock(action: "Action", clock: TakeClock) -> None:
    """Store a take's clock, unless it has one, so that corrections keep their frames if the scene's rate changes."""
    if action.get(CLOCK_PROPERTY) is None:
        action[CLOCK_PROPERTY] = [clock.frame, clock.time, clock.rate]


def _numbers(value: Any, count: int) -> tuple[float, ...] | None:
    """Return a custom property's finite numbers, None unless there are `count`."""
    try:
        numbers = tuple(map(float, value))
    except (TypeError, ValueError):
        return None
    return numbers if len(numbers) == count and bool(np.isfinite(numbers).all()) else None
