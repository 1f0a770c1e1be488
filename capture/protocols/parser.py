"""What a wire format is: packets in, frames out."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from ..frame import Frame


class Parser(ABC):
    """Reads one device's packets. It may keep what earlier ones said: names, halves of frames, bones not yet sent."""

    @abstractmethod
    def feed(self, packet: bytes) -> Iterable[Frame]:
        """The frames that are complete with this packet: none, one or more.

        Raises PacketError for a packet that is malformed, and then is as if it had not come. Whatever the bytes are, it
        raises nothing else, keeps a bounded memory, and takes a time bounded by the packet's length.
        """

    def context(self) -> tuple[bytes, ...]:
        """The packets that came before and without which those to come tell nothing: a recording begins with them."""
        return ()
