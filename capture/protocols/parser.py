"""The interface of wire formats: packets in, frames out."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from ..frame import Frame


class Parser(ABC):
    """Parses a device's packets. It may keep state between packets: names, partial frames, bones sent rarely."""

    @abstractmethod
    def feed(self, packet: bytes) -> Iterable[Frame]:
        """Return the frames that this packet completes: none, one or more.

        Raises PacketError for a malformed packet and leaves the state unchanged. Whatever the bytes, it raises nothing
        else, its memory is bounded, and its run time is bounded by the packet's length.
        """

    def context(self) -> tuple[bytes, ...]:
        """Return the earlier packets without which later ones cannot be parsed; a recording starts with them."""
        return ()

    def note(self) -> str:
        """Return the error that the sender reports, in a sentence for the user; empty if there is none."""
        return ""

    def answer(self) -> str:
        """Return the reply to the page that sent the last packet; empty if there is none.

        A page that gets a reply is not the one that is followed.
        """
        return ""

    def take_captures(self) -> list[tuple[str, bytes]]:
        """Return the whole captures received since the last call: name without suffix, and content of a .json file."""
        return []
