"""Senders, which play a capture as a device would: the counterpart of transports and parsers."""

import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import StreamError
from ...hand.joints import Side
from .transport import Address, socket_error

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OutgoingFrame:
    """One frame of a capture: its markers and the hands solved from them."""

    number: int
    """Counted from 0."""
    time: float
    """s since the start of the capture."""
    names: tuple[str, ...]
    """(M,) names of the markers."""
    markers: Floats
    """(M, 3) in m, Z up, NaN where not seen."""
    hands: dict[Side, Floats]
    """(25, 4, 4) T_world_joint of each solved hand, in HandModel's frames."""
    forearms: dict[Side, Floats] = field(default_factory=dict)
    """(4, 4) T_world_elbow of each known forearm, with the rotation of the wrist of a hand at rest on the forearm.
    Devices without a body do not send them."""


class Sender(Protocol):
    """Imitates a device. A context manager, which raises StreamError if its address cannot be used."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def has_no_client(self) -> bool:
        """Whether the sender is a server without clients: frames sent now would be lost."""
        ...

    def send(self, outgoing: OutgoingFrame) -> None:
        """Send one frame in the device's packets. Raises StreamError."""
        ...


class UdpSender(ABC):
    """A Sender of UDP datagrams."""

    has_no_client = False

    def __init__(self, address: Address) -> None:
        self._address = address

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, outgoing: OutgoingFrame) -> None:
        """See Sender."""
        for packet in self.packets(outgoing):
            try:
                self._socket.sendto(packet, (self._address.host, self._address.port))
            except ConnectionRefusedError:
                # Nothing listens at the address now.
                continue
            except OSError as error:
                raise StreamError(socket_error(f"UDP {self._address}", error)) from None

    @abstractmethod
    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """Return the datagrams of one frame."""
