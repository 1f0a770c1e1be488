"""TCP connections, and a transport and a sender for lines of text."""

import selectors
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Self

from ...errors import StreamError
from .connection_slots import ConnectionSlots
from .sender import OutgoingFrame
from .transport import MAX_PACKET_SIZE, TICK, Address, Incoming, Packets, socket_error

CONNECT_TIMEOUT_S = 2.0
"""Maximum wait for a connection in s."""


def connect(address: Address) -> socket.socket:
    """Connect to an address; reads time out after a TICK. Raises StreamError."""
    try:
        sock = socket.create_connection((address.host, address.port), timeout=CONNECT_TIMEOUT_S)
    except OSError as error:
        raise StreamError(socket_error(f"TCP {address}", error)) from None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(TICK)
    return sock


def listen(address: Address) -> socket.socket:
    """Return a socket that accepts connections at an address. Raises StreamError."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # Allows a port to be reused right after its last connection has ended.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address.host, address.port))
        sock.listen()
    except OSError as error:
        sock.close()
        raise StreamError(socket_error(f"TCP {address}", error)) from None
    return sock


@dataclass(frozen=True, slots=True)
class LineListener:
    """A Transport of lines of text from clients that connect to a port; each line is a packet.

    A client whose line is rejected is disconnected: the other lines of a browser's request are not read.
    """

    address: Address

    def packets(self) -> Packets:
        """See Transport."""
        with _LineClients(listen(self.address)) as clients:
            yield None
            while True:
                lines = clients.read_lines()
                for client, line in lines:
                    keep = partial(clients.slots.keep, client)
                    yield None if client.is_rejected else Incoming(line, client.sender, client.reject, keep)
                if not lines:
                    yield None

    def status(self) -> str:
        """See Transport."""
        return f"listening on TCP {self.address}"


@dataclass(slots=True, eq=False)
class _Client:
    socket: socket.socket
    sender: str
    """IP address."""
    partial_line: bytes = b""
    is_rejected: bool = False

    def reject(self) -> None:
        """Disconnect the client before the next read, and ignore the lines that have arrived."""
        self.is_rejected = True


class _LineClients:
    """The connected clients and their incomplete lines."""

    def __init__(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._connected: list[_Client] = []
        self.slots = ConnectionSlots[_Client]()
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in list(self._connected):
            self._disconnect(client)
        self._selector.close()
        self._listener.close()

    def read_lines(self) -> list[tuple[_Client, bytes]]:
        """Return the lines completed within a TICK, each with its client. Disconnects rejected clients first."""
        for client in [client for client in self._connected if client.is_rejected]:
            self._disconnect(client)
        lines: list[tuple[_Client, bytes]] = []
        for key, _ in self._selector.select(TICK):
            if key.data is None:
                self._accept()
            elif key.data in self._connected:
                lines += [(key.data, line) for line in self._read(key.data)]
        return lines

    def _accept(self) -> None:
        try:
            connection, address = self._listener.accept()
        except OSError:
            # The client disconnected before it was accepted.
            return
        # A headset that lost its network reconnects while its old connection is still open.
        client = _Client(connection, str(address[0]))
        disconnected = self.slots.admit(client, client.sender)
        if disconnected is client:
            connection.close()
            return
        if disconnected is not None:
            self._disconnect(disconnected)
        connection.setblocking(False)
        self._connected.append(client)
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _read(self, client: _Client) -> list[bytes]:
        """Return the lines completed by a client's next data.

        Drops a client that disconnects or sends too long a line.
        """
        try:
            data = client.socket.recv(MAX_PACKET_SIZE)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        *lines, client.partial_line = (client.partial_line + data).split(b"\n")
        if not data or len(client.partial_line) > MAX_PACKET_SIZE:
            self._disconnect(client)
        return [line for line in lines if line]

    def _disconnect(self, client: _Client) -> None:
        self.slots.release(client)
        self._connected.remove(client)
        self._selector.unregister(client.socket)
        client.socket.close()


class LineSender(ABC):
    """A Sender that connects and sends lines of text."""

    has_no_client = False

    def __init__(self, address: Address) -> None:
        self._address = address

    def __enter__(self) -> Self:
        self._socket = connect(self._address)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, outgoing: OutgoingFrame) -> None:
        """See Sender."""
        try:
            for packet in self.packets(outgoing):
                self._socket.sendall(packet)
        except OSError:
            raise StreamError(f"TCP {self._address} closed the connection") from None

    @abstractmethod
    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """Return the lines of one frame, each with its line break."""
