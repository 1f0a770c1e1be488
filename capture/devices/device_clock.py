"""A monotonic clock for a device's frames, even if the device's clock stops, restarts, jumps or is often missing."""

MAX_JUMP_S = 2.0
"""s by which a device's clock may advance more than the time between two packets; beyond it, the clock has jumped."""
MIN_STEP_S = 1e-4
"""Minimum step between two frames in s."""


class DeviceClock:
    """Strictly increasing times: by the device's clock while it advances steadily, else by the packets' arrivals.

    If the device's clock restarts or jumps, its offset is reset: the step becomes the time between the arrivals.
    """

    def __init__(self) -> None:
        self._now: float | None = None
        self._last_arrival = 0.0
        """Arrival of the previous frame in s."""
        self._last_timestamp: tuple[float, float] | None = None
        """The device's last timestamp and its arrival, both in s."""
        self._offset = 0.0
        """Offset in s from the device's time to this clock's."""

    def frame_time(self, timestamp: float | None, arrival: float) -> float:
        """Return the time of the next frame in s.

        timestamp: s on the device's clock; None if it sends none. arrival: s, when the packet arrived.
        """
        if self._now is None:
            self._now = arrival if timestamp is None else timestamp
        else:
            expected = self._now + arrival - self._last_arrival
            self._now = max(self._next(expected, timestamp, arrival), self._now + MIN_STEP_S)
        if timestamp is not None:
            self._last_timestamp = timestamp, arrival
        self._last_arrival = arrival
        return self._now

    def _next(self, expected: float, timestamp: float | None, arrival: float) -> float:
        if timestamp is None or (self._last_timestamp is not None and timestamp == self._last_timestamp[0]):
            return expected
        last, last_arrival = self._last_timestamp or (timestamp, arrival)
        if self._last_timestamp is None or not 0 < timestamp - last < arrival - last_arrival + MAX_JUMP_S:
            self._offset = expected - timestamp
        return timestamp + self._offset
