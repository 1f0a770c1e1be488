"""Transports: sockets that listen or connect, each a generator of packets."""

import errno
import re
import socket
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

from ...errors import StreamError
from ..marker_labels import quoted

TICK = 0.1
"""s without a packet after which a transport yields None, to let its reader stop."""
MAX_PACKET_SIZE = 65_536
"""Maximum bytes of a packet that is read."""
RECEIVE_BUFFER_SIZE = 1 << 20
"""Size of a socket's receive buffer in bytes."""
LOCAL = "127.0.0.1"
ANY = "0.0.0.0"
"""All interfaces of this computer."""
MAX_HOST_LENGTH = 253
"""Maximum number of characters in a host name."""
_HOST = re.compile(r"[\w-]{1,63}(\.[\w-]{1,63})*\.?", re.ASCII)


def _do_nothing() -> None:
    """Do nothing, for a transport whose packets do not come over accepted connections."""


def _ignore_answer(_text: str) -> None:
    """Do nothing, for a sender that is not a page."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A packet and its sender."""

    content: bytes
    sender: str = ""
    """The sender's IP address; empty if Knuckle connected to it."""
    hang_up: Callable[[], None] = _do_nothing
    """Closes the connection that delivered the packet, if Knuckle accepted it."""
    keep: Callable[[], None] = _do_nothing
    """Marks the packet as useful, which keeps its connection open when others compete for it (ConnectionSlots)."""
    answer: Callable[[str], None] = _ignore_answer
    """Sends text to the page that sent the packet."""


Packets = Generator[Incoming | None, None, None]


@dataclass(frozen=True, slots=True)
class Address:
    """An address to listen on or connect to. Raises StreamError if host, port or a name is not valid."""

    host: str = LOCAL
    """This computer by default; 0.0.0.0 listens on all interfaces, also for other machines."""
    port: int = 0
    """0 for any free port."""
    page_names: tuple[str, ...] = ()
    """Host names by which browsers may request a page, such as a tunnel's, besides addresses and localhost."""

    def __post_init__(self) -> None:
        # An empty host would listen on all interfaces, and malformed names raise various exceptions.
        for name in (self.host, *self.page_names):
            if len(name) > MAX_HOST_LENGTH or not _HOST.fullmatch(name):
                raise StreamError(f"{quoted(name)} is not an address, expected one such as {LOCAL} or a host's name")
        if not 0 <= self.port <= 65535:
            raise StreamError(f"{self.port} is not a port, expected a number from 1 to 65535")

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Transport(Protocol):
    """A source of packets: a connection, or a socket that listens."""

    def packets(self) -> Packets:
        """Yield None once the socket is open, then packets as they arrive, and None after each TICK without one.

        Closing the generator disconnects.

        Raises StreamError if a port is in use or a connection is refused or lost; it may then be called again.
        """
        ...

    def status(self) -> str:
        """Return the transport's state, for the user: 'listening on UDP 127.0.0.1:39539'."""
        ...


@dataclass(frozen=True, slots=True)
class UdpListener:
    """A Transport of the datagrams that arrive at a port."""

    address: Address

    def packets(self) -> Packets:
        """See Transport."""
        with udp_socket(self.address) as sock:
            sock.settimeout(TICK)
            yield None
            while True:
                packet, sender = receive_from(sock)
                yield None if packet is None else Incoming(packet, sender)

    def status(self) -> str:
        """See Transport."""
        return f"listening on UDP {self.address}"


def udp_socket(address: Address, *, shared: bool = False) -> socket.socket:
    """Return a socket bound to an address. Raises StreamError. shared: whether other sockets may use the address."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_SIZE)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address.host, address.port))
    except OSError as error:
        sock.close()
        raise StreamError(socket_error(f"UDP {address}", error)) from None
    return sock


def multicast_socket(group: Address, interface: str) -> socket.socket:
    """Return a socket that joins a multicast group on the local interface with the given IP address.

    Raises StreamError.
    """
    # Binding to the group filters other datagrams out; Windows cannot bind to a group.
    sock = udp_socket(Address(ANY if sys.platform == "win32" else group.host, group.port), shared=True)
    try:
        member = socket.inet_aton(group.host) + socket.inet_aton(interface)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    except OSError as error:
        sock.close()
        raise StreamError(socket_error(f"the group {group} at {interface}", error)) from None
    return sock


def route(address: Address) -> tuple[str, str]:
    """Return the local IP address from which `address` is reached, and the IP address of `address`.

    Raises StreamError.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            # Connecting a UDP socket sends nothing.
            sock.connect((address.host, address.port))
            return str(sock.getsockname()[0]), str(sock.getpeername()[0])
        except OSError as error:
            raise StreamError(socket_error(f"UDP {address}", error)) from None


def receive_from(sock: socket.socket) -> tuple[bytes | None, str]:
    """Return a datagram and its sender's IP address, None if none arrived in time.

    Errors about earlier outgoing datagrams are ignored. Raises StreamError if the socket is lost.
    """
    try:
        packet, sender = sock.recvfrom(MAX_PACKET_SIZE)
        return packet, str(sender[0])
    except (TimeoutError, ConnectionResetError, ConnectionRefusedError):
        return None, ""
    except OSError as error:
        raise StreamError(f"the socket was lost ({error.strerror or error})") from None


def socket_error(where: str, error: Exception) -> str:
    """Return a sentence that says why an address cannot be used, and what to do."""
    number = errno.ETIMEDOUT if isinstance(error, TimeoutError) else getattr(error, "errno", None)
    if number in _SOCKET_ERRORS:
        return f"{where} {_SOCKET_ERRORS[number]}"
    return f"{where} cannot be used ({getattr(error, 'strerror', None) or error})"


_NOT_LOCAL = f"is not an address of this machine: choose {LOCAL}, 0.0.0.0, or one of its addresses"
_UNKNOWN_NAME = "is not a known host name: enter the IP address, such as 192.168.1.20"
_NO_ANSWER = "does not answer: is the address right, and does a firewall let it through?"
_SOCKET_ERRORS: dict[int | None, str] = {
    errno.EADDRINUSE: "is in use by another program: close that program, or choose another port in both",
    errno.EACCES: "is not allowed to this user: choose a port above 1023",
    errno.EADDRNOTAVAIL: _NOT_LOCAL,
    socket.EAI_NONAME: _UNKNOWN_NAME,
    socket.EAI_AGAIN: _UNKNOWN_NAME,
    errno.ECONNREFUSED: "refuses the connection: is the program running, and its streaming switched on?",
    errno.ETIMEDOUT: _NO_ANSWER,
    errno.EHOSTUNREACH: _NO_ANSWER,
    errno.ENETUNREACH: _NO_ANSWER,
}
