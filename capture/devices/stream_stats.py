"""Statistics of a stream: packets and frames received, lost, late and malformed, rate, jitter and latency."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ..frame import Frame

HISTORY_LENGTH = 240
"""Number of the most recent arrivals and latencies from which rate, jitter and latency are computed."""
RESTART_STEP_S = 1.0
"""s by which a device's clock may go back for a late frame; by more, the device was restarted."""
RESTART_FRAMES = 120
"""Number by which a device's frame number may go back for a late frame; by more, the device was restarted."""
RESTART_RUN = 5
"""Number of late frames in a row, each newer than its predecessor, after which the device also counts as restarted."""
MAX_LOST_FRAMES = 1000
"""Maximum step of the frame number that counts as lost frames; a larger one is a change of numbering."""


@dataclass(slots=True)
class StreamStats:
    """Counters of one connection. One thread writes them; others may read them while a packet is partly counted."""

    packets: int = 0
    bytes_received: int = 0
    frames: int = 0
    malformed: int = 0
    """Packets dropped because they could not be parsed."""
    late: int = 0
    """Frames dropped because a newer one had already arrived."""
    lost: int = 0
    """Frames missing from the device's numbering."""
    overrun: int = 0
    """Frames dropped because the queue was full."""
    problem: str = ""
    """The error in the last malformed packet."""
    arrivals: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY_LENGTH))
    """Arrival times of the last frames, s on a monotonic clock."""
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY_LENGTH))
    """s from a packet's arrival until the hand was posed, for the last frames."""
    _number: int | None = None
    """The last frame's number."""
    _time: float | None = None
    """The last frame's time on the device's clock, s."""
    _late: list[Frame] = field(default_factory=list)
    """The current run of late frames."""

    def reset(self) -> None:
        """Forget the frame number and clock of the previous connection."""
        self._number, self._time, self._late = None, None, []

    def add(self, frame: Frame, arrival: float) -> bool:
        """Count a frame. Return whether it is newer than all previous ones, that is, not late."""
        if self._is_late(frame) and not self._is_restart(frame):
            self.late += 1
            return False
        self._late = []
        if frame.number is not None:
            if self._number is not None and 1 < frame.number - self._number < MAX_LOST_FRAMES:
                self.lost += frame.number - self._number - 1
            self._number = frame.number
        self._time = frame.time
        self.frames += 1
        self.arrivals.append(arrival)
        return True

    def _is_late(self, frame: Frame) -> bool:
        """Return whether a newer frame has already arrived, by frame number if there is one, else by the clock."""
        if frame.number is not None and self._number is not None:
            return 0 <= self._number - frame.number < RESTART_FRAMES
        if frame.time is not None and self._time is not None:
            # Equal timestamps do not show the order.
            return 0.0 < self._time - frame.time < RESTART_STEP_S
        return False

    def _is_restart(self, frame: Frame) -> bool:
        """Add a late frame to the run of late ones. Return whether the run shows a restart, and if so, reset."""
        continues = bool(self._late) and _is_newer(frame, self._late[-1])
        self._late = [*self._late, frame] if continues else [frame]
        if len(self._late) < RESTART_RUN:
            return False
        self.reset()
        return True

    def rate(self, now: float) -> float:
        """Return frames per second over the last two seconds; 0 if there were fewer than two."""
        recent = [arrival for arrival in list(self.arrivals) if now - arrival < 2.0]
        if len(recent) < 2 or recent[-1] <= recent[0]:
            return 0.0
        return (len(recent) - 1) / (recent[-1] - recent[0])

    def jitter(self) -> float:
        """Return the standard deviation of the time between frames in s."""
        steps = np.diff(list(self.arrivals))
        return float(steps.std()) if len(steps) > 1 else 0.0

    def latency(self) -> tuple[float, float]:
        """Return the median and 99th percentile of the latency from arrival to pose in s."""
        latencies = list(self.latencies)
        return (float(np.median(latencies)), float(np.percentile(latencies, 99))) if latencies else (0.0, 0.0)


def _is_newer(frame: Frame, previous: Frame) -> bool:
    """Return whether a frame is newer than another, by frame number if there is one, else by the clock."""
    if frame.number is not None and previous.number is not None:
        return frame.number > previous.number
    return frame.time is not None and previous.time is not None and frame.time > previous.time
