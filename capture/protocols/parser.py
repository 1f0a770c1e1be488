"""The interface of wire formats: packets in, frames out."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

from ..frame import Frame


class Parser(ABC):
    """Parses one device's packets. It may keep state from earlier ones: names, partial frames, bones sent rarely."""

    @abstractmethod
    def feed(self, packet: bytes) -> Iterable[Frame]:
        """Return the frames that this packet completes: none, one or more.

        Raises PacketError for a malformed packet and leaves the state unchanged. Whatever the bytes, it raises nothing
        else, its memory is bounded, and its run time is bounded by the packet's length.
        """

    def context(self) -> tuple[bytes, ...]:
        """Earlier packets without which later ones cannot be parsed; a recording starts with them."""
        return ()

    def note(self) -> str:
        """Return the error that the sender reports, in a sentence for the user; empty if nothing is."""
        return ""

    def answer(self) -> str:
        """Return the reply to the page whose packet was fed last; empty if none.

        A page that is replied to is not followed.
        """
        return ""

    def take_captures(self) -> list[tuple[str, bytes]]:
        """Whole captures that were received, each once: the name without suffix, and the content of a .json file."""
        return []
