"""Device: all that is to be known of one kind of sender, as one entry of a table."""

from collections.abc import Callable
from dataclasses import dataclass

from ..network.sender import Sender
from ..network.transport import Address, Transport
from ..protocols.parser import Parser


@dataclass(frozen=True, slots=True)
class Device:
    """A kind of sender."""

    name: str
    """For people: 'VMC protocol'."""
    about: str
    """Which programs and things speak it, a phrase."""
    port: int
    """Its usual port."""
    connects: bool
    """Whether Knuckle connects to it; else it listens, and the sender sends or connects."""
    open: Callable[[Address], Transport]
    parser: Callable[[], Parser]
    sender: Callable[[Address], Sender]
    """What plays a capture as if it were this device."""
