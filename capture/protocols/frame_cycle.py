"""Detection of frame boundaries in a stream of separate messages that a device repeats in every frame."""

from collections.abc import Callable, Mapping

HISTORY_MASK = 0b1111
"""Bits of the last four frames in the history of a message."""
EXPECTED_AFTER = 3
"""Number of the last four frames in which a message must have arrived to be expected in the next one."""
MAX_SPLIT_CYCLES = 3
"""Number of cycles in a row that span several frames after which the order is learnt again: it was learnt from
incomplete frames, or the sender has changed."""


class FrameCycle:
    """Learns the order of a frame's messages; a frame is then complete when the last of them arrives.

    If the last message is missing, the frame ends when the next one begins, with a message that is not later in the
    order than its predecessor. Neither lost nor occasional messages thus delay frames permanently.
    """

    def __init__(self, first: Callable[[Mapping[str, bool]], str]) -> None:
        """first: returns the key of the message with which a frame starts.

        Its argument is one cycle, in order of arrival: key -> whether the message was the first of its packet.
        """
        self.frame = 0
        """Number of the current frame."""
        self._choose_first = first
        self._window: dict[str, bool] = {}
        """The messages since the last repetition: one cycle."""
        self._must_relearn = True
        self._position: dict[str, int] = {}
        self._history: dict[str, int] = {}
        """Message -> whether it arrived in each of the last frames: a bit per frame, the lowest for the newest."""
        self._arrived: set[str] = set()
        self._last_position, self._last_expected, self._is_complete = 0, 0, False
        self._frames_started, self._split_cycles = 0, 0
        """Number of frames started in the window, and number of windows in a row in which several frames started."""

    def advance(self, key: str, first_of_packet: bool) -> tuple[bool, bool]:
        """Add the next message. Return whether a frame ended before it, and whether it is the last of its frame.

        key: identifies the message, from a small set. first_of_packet: whether it is the first of its packet.
        """
        if key in self._window:
            self._split_cycles = self._split_cycles + 1 if self._frames_started > 1 else 0
            if self._must_relearn or self._split_cycles == MAX_SPLIT_CYCLES:
                self._learn()
            self._window, self._frames_started = {}, 0
        self._window[key] = first_of_packet
        if key not in self._position:
            self._must_relearn = True
            return False, False
        position = self._position[key]
        has_ended = position <= self._last_position and not self._is_complete
        if position <= self._last_position:
            self._start_frame()
        self._last_position = position
        self._arrived.add(key)
        is_last = position >= self._last_expected and not self._is_complete
        self._is_complete = self._is_complete or is_last
        return has_ended, is_last

    def _learn(self) -> None:
        """Learn the order from the window, which is one cycle."""
        keys = list(self._window)
        start = keys.index(self._choose_first(self._window))
        self._position = {key: position for position, key in enumerate(keys[start:] + keys[:start])}
        self._history = {key: self._history.get(key, HISTORY_MASK >> 1) for key in keys}
        self._must_relearn, self._split_cycles = False, 0
        # A window that does not start with the first message of a frame spans two frames.
        self._last_position, self._is_complete = self._position[keys[-1]], self._is_complete or start > 0

    def _start_frame(self) -> None:
        self.frame += 1
        self._frames_started += 1
        for key, history in self._history.items():
            self._history[key] = (history << 1 | (key in self._arrived)) & HISTORY_MASK
        expected = [
            self._position[key] for key, history in self._history.items() if history.bit_count() >= EXPECTED_AFTER
        ]
        self._last_expected = max(expected, default=0)
        self._arrived, self._is_complete = set(), False
