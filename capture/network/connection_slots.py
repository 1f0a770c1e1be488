"""A limit on the clients of a listener: which are admitted, and which are disconnected to admit another."""

import threading
import time
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

MAX_CLIENTS = 8
"""Maximum number of clients that send at a time."""
IDLE_S = 2.0
"""s without a useful packet after which a client loses its slot to another, if all slots are taken."""

ClientT = TypeVar("ClientT", bound=Hashable)


@dataclass(slots=True)
class _Slot:
    sender: str
    """IP address."""
    last_used: float
    """s on the clock of time.monotonic: when it connected, or last sent a useful packet."""


class ConnectionSlots(Generic[ClientT]):
    """The slots of a listener's clients. Safe with several threads.

    A client keeps its slot by sending useful packets, that is, valid ones of the sender that is followed. Other bytes
    do not count: a performer is admitted however many strangers keep their connections busy. A machine with several
    slots loses one to a machine with none, and so every performer can be seen and chosen.
    """

    def __init__(self, count: int = MAX_CLIENTS) -> None:
        self._count = count
        self._slots: dict[ClientT, _Slot] = {}
        self._lock = threading.Lock()

    def admit(self, client: ClientT, sender: str) -> ClientT | None:
        """Give a client a slot. Return the client to disconnect: the one that loses its slot, or `client` itself."""
        now = time.monotonic()
        with self._lock:
            disconnected = None
            if len(self._slots) >= self._count:
                disconnected = self._choose_loser(sender, now)
                if disconnected is None:
                    return client
                del self._slots[disconnected]
            self._slots[client] = _Slot(sender, now)
            return disconnected

    def _choose_loser(self, sender: str, now: float) -> ClientT | None:
        """Return the client that loses its slot to a new client of `sender`; None if all keep their slots."""
        oldest_first = sorted(self._slots, key=lambda client: self._slots[client].last_used)
        if now - self._slots[oldest_first[0]].last_used > IDLE_S:
            return oldest_first[0]
        counts = Counter(slot.sender for slot in self._slots.values())
        busiest_sender, connections = counts.most_common(1)[0]
        if connections < counts[sender] + 2:
            return None
        return next(client for client in oldest_first if self._slots[client].sender == busiest_sender)

    def keep(self, client: ClientT) -> None:
        """Note that a client has sent a useful packet."""
        with self._lock:
            if client in self._slots:
                self._slots[client].last_used = time.monotonic()

    def release(self, client: ClientT) -> None:
        """Free the slot of a client, if it has one."""
        with self._lock:
            self._slots.pop(client, None)
