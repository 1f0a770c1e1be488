"""Device: an entry of the table of devices."""

from collections.abc import Callable
from dataclasses import dataclass

from ..network.sender import Sender
from ..network.transport import Address, Transport
from ..protocols.parser import Parser


@dataclass(frozen=True, slots=True)
class Device:
    """A kind of device or program that streams hands."""

    name: str
    """Display name: 'VMC Protocol'."""
    about: str
    """A phrase that says which programs and hardware use it."""
    port: int
    """The default port."""
    connects: bool
    """True if Knuckle connects to it; False if Knuckle listens, and the device sends or connects."""
    open: Callable[[Address], Transport]
    parser: Callable[[], Parser]
    sender: Callable[[Address], Sender]
    """Imitates the device: sends a capture in its packets."""
    serves_page: bool = False
    """Whether the device is a browser, which opens a page that Knuckle serves."""
    opens_page: bool = False
    """Whether that page is for a browser of this computer, which may be opened for the person."""
