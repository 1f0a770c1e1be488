"""How NatNet's two ends find each other: a client says hello to the server's command port, and hears from there."""

import socket
import struct
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

from ..errors import StreamError
from .sender import Outgoing
from .transport import LARGEST_PACKET, TICK, Address, Packets, received_from, refusal, udp_socket

CONNECT, INFO, DESCRIBE, DESCRIPTIONS, FRAME, KEEP_ALIVE = 0, 1, 4, 5, 7, 10
GROUP = "239.255.42.99"
"""The group to which Motive sends where it is set to multicast."""
DATA_PORT = 1511
AGAIN = 1.0
"""s between two words to the server: Motive forgets a client that is silent."""
DESCRIBE_AGAIN = 10.0
"""s between two questions for the descriptions: models may be added while it runs."""
PATIENCE = 4.0
"""s for which the first answer is waited for."""
_HELLO = b"Knuckle".ljust(256, b"\0") + bytes(8)
"""A client's name, its version, and NatNet's, of which 0 is the server's own."""
_MULTICAST_AT = 4 + 256 + 8 + 8 + 2


def message(kind: int, content: bytes = b"") -> bytes:
    """A message of NatNet's."""
    return struct.pack("<HH", kind, len(content) & 0xFFFF) + content


@dataclass(frozen=True, slots=True)
class NatnetLink:
    """A Transport to a server of NatNet's, unicast, or multicast where the server says so."""

    address: Address
    """The server's, with its command port."""

    def packets(self) -> Packets:
        """See Transport."""
        # Any port of this machine: what others than the server send to it is not heard.
        local = "127.0.0.1" if self.address.host.startswith("127.") else ""
        with udp_socket(Address(local, 0)) as own:
            own.settimeout(TICK)
            yield from self._talk(own)

    def said(self) -> str:
        """See Transport."""
        return f"connected to NatNet at UDP {self.address}"

    def _talk(self, own: socket.socket) -> Packets:
        heard, spoken, asked, began = None, 0.0, 0.0, time.monotonic()
        group: socket.socket | None = None
        try:
            while True:
                now = time.monotonic()
                if now - spoken > AGAIN:
                    self._say(own, message(CONNECT, _HELLO) if heard is None else message(KEEP_ALIVE))
                    spoken = now
                if heard is not None and now - asked > DESCRIBE_AGAIN:
                    self._say(own, message(DESCRIBE))
                    asked = now
                for sock in (own, group):
                    packet = self._hear(sock) if sock is not None else None
                    if packet is not None and packet[:2] == struct.pack("<H", INFO):
                        heard = packet
                        if group is None and packet[_MULTICAST_AT : _MULTICAST_AT + 1] == b"\1":
                            group = self._joined()
                    yield packet
                if heard is None and now - began > PATIENCE:
                    raise StreamError(
                        f"UDP {self.address} does not answer: is Motive streaming there (Edit, Settings, Streaming), "
                        "and does a firewall let it through?"
                    )
        finally:
            if group is not None:
                group.close()

    def _say(self, own: socket.socket, what: bytes) -> None:
        try:
            own.sendto(what, (self.address.host, self.address.port))
        except (OSError, OverflowError) as error:
            raise StreamError(refusal(f"UDP {self.address}", error)) from None

    def _hear(self, sock: socket.socket) -> bytes | None:
        """What the server sent, None where nothing came from it in time."""
        packet, sender = received_from(sock)
        return packet if sender == self.address.host else None

    def _joined(self) -> socket.socket:
        group = udp_socket(Address("", DATA_PORT), GROUP)
        group.settimeout(TICK)
        return group


class NatnetServer(ABC):
    """A Sender as Motive is one: it answers who says hello, and sends frames to those who did."""

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
        """The server's info."""

    @abstractmethod
    def descriptions(self, moment: Outgoing) -> bytes:
        """What the moments hold."""

    @abstractmethod
    def frame(self, moment: Outgoing) -> bytes:
        """One moment."""
