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
MAX_HEADER_SIZE = 65_536
MAX_PACKET_SIZE = 1 << 24


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


def header_bytes(header: RawTakeHeader) -> bytes:
    """The magic line and the header as they are written."""
    return MAGIC + json.dumps(asdict(header)).encode() + b"\n"


def packet_bytes(packet: Packet) -> bytes:
    """A packet as it is written."""
    return RECORD.pack(len(packet.content), packet.time, zlib.crc32(packet.content)) + packet.content


def read_header(data: bytes, source: str) -> tuple[RawTakeHeader, int]:
    """The header of a file and the byte offset of its first packet. Raises CaptureError if it is not a raw take's."""
    end = data.find(b"\n", len(MAGIC), len(MAGIC) + MAX_HEADER_SIZE)
    if not data.startswith(MAGIC) or end < 0:
        raise CaptureError(f"{source}: not a raw take, expected '{MAGIC.decode().strip()}' and a header")
    try:
        fields: Any = json.loads(data[len(MAGIC) : end])
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or not isinstance(fields.get("device"), str):
        raise CaptureError(f"{source}: its header cannot be read, expected JSON that names the device")
    known = {key: value for key, value in fields.items() if key in RawTakeHeader.__slots__ and isinstance(value, str)}
    return RawTakeHeader(**known), end + 1


def read_packets(data: bytes, start: int) -> Iterator[Packet]:
    """The packets from byte offset `start` to the end, or to the first that is damaged."""
    while start + RECORD.size <= len(data):
        length, time, checksum = RECORD.unpack_from(data, start)
        content = data[start + RECORD.size : start + RECORD.size + length]
        if length > MAX_PACKET_SIZE or len(content) < length or zlib.crc32(content) != checksum:
            return
        start += RECORD.size + length
        yield Packet(time, content, start)
