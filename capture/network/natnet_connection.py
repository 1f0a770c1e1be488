"""NatNet connections: a client connects to the server's command port and receives packets from there or a group."""

import math
import selectors
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from ...errors import StreamError
from .sender import Outgoing
from .transport import LARGEST_PACKET, TICK, Address, Packets, group_socket, received_from, refusal, route, udp_socket

CONNECT, INFO, DESCRIBE, DESCRIPTIONS, FRAME, KEEP_ALIVE = 0, 1, 4, 5, 7, 10
GROUP = "239.255.42.99"
"""Default multicast group of Motive."""
DATA_PORT = 1511
MULTICAST = range(224, 240)
"""First bytes of multicast addresses."""
AGAIN = 1.0
"""s between messages to the server: Motive drops clients that are silent."""
DESCRIBE_AGAIN = 10.0
"""s between requests for the descriptions: models may be added while Motive runs."""
PATIENCE = 4.0
"""Longest wait for the first answer in s."""
SILENCE = 3.0
"""s without a packet after which the client connects again: a restarted server does not know it."""
_HELLO = b"Knuckle".ljust(256, b"\0") + bytes(8)
"""A client's name, its version, and that of NatNet, where 0 means the server's own."""
_IS_INFO, _IS_DESCRIPTIONS = (struct.pack("<H", kind) for kind in (INFO, DESCRIPTIONS))
_DATA_AT, _DATA = 4 + 256 + 8 + 8, struct.Struct("<H?4s")
"""Offset and format of the connection's data in the server's info: port, whether multicast, and group."""


def message(kind: int, content: bytes = b"") -> bytes:
    """A NatNet message."""
    return struct.pack("<HH", kind, len(content) & 0xFFFF) + content


@dataclass(frozen=True, slots=True)
class NatnetLink:
    """A Transport from a NatNet server, unicast or multicast as the server is set."""

    address: Address
    """The server and its command port."""

    def packets(self) -> Packets:
        """See Transport."""
        talk = _Talk(self.address)
        try:
            yield from talk.packets()
        finally:
            talk.close()

    def said(self) -> str:
        """See Transport."""
        return f"asking NatNet at UDP {self.address}"


class _Talk:
    """A session with one server, from any local port; packets from other hosts are dropped."""

    def __init__(self, address: Address) -> None:
        """Raises StreamError."""
        self._address = address
        self._here, self._there = route(address)
        self._own = udp_socket(Address(self._here, 0))
        self._sockets: list[socket.socket] = []
        self._ready = selectors.DefaultSelector()
        self._listen(self._own)

    def close(self) -> None:
        self._ready.close()
        for sock in self._sockets:
            sock.close()

    def packets(self) -> Packets:
        heard = began = time.monotonic()
        spoken = asked = -math.inf
        greeted = described = False
        while True:
            now = time.monotonic()
            if now - spoken > AGAIN:
                self._say(message(KEEP_ALIVE) if greeted and now - heard < SILENCE else message(CONNECT, _HELLO))
                spoken = now
            if greeted and now - asked > (DESCRIBE_AGAIN if described else AGAIN):
                self._say(message(DESCRIBE))
                asked = now
            for packet in self._hear():
                if packet is not None:
                    heard, kind = now, packet[:2]
                    described = described or kind == _IS_DESCRIPTIONS
                    if kind == _IS_INFO:
                        self._join(packet)
                        # A restarted server may have other models.
                        greeted, described, asked = True, False, -math.inf
                yield packet
            if not greeted and now - began > PATIENCE:
                raise StreamError(
                    f"UDP {self._address} does not answer: is Motive streaming there (Edit, Settings, Streaming), "
                    "and does a firewall let it through?"
                )

    def _say(self, what: bytes) -> None:
        try:
            self._own.sendto(what, (self._there, self._address.port))
        except OSError as error:
            raise StreamError(refusal(f"UDP {self._address}", error)) from None

    def _hear(self) -> Iterator[bytes | None]:
        """The packets received; None for one from another host, and after a TICK without any."""
        ready = self._ready.select(TICK)
        for key, _ in ready:
            if isinstance(key.fileobj, socket.socket):
                packet, sender = received_from(key.fileobj)
                yield packet if sender == self._there else None
        if not ready:
            yield None

    def _join(self, info: bytes) -> None:
        """Join the server's multicast group, if it has one that is not joined yet."""
        content = info[_DATA_AT : _DATA_AT + _DATA.size]
        if len(self._sockets) > 1 or len(content) < _DATA.size:
            return
        port, multicast, group = _DATA.unpack(content)
        if multicast:
            host = socket.inet_ntoa(group) if group[0] in MULTICAST else GROUP
            self._listen(group_socket(Address(host, port or DATA_PORT), self._here))

    def _listen(self, sock: socket.socket) -> None:
        sock.settimeout(TICK)
        self._sockets.append(sock)
        self._ready.register(sock, selectors.EVENT_READ)


class NatnetServer(ABC):
    """A Sender that imitates Motive: it answers clients and sends them frames."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._clients: set[tuple[str, int]] = set()
        self._moment: Outgoing | None = None

    def __enter__(self) -> Self:
        self._socket = udp_socket(self._address)
        self._socket.settimeout(TICK)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._answer, name="knuckle sender", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()

    @property
    def waits(self) -> bool:
        """See Sender."""
        return not self._clients

    def send(self, moment: Outgoing) -> None:
        """See Sender."""
        self._moment = moment
        frame = self.frame(moment)
        for client in list(self._clients):
            self._socket.sendto(frame, client)

    def _answer(self) -> None:
        while not self._stop.is_set():
            try:
                packet, client = self._socket.recvfrom(LARGEST_PACKET)
            except (TimeoutError, ConnectionResetError, ConnectionRefusedError):
                continue
            kind = int.from_bytes(packet[:2], "little")
            if kind == CONNECT:
                self._clients.add(client)
                self._socket.sendto(self.info(), client)
            elif kind == DESCRIBE and self._moment is not None:
                self._socket.sendto(self.descriptions(self._moment), client)

    @abstractmethod
    def info(self) -> bytes:
        """The server's info message."""

    @abstractmethod
    def descriptions(self, moment: Outgoing) -> bytes:
        """The message that describes the marker sets and skeletons of the frames."""

    @abstractmethod
    def frame(self, moment: Outgoing) -> bytes:
        """The message of one frame."""
