"""Cycle: where one round ends and the next begins, of things that a device tells one by one, over and over."""

from collections.abc import Callable, Mapping

REMEMBERED = 0b1111
"""The last four rounds."""
REGULAR = 3
"""In how many of them a thing came that the others wait for: one may be lost, but not every second."""
DOUBTED = 3
"""How often running all things may come in more than one round before their order is learnt anew: what was learnt from
had gaps, or another sender has come.
"""


class FrameCycle:
    """Learns the order in which things come, and then knows a round to be whole with its last thing.

    Where that stays away, the round is over when the next begins: with a thing that comes no later in the order than
    the one before it. So neither what is lost nor what comes only now and then holds up a round for good.
    """

    def __init__(self, first: Callable[[Mapping[str, bool]], str]) -> None:
        """first: with which of all things, in their order but begun anywhere, a round begins; the value of each is
        whether it was the first of a packet.
        """
        self.round = 0
        """Which one it is."""
        self._first = first
        self._window: dict[str, bool] = {}
        """What came since something came again."""
        self._stale = True
        self._place: dict[str, int] = {}
        self._history: dict[str, int] = {}
        """A bit a round, the newest lowest: whether a thing came."""
        self._here: set[str] = set()
        self._at, self._end, self._ended = 0, 0, False
        self._begun, self._doubt = 0, 0
        """Rounds that began in the window, and windows with more than one."""

    def comes(self, thing: str, begins: bool) -> tuple[bool, bool]:
        """Takes one of few things; whether a round ended before it, and whether one ends with it.

        begins: whether it is the first of a packet.
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
        """The order is that of the window, which is one time round."""
        things = list(self._window)
        begin = things.index(self._first(self._window))
        self._place = {thing: place for place, thing in enumerate(things[begin:] + things[:begin])}
        self._history = {thing: self._history.get(thing, REMEMBERED >> 1) for thing in things}
        self._stale, self._doubt = False, 0
        # What was heard from its midst on is of two rounds.
        self._at, self._ended = self._place[things[-1]], self._ended or begin > 0

    def _turn_over(self) -> None:
        self.round += 1
        self._begun += 1
        for thing, past in self._history.items():
            self._history[thing] = (past << 1 | (thing in self._here)) & REMEMBERED
        regular = [self._place[thing] for thing, past in self._history.items() if past.bit_count() >= REGULAR]
        self._end = max(regular, default=0)
        self._here, self._ended = set(), False
