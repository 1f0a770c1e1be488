"""Detection of frame boundaries in a stream of separate messages that a device repeats in every frame."""

from collections.abc import Callable, Mapping

REMEMBERED = 0b1111
"""Mask of the last four frames in the history."""
REGULAR = 3
"""In how many of them a message must have arrived to be expected in the next frame."""
DOUBTED = 3
"""Cycles in a row that may span more than one frame before the order is learnt again: it was learnt from incomplete
frames, or the sender has changed.
"""


class FrameCycle:
    """Learns the order of a frame's messages, and then knows a frame to be complete with the last of them.

    If that message is missing, the frame ends when the next begins: with a message that comes no later in the order
    than the previous one. So neither lost nor occasional messages delay frames permanently.
    """

    def __init__(self, first: Callable[[Mapping[str, bool]], str]) -> None:
        """first: chooses the message with which a frame starts, from the keys of one cycle in order of arrival; each
        value says whether the message was the first of its packet.
        """
        self.round = 0
        """Number of the current frame."""
        self._first = first
        self._window: dict[str, bool] = {}
        """The messages since the last repetition: one cycle."""
        self._stale = True
        self._place: dict[str, int] = {}
        self._history: dict[str, int] = {}
        """For each message, one bit per frame, the newest lowest: whether it arrived."""
        self._here: set[str] = set()
        self._at, self._end, self._ended = 0, 0, False
        self._begun, self._doubt = 0, 0
        """Frames started in the window, and windows in a row with more than one."""

    def comes(self, thing: str, begins: bool) -> tuple[bool, bool]:
        """Take the next message; return whether a frame ended before it, and whether one ends with it.

        thing: a key from a small set; begins: whether the message is the first of its packet.
        """
        if thing in self._window:
            self._doubt = self._doubt + 1 if self._begun > 1 else 0
            if self._stale or self._doubt == DOUBTED:
                self._learn()
            self._window, self._begun = {}, 0
        self._window[thing] = begins
        if thing not in self._place:
            self._stale = True
            return False, False
        place = self._place[thing]
        overdue = place <= self._at and not self._ended
        if place <= self._at:
            self._turn_over()
        self._at = place
        self._here.add(thing)
        ends = place >= self._end and not self._ended
        self._ended = self._ended or ends
        return overdue, ends

    def _learn(self) -> None:
        """Learn the order from the window, which is one cycle."""
        things = list(self._window)
        begin = things.index(self._first(self._window))
        self._place = {thing: place for place, thing in enumerate(things[begin:] + things[:begin])}
        self._history = {thing: self._history.get(thing, REMEMBERED >> 1) for thing in things}
        self._stale, self._doubt = False, 0
        # A window that does not start with a frame spans two.
        self._at, self._ended = self._place[things[-1]], self._ended or begin > 0

    def _turn_over(self) -> None:
        self.round += 1
        self._begun += 1
        for thing, past in self._history.items():
            self._history[thing] = (past << 1 | (thing in self._here)) & REMEMBERED
        regular = [self._place[thing] for thing, past in self._history.items() if past.bit_count() >= REGULAR]
        self._end = max(regular, default=0)
        self._here, self._ended = set(), False
