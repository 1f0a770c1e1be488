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
    """The programs and hardware that use it, as a phrase for the user."""
    port: int
    """The default port."""
    connects: bool
    """Whether Knuckle connects to the device; otherwise Knuckle listens, and the device sends or connects."""
    open: Callable[[Address], Transport]
    parser: Callable[[], Parser]
    sender: Callable[[Address], Sender]
    """Makes a sender that imitates the device, with a capture as data."""
    serves_page: bool = False
    """Whether the device is a browser, which opens a page that Knuckle serves."""
    opens_page: bool = False
    """Whether that page is for a browser on this computer, which Knuckle may open."""
