"""The raw take file format: every packet of a device with its arrival time, append-only.

    KNUCKLE RAW TAKE 1\n
    {"device": "vmc", ...}\n                  the header, JSON
    u32 length, f64 s, u32 CRC-32, bytes      little-endian, for each packet; s since the header's "began"

A file that is truncated or damaged is read up to the first incomplete or damaged packet.
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
    """The header of a raw take."""

    device: str
    """A key of DEVICES."""
    name: str = ""
    """The take's name."""
    began: str = ""
    """Time at which the recording began, ISO 8601, UTC."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A recorded packet with its arrival time."""

    time: float
    """s since the start of the take."""
    content: bytes
    end: int = 0
    """Byte offset of the next packet in the file."""


def head_bytes(head: RawTakeHeader) -> bytes:
    """The magic line and the header as they are written."""
    return MAGIC + json.dumps(asdict(head)).encode() + b"\n"


def packet_bytes(packet: Packet) -> bytes:
    """A packet as it is written."""
    return RECORD.pack(len(packet.content), packet.time, zlib.crc32(packet.content)) + packet.content


def read_head(data: bytes, source: str) -> tuple[RawTakeHeader, int]:
    """The header of a file and the byte offset of its first packet. Raises CaptureError if it is not a raw take's."""
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
    """The packets from byte offset `start` to the end, or to the first that is damaged."""
    while start + RECORD.size <= len(data):
        length, time, check = RECORD.unpack_from(data, start)
        content = data[start + RECORD.size : start + RECORD.size + length]
        if length > LONGEST_PACKET or len(content) < length or zlib.crc32(content) != check:
            return
        start += RECORD.size + length
        yield Packet(time, content, start)
