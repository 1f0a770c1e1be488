"""Who may be connected: a bounded number of places for clients that come and go, and who gives one up for another."""

import threading
import time
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

MAX_CLIENTS = 8
"""Most clients that send at a time."""
IDLE_S = 2.0
"""s without a packet of use after which a client gives up its place to another, if all places are taken."""

ClientT = TypeVar("ClientT", bound=Hashable)


@dataclass(slots=True)
class _Place:
    sender: str
    """IP address."""
    last_used: float
    """s on the clock of time.monotonic: when it connected, or last sent a packet of use."""


class Places(Generic[ClientT]):
    """The places of a listener's clients. Safe with several threads.

    A client keeps its place by packets of use: those that are understood, of the sender that is followed. Bytes alone
    do not keep it, so that a performer, above all one who was chosen, always comes in among strangers who keep their
    connections busy. A machine that takes several places gives one up to a machine that has none, so that a performer
    is seen at least, and can be chosen.
    """

    def __init__(self, count: int = MAX_CLIENTS) -> None:
        self._count = count
        self._taken: dict[ClientT, _Place] = {}
        self._lock = threading.Lock()

    def enter(self, client: ClientT, sender: str) -> ClientT | None:
        """Give a client a place. Returns the client to disconnect for it, `client` itself if it gets none."""
        now = time.monotonic()
        with self._lock:
            leaves = None
            if len(self._taken) >= self._count:
                leaves = self._next_to_leave(sender, now)
                if leaves is None:
                    return client
                del self._taken[leaves]
            self._taken[client] = _Place(sender, now)
            return leaves

    def _next_to_leave(self, sender: str, now: float) -> ClientT | None:
        """The client that gives up its place to one from `sender`; None if all keep theirs."""
        oldest_first = sorted(self._taken, key=lambda client: self._taken[client].last_used)
        if now - self._taken[oldest_first[0]].last_used > IDLE_S:
            return oldest_first[0]
        counts = Counter(place.sender for place in self._taken.values())
        crowded, most = counts.most_common(1)[0]
        if most < counts[sender] + 2:
            return None
        return next(client for client in oldest_first if self._taken[client].sender == crowded)

    def keep(self, client: ClientT) -> None:
        """Note that a client has sent a packet of use."""
        with self._lock:
            if client in self._taken:
                self._taken[client].last_used = time.monotonic()

    def leave(self, client: ClientT) -> None:
        """Free the place of a client, if it has one."""
        with self._lock:
            self._taken.pop(client, None)
