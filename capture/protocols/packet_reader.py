"""Sequential reading of little-endian packets with bounds checks."""

import struct

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ..frame import label

Floats = NDArray[np.float64]

LONGEST_TEXT = 256
"""Most bytes of a name, including its end."""


class PacketReader:
    """Reads a packet from its start. Methods raise PacketError if the packet is too short."""

    def __init__(self, packet: bytes, what: str) -> None:
        self._packet, self._what, self._at = packet, what, 0

    @property
    def left(self) -> int:
        """Bytes left to read."""
        return len(self._packet) - self._at

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if not 0 <= count <= self.left:
            raise PacketError(f"{self._what}: {count} bytes wanted at {self._at}, {self.left} are left")
        self._at += count
        return self._packet[self._at - count : self._at]

    def whole(self, form: str) -> int:
        """An integer in the struct format `form`."""
        number: int = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]
        return number

    def count(self, each: int) -> int:
        """An i32 count of items of at least `each` bytes, which must fit into the packet."""
        number = self.whole("i")
        if not 0 <= number * each <= self.left:
            raise PacketError(f"{self._what}: {number} things of {each} bytes are told, {self.left} bytes are left")
        return number

    def reals(self, *shape: int) -> Floats:
        """An array of 32-bit floats, which may not be finite."""
        count = int(np.prod(shape))
        with np.errstate(invalid="ignore"):
            return np.frombuffer(self.take(4 * count), "<f4").astype(np.float64).reshape(shape)

    def real64(self) -> float:
        """A 64-bit float."""
        number: float = struct.unpack("<d", self.take(8))[0]
        return number

    def text(self) -> str:
        """A string that ends with a zero byte."""
        end = self._packet.find(b"\0", self._at, self._at + LONGEST_TEXT)
        if end < 0:
            raise PacketError(f"{self._what}: a name at {self._at} has no end in {LONGEST_TEXT} bytes")
        return label(self.take(end - self._at + 1)[:-1].decode("utf-8", "replace"), LONGEST_TEXT)
