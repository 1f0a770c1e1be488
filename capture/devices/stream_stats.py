"""What came, what was lost and how evenly it came: counted by the reader, read by whoever shows it."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ..frame import Frame

KEPT = 240
"""Arrivals, and latencies, by which rate and jitter are told."""
RESTART = 1.0
"""s: a device's clock that goes back by more was set anew, and what comes is not late."""
RESTART_FRAMES = 120
"""The same for a device's count of frames."""
RESTART_RUN = 5
"""So many late frames in a row, each later than the one before it, are of a device that began anew as well."""
FARTHEST_GAP = 1000
"""Frames: a larger step of the count is a device that counts otherwise, and not so many lost."""


@dataclass(slots=True)
class StreamStats:
    """Counts of one connection. Written by one thread, read by others: each is right, if not all of one moment."""

    packets: int = 0
    octets: int = 0
    frames: int = 0
    malformed: int = 0
    """Packets that were dropped for what they held."""
    late: int = 0
    """Frames that were dropped because a later one had come."""
    lost: int = 0
    """Frames that the device counted and that never came."""
    overrun: int = 0
    """Frames that were dropped because nobody took them in time."""
    problem: str = ""
    """What the last malformed packet was."""
    arrivals: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    """s on the monotonic clock, of the last frames."""
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    """s from a packet's arrival until its hand was posed, of the last frames."""
    _number: int | None = None
    _time: float | None = None
    _late: list[Frame] = field(default_factory=list)
    """The late frames since the last that was not."""

    def anew(self) -> None:
        """Another connection: its count and its clock are its own."""
        self._number, self._time, self._late = None, None, []

    def comes(self, frame: Frame, arrived: float) -> bool:
        """Counts a frame; whether it is newer than those before it."""
        if self._is_late(frame) and not self._began_anew(frame):
            self.late += 1
            return False
        self._late = []
        if frame.number is not None:
            if self._number is not None and 1 < frame.number - self._number < FARTHEST_GAP:
                self.lost += frame.number - self._number - 1
            self._number = frame.number
        self._time = frame.time
        self.frames += 1
        self.arrivals.append(arrived)
        return True

    def _is_late(self, frame: Frame) -> bool:
        """Whether a later one came before: by the count where there is one, else by the clock."""
        if frame.number is not None and self._number is not None:
            return 0 <= self._number - frame.number < RESTART_FRAMES
        if frame.time is not None and self._time is not None:
            # A clock that stands still tells nothing.
            return 0.0 < self._time - frame.time < RESTART
        return False

    def _began_anew(self, frame: Frame) -> bool:
        """Whether a late frame is one of a run that goes on as a device's frames do."""
        before = self._late[-1] if self._late else None
        goes_on = before is not None and _after(frame, before)
        self._late = [*self._late, frame] if goes_on else [frame]
        if len(self._late) < RESTART_RUN:
            return False
        self.anew()
        return True

    def rate(self, now: float) -> float:
        """Frames per second over the last second or so; 0 when none came for two."""
        recent = [arrived for arrived in list(self.arrivals) if now - arrived < 2.0]
        if len(recent) < 2 or recent[-1] <= recent[0]:
            return 0.0
        return (len(recent) - 1) / (recent[-1] - recent[0])

    def jitter(self) -> float:
        """s, the standard deviation of the steps between frames."""
        steps = np.diff(list(self.arrivals))
        return float(steps.std()) if len(steps) > 1 else 0.0

    def latency(self) -> tuple[float, float]:
        """s, the median and the 99th percentile from arrival to pose."""
        known = list(self.latencies)
        return (float(np.median(known)), float(np.percentile(known, 99))) if known else (0.0, 0.0)


def _after(frame: Frame, before: Frame) -> bool:
    """Whether a frame is later than another, by the count where there is one, else by the clock."""
    if frame.number is not None and before.number is not None:
        return frame.number > before.number
    return frame.time is not None and before.time is not None and frame.time > before.time
