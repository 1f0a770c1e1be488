"""Sequential reading of little-endian packets with bounds checks."""

import struct

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ..frame import safe_label

Floats = NDArray[np.float64]

MAX_TEXT_SIZE = 256
"""Maximum bytes of a name, including the zero byte at its end."""


class PacketReader:
    """Reads a packet from its start. Methods raise PacketError if the packet is too short."""

    def __init__(self, packet: bytes, what: str) -> None:
        self._packet, self._what, self._position = packet, what, 0

    @property
    def left(self) -> int:
        """Bytes left to read."""
        return len(self._packet) - self._position

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if not 0 <= count <= self.left:
            raise PacketError(f"{self._what}: {count} bytes needed at byte {self._position}, {self.left} are left")
        self._position += count
        return self._packet[self._position - count : self._position]

    def integer(self, form: str) -> int:
        """Return an integer in the struct format `form`."""
        number: int = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]
        return number

    def count(self, item_size: int) -> int:
        """Return an i32 count of items of at least `item_size` bytes, which must fit into the packet."""
        number = self.integer("i")
        if not 0 <= number * item_size <= self.left:
            raise PacketError(f"{self._what}: {number} items of {item_size} bytes or more, {self.left} bytes are left")
        return number

    def floats(self, *shape: int) -> Floats:
        """Return an array of 32-bit floats, which may not be finite."""
        count = int(np.prod(shape))
        with np.errstate(invalid="ignore"):
            return np.frombuffer(self.take(4 * count), "<f4").astype(np.float64).reshape(shape)

    def string(self) -> str:
        """Return a string that ends with a zero byte."""
        end = self._packet.find(b"\0", self._position, self._position + MAX_TEXT_SIZE)
        if end < 0:
            raise PacketError(f"{self._what}: a name at byte {self._position} has no end within {MAX_TEXT_SIZE} bytes")
        return safe_label(self.take(end - self._position + 1)[:-1].decode("utf-8", "replace"), MAX_TEXT_SIZE)
