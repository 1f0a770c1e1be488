"""Hands that a device sends one after the other, put together into frames without waiting for what does not come."""

from ..frame import Frame, together


class FrameAssembler:
    """A frame is whole with the hand that came last in the round before, so that no frame waits for one that is lost.

    Where that last hand stays away, one frame waits for the next round, and from then on none does. Hands of two
    numbers are of two frames; without numbers a hand that comes again begins the next one.
    """

    def __init__(self) -> None:
        self._here: dict[str, Frame] = {}
        self._order: list[str] = []
        """The hands of a round, as they come."""

    def add(self, hand: str, frame: Frame) -> list[Frame]:
        """A hand's part; the frames that are whole with it. hand: what it is called, of few that there may be."""
        done: list[Frame] = []
        if hand in self._here:
            self._order = list(self._here)
            done.append(self._close())
        elif any(other.number != frame.number for other in self._here.values()):
            self._order = [*(other for other in self._order if other not in self._here), *self._here]
            done.append(self._close())
        if hand not in self._order:
            self._order.append(hand)
        self._here[hand] = frame
        return [*done, self._close()] if hand == self._order[-1] else done

    def _close(self) -> Frame:
        parts = tuple(self._here[hand] for hand in sorted(self._here))
        self._here = {}
        return parts[0] if len(parts) == 1 else together(parts)
