"""TCP: what is connected to, and a port at which lines of text are listened for."""

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
"""Connections at once."""
PATIENCE = 2.0
"""s for which a connection is waited for."""


def connected(address: Address) -> socket.socket:
    """A connection, whose reads wait a TICK. Raises StreamError."""
    try:
        own = socket.create_connection((address.host, address.port), timeout=PATIENCE)
    except OSError as error:
        raise StreamError(refusal(f"TCP {address}", error)) from None
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    own.settimeout(TICK)
    return own


def listening(address: Address) -> socket.socket:
    """A port at which connections are taken. Raises StreamError."""
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A port whose last connection has just ended may be had again.
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((address.host, address.port))
        own.listen()
    except OSError as error:
        own.close()
        raise StreamError(refusal(f"TCP {address}", error)) from None
    return own


@dataclass(frozen=True, slots=True)
class LineListener:
    """Lines of text from whoever connects to a port; each line is a packet."""

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
    """Who is connected, and the beginnings of their lines."""

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
        """The lines that are whole, after a TICK at most."""
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
            # It hung up before it was answered.
            return
        # A headset whose network was lost calls again, and its old connection is still there.
        if len(self._begun) >= MOST_CALLERS:
            self._hang_up(next(iter(self._begun)))
        caller.setblocking(False)
        self._begun[caller] = b""
        self._ready.register(caller, selectors.EVENT_READ)

    def _read(self, caller: socket.socket) -> list[bytes]:
        """The lines that are whole with what a caller says; one that hangs up, or never ends a line, is let go."""
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
    """A Sender that connects, and sends lines of text."""

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
        """The lines of one moment, each with its end."""
