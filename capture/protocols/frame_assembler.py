"""Assembly of frames from hands that a device sends one after the other."""

from ..frame import Frame, together


class FrameAssembler:
    """Assembles hands into frames without waiting for hands that are lost.

    A frame is complete with the hand that came last in the previous frame. If that hand disappears, one frame is
    completed only by the start of the next, and later ones are not delayed. A hand with another frame number, or the
    same hand again, starts the next frame.
    """

    def __init__(self) -> None:
        self._here: dict[str, Frame] = {}
        self._order: list[str] = []
        """The hands of a frame, in order of arrival."""

    def add(self, hand: str, frame: Frame) -> list[Frame]:
        """Add one hand's part of a frame; return the frames that it completes. hand: a name from a small set."""
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
