"""One clock for the frames of a device, whatever its own does: stand still, begin anew, leap, or come now and then."""

LEAP = 2.0
"""s by which a device's clock may go on further than the time between two packets."""
LEAST = 1e-4
"""s between two frames."""


class DeviceClock:
    """Moments that only go on: the device's own time for as long as that goes on, else when its packets came.

    Where the device's time is anew or leaps, it is counted on from the frame before by when the packets came.
    """

    def __init__(self) -> None:
        self._now: float | None = None
        self._at = 0.0
        """s, when the frame before came."""
        self._told: tuple[float, float] | None = None
        """s, the device's last time and when it came."""
        self._ahead = 0.0
        """s, of these moments before the device's time."""

    def moment(self, told: float | None, at: float) -> float:
        """s of the next frame. told: its time by the device, None where it has none; at: s, when its packet came."""
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
