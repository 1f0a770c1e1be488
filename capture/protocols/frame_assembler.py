"""Assembly of frames from hands that a device sends one after the other."""

from ..frame import Frame, concatenate_frames


class FrameAssembler:
    """Assembles hands into frames without waiting for hands that are lost.

    A frame is complete when the hand arrives that was the last of the previous frame. If that hand disappears, one
    frame is completed only by the start of the next; later frames are not delayed. A hand with another frame number, or
    the same hand again, starts the next frame.
    """

    def __init__(self) -> None:
        self._hands: dict[str, Frame] = {}
        self._order: list[str] = []
        """The hands of a frame, in order of arrival."""

    def add(self, hand: str, frame: Frame) -> list[Frame]:
        """Add a hand's part of a frame, and return the frames that it completes. hand: a name from a small set."""
        completed: list[Frame] = []
        if hand in self._hands:
            self._order = list(self._hands)
            completed.append(self._close())
        elif any(part.number != frame.number for part in self._hands.values()):
            self._order = [*(name for name in self._order if name not in self._hands), *self._hands]
            completed.append(self._close())
        if hand not in self._order:
            self._order.append(hand)
        self._hands[hand] = frame
        return [*completed, self._close()] if hand == self._order[-1] else completed

    def _close(self) -> Frame:
        parts = tuple(self._hands[hand] for hand in sorted(self._hands))
        self._hands = {}
        return parts[0] if len(parts) == 1 else concatenate_frames(parts)
