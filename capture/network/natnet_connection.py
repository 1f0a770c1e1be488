"""NatNet connections: a client sends commands to the server's port and receives packets by unicast or multicast."""

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
from .sender import OutgoingFrame
from .transport import (
    MAX_PACKET_SIZE,
    TICK,
    Address,
    Incoming,
    Packets,
    multicast_socket,
    receive_from,
    route,
    socket_error,
    udp_socket,
)

CONNECT, INFO, DESCRIBE, DESCRIPTIONS, FRAME, KEEP_ALIVE = 0, 1, 4, 5, 7, 10
DEFAULT_GROUP = "239.255.42.99"
"""Default multicast group of Motive."""
DATA_PORT = 1511
MULTICAST_FIRST_BYTES = range(224, 240)
"""First bytes of multicast addresses."""
KEEP_ALIVE_INTERVAL_S = 1.0
"""s between messages to the server, since Motive drops silent clients."""
DESCRIBE_INTERVAL_S = 10.0
"""s between requests for the descriptions, since models may be added while Motive runs."""
ANSWER_TIMEOUT_S = 4.0
"""Maximum wait for the first answer in s."""
SILENCE_TIMEOUT_S = 3.0
"""s without a packet after which the client reconnects, since a restarted server does not know it."""
_HELLO = b"Knuckle".ljust(256, b"\0") + bytes(8)
"""A client's name, its version, and the version of NatNet; 0 selects the server's."""
_INFO_KIND, _DESCRIPTIONS_KIND = (struct.pack("<H", kind) for kind in (INFO, DESCRIPTIONS))
_CONNECTION_OFFSET, _CONNECTION = 4 + 256 + 8 + 8, struct.Struct("<H?4s")
"""Offset and format of the connection's data in the server's info: port, whether multicast, and group."""


def message(kind: int, content: bytes = b"") -> bytes:
    """Return a NatNet message."""
    return struct.pack("<HH", kind, len(content) & 0xFFFF) + content


@dataclass(frozen=True, slots=True)
class NatnetClient:
    """A Transport from a NatNet server, unicast or multicast as the server is set."""

    address: Address
    """The server and its command port."""

    def packets(self) -> Packets:
        """See Transport."""
        session = _NatnetSession(self.address)
        try:
            yield from session.packets()
        finally:
            session.close()

    def status(self) -> str:
        """See Transport."""
        return f"asking NatNet at UDP {self.address}"


class _NatnetSession:
    """A session with a server; packets from other hosts are dropped."""

    def __init__(self, address: Address) -> None:
        """Raises StreamError."""
        self._address = address
        self._local_host, self._server_host = route(address)
        self._command_socket = udp_socket(Address(self._local_host, 0))
        self._sockets: list[socket.socket] = []
        self._selector = selectors.DefaultSelector()
        self._add_socket(self._command_socket)

    def close(self) -> None:
        self._selector.close()
        for sock in self._sockets:
            sock.close()

    def packets(self) -> Packets:
        last_received = start = time.monotonic()
        last_sent = last_described = -math.inf
        connected = described = False
        while True:
            now = time.monotonic()
            if now - last_sent > KEEP_ALIVE_INTERVAL_S:
                silent = now - last_received >= SILENCE_TIMEOUT_S
                self._send(message(CONNECT, _HELLO) if silent or not connected else message(KEEP_ALIVE))
                last_sent = now
            if connected and now - last_described > (DESCRIBE_INTERVAL_S if described else KEEP_ALIVE_INTERVAL_S):
                self._send(message(DESCRIBE))
                last_described = now
            for packet in self._receive():
                if packet is not None:
                    last_received, kind = now, packet[:2]
                    described = described or kind == _DESCRIPTIONS_KIND
                    if kind == _INFO_KIND:
                        self._join_group(packet)
                        # A restarted server may have other models.
                        connected, described, last_described = True, False, -math.inf
                yield None if packet is None else Incoming(packet)
            if not connected and now - start > ANSWER_TIMEOUT_S:
                raise StreamError(
                    f"UDP {self._address} does not answer: is Motive streaming there (Edit, Settings, Streaming), "
                    "and does a firewall let it through?"
                )

    def _send(self, packet: bytes) -> None:
        try:
            self._command_socket.sendto(packet, (self._server_host, self._address.port))
        except OSError as error:
            raise StreamError(socket_error(f"UDP {self._address}", error)) from None

    def _receive(self) -> Iterator[bytes | None]:
        """Yield the packets received; None for a packet of another host, and after a TICK without packets."""
        events = self._selector.select(TICK)
        for key, _ in events:
            if isinstance(key.fileobj, socket.socket):
                packet, sender = receive_from(key.fileobj)
                yield packet if sender == self._server_host else None
        if not events:
            yield None

    def _join_group(self, info: bytes) -> None:
        """Join the server's multicast group, unless it has none or it is already joined."""
        content = info[_CONNECTION_OFFSET : _CONNECTION_OFFSET + _CONNECTION.size]
        if len(self._sockets) > 1 or len(content) < _CONNECTION.size:
            return
        port, multicast, group = _CONNECTION.unpack(content)
        if multicast:
            host = socket.inet_ntoa(group) if group[0] in MULTICAST_FIRST_BYTES else DEFAULT_GROUP
            self._add_socket(multicast_socket(Address(host, port or DATA_PORT), self._local_host))

    def _add_socket(self, sock: socket.socket) -> None:
        sock.settimeout(TICK)
        self._sockets.append(sock)
        self._selector.register(sock, selectors.EVENT_READ)


class NatnetServer(ABC):
    """A Sender that imitates Motive: it answers clients and sends them frames."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._clients: set[tuple[str, int]] = set()
        self._last_outgoing: OutgoingFrame | None = None

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
    def has_no_client(self) -> bool:
        """See Sender."""
        return not self._clients

    def send(self, outgoing: OutgoingFrame) -> None:
        """See Sender."""
        self._last_outgoing = outgoing
        frame = self.frame(outgoing)
        for client in list(self._clients):
            self._socket.sendto(frame, client)

    def _answer(self) -> None:
        while not self._stop.is_set():
            try:
                packet, client = self._socket.recvfrom(MAX_PACKET_SIZE)
            except (TimeoutError, ConnectionResetError, ConnectionRefusedError):
                continue
            kind = int.from_bytes(packet[:2], "little")
            if kind == CONNECT:
                self._clients.add(client)
                self._socket.sendto(self.info(), client)
            elif kind == DESCRIBE and self._last_outgoing is not None:
                self._socket.sendto(self.descriptions(self._last_outgoing), client)

    @abstractmethod
    def info(self) -> bytes:
        """Return the server's info message."""

    @abstractmethod
    def descriptions(self, outgoing: OutgoingFrame) -> bytes:
        """Return the message that describes the marker sets and skeletons of the frames."""

    @abstractmethod
    def frame(self, outgoing: OutgoingFrame) -> bytes:
        """Return the message of one frame."""
