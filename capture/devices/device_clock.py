"""A monotonic clock for a device's frames, even if the device's own stops, restarts, jumps or is often missing."""

LEAP = 2.0
"""s by which a device's clock may advance beyond the time between two packets before it counts as a jump."""
LEAST = 1e-4
"""Minimum step between two frames in s."""


class DeviceClock:
    """Strictly increasing times: the device's own while it advances steadily, else the packets' arrival times.

    If the device's time restarts or jumps, its offset is set anew so that the step equals that between the arrivals.
    """

    def __init__(self) -> None:
        self._now: float | None = None
        self._at = 0.0
        """Arrival of the previous frame in s."""
        self._told: tuple[float, float] | None = None
        """The device's last timestamp and its arrival, both in s."""
        self._ahead = 0.0
        """Offset in s from the device's time to this clock's."""

    def moment(self, told: float | None, at: float) -> float:
        """Time of the next frame in s, from the device's timestamp (None if it sends none) and the packet's arrival."""
        if self._now is None:
            self._now = at if told is None else told
        else:
            self._now = max(self._next(self._now + at - self._at, told, at), self._now + LEAST)
        if told is not None:
            self._told = told, at
        self._at = at
        return self._now

    def _next(self, by_arrival: float, told: float | None, at: float) -> float:
        if told is None or (self._told is not None and told == self._told[0]):
            return by_arrival
        before, came = self._told or (told, at)
        if self._told is None or not 0 < told - before < at - came + LEAP:
            self._ahead = by_arrival - told
        return told + self._ahead
