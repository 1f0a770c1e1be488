"""A raw take: every packet of a device as it came, with the time at which it came, in a file that only grows.

    KNUCKLE RAW TAKE 1\n
    {"device": "vmc", ...}\n          the head, JSON
    u32 length, f64 s, u32 CRC-32, bytes      little-endian, once for each packet; s since the head's "began"

A file that ends in the midst of a packet, or with damaged ones, is read up to there.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import CaptureError

MAGIC = b"KNUCKLE RAW TAKE 1\n"
SUFFIX = ".rawtake"
RECORD = struct.Struct("<IdI")
LONGEST_HEAD = 65_536
LONGEST_PACKET = 1 << 24


@dataclass(frozen=True, slots=True)
class RawTakeHeader:
    """What a raw take says of itself."""

    device: str
    """A key of DEVICES."""
    name: str = ""
    """The take's name."""
    began: str = ""
    """When the first packet came, ISO 8601, UTC."""


@dataclass(frozen=True, slots=True)
class Packet:
    """What came, and when."""

    time: float
    """s since the take began."""
    content: bytes
    end: int = 0
    """Where in its file the next one begins."""


def head_bytes(head: RawTakeHeader) -> bytes:
    """How a file begins."""
    return MAGIC + json.dumps(asdict(head)).encode() + b"\n"


def packet_bytes(packet: Packet) -> bytes:
    """What a packet adds to a file."""
    return RECORD.pack(len(packet.content), packet.time, zlib.crc32(packet.content)) + packet.content


def read_head(data: bytes, source: str) -> tuple[RawTakeHeader, int]:
    """The head of a file and where its packets begin. Raises CaptureError naming `source`."""
    end = data.find(b"\n", len(MAGIC), len(MAGIC) + LONGEST_HEAD)
    if not data.startswith(MAGIC) or end < 0:
        raise CaptureError(f"{source}: begins as no raw take does, expected '{MAGIC.decode().strip()}' and a head")
    try:
        said: Any = json.loads(data[len(MAGIC) : end])
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("device"), str):
        raise CaptureError(f"{source}: its head is not understood, expected JSON that names the device")
    known = {key: value for key, value in said.items() if key in RawTakeHeader.__slots__ and isinstance(value, str)}
    return RawTakeHeader(**known), end + 1


def read_packets(data: bytes, start: int) -> Iterator[Packet]:
    """The packets from `start` on, up to the end or to the first that is damaged."""
    while start + RECORD.size <= len(data):
        length, time, check = RECORD.unpack_from(data, start)
        content = data[start + RECORD.size : start + RECORD.size + length]
        if length > LONGEST_PACKET or len(content) < length or zlib.crc32(content) != check:
            return
        start += RECORD.size + length
        yield Packet(time, content, start)
