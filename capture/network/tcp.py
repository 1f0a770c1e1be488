"""TCP connections, and a transport and a sender of lines of text."""

import selectors
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from ...errors import StreamError
from .sender import Outgoing
from .transport import LARGEST_PACKET, TICK, Address, Packets, refusal

MOST_CALLERS = 8
"""Most connections at a time."""
PATIENCE = 2.0
"""Longest wait for a connection in s."""


def connected(address: Address) -> socket.socket:
    """Connect to an address; reads time out after a TICK. Raises StreamError."""
    try:
        own = socket.create_connection((address.host, address.port), timeout=PATIENCE)
    except OSError as error:
        raise StreamError(refusal(f"TCP {address}", error)) from None
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    own.settimeout(TICK)
    return own


def listening(address: Address) -> socket.socket:
    """A socket that accepts connections at an address. Raises StreamError."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # Allows a port to be reused right after its last connection has ended.
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((address.host, address.port))
        own.listen()
    except OSError as error:
        own.close()
        raise StreamError(refusal(f"TCP {address}", error)) from None
    return own


@dataclass(frozen=True, slots=True)
class LineListener:
    """A Transport of lines of text from clients that connect to a port; each line is a packet."""

    address: Address

    def packets(self) -> Packets:
        """See Transport."""
        with _Callers(listening(self.address)) as callers:
            while True:
                lines = callers.hear()
                yield from lines
                if not lines:
                    yield None

    def said(self) -> str:
        """See Transport."""
        return f"listening on TCP {self.address}"


class _Callers:
    """The connected clients and their incomplete lines."""

    def __init__(self, port: socket.socket) -> None:
        port.setblocking(False)
        self._port = port
        self._begun: dict[socket.socket, bytes] = {}
        self._ready = selectors.DefaultSelector()
        self._ready.register(port, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for caller in list(self._begun):
            self._hang_up(caller)
        self._ready.close()
        self._port.close()

    def hear(self) -> list[bytes]:
        """The lines completed within a TICK."""
        lines: list[bytes] = []
        for key, _ in self._ready.select(TICK):
            if key.fileobj is self._port:
                self._take()
            elif isinstance(key.fileobj, socket.socket) and key.fileobj in self._begun:
                lines += self._read(key.fileobj)
        return lines

    def _take(self) -> None:
        try:
            caller, _ = self._port.accept()
        except OSError:
            # The client disconnected before it was accepted.
            return
        # A headset that lost its network connects again while its old connection is still open.
        if len(self._begun) >= MOST_CALLERS:
            self._hang_up(next(iter(self._begun)))
        caller.setblocking(False)
        self._begun[caller] = b""
        self._ready.register(caller, selectors.EVENT_READ)

    def _read(self, caller: socket.socket) -> list[bytes]:
        """The lines completed by a client's next data. Drops a client that disconnects or sends too long a line."""
        try:
            said = caller.recv(LARGEST_PACKET)
        except BlockingIOError:
            return []
        except OSError:
            said = b""
        *lines, rest = (self._begun[caller] + said).split(b"\n")
        self._begun[caller] = rest
        if not said or len(rest) > LARGEST_PACKET:
            self._hang_up(caller)
        return [line for line in lines if line]

    def _hang_up(self, caller: socket.socket) -> None:
        del self._begun[caller]
        self._ready.unregister(caller)
        caller.close()


class LineSender(ABC):
    """A Sender that connects and sends lines of text."""

    waits = False

    def __init__(self, address: Address) -> None:
        self._address = address

    def __enter__(self) -> Self:
        self._socket = connected(self._address)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, moment: Outgoing) -> None:
        """See Sender."""
        try:
            for packet in self.packets(moment):
                self._socket.sendall(packet)
        except OSError:
            raise StreamError(f"TCP {self._address} hung up") from None

    @abstractmethod
    def packets(self, moment: Outgoing) -> Iterator[bytes]:
        """The lines of one frame, each with its line break."""
