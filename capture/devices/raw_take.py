"""The raw take file format: every packet of a device with its arrival time, append-only.

    KNUCKLE RAW TAKE 2\n
    {"device": "vmc", ...}\n                  the header, JSON
    u32 length, f64 s, u32 CRC-32, bytes      little-endian, for each packet; s since the header's "began"

The CRC-32 covers length, time and bytes. In format 1, which is read but no longer written, it covers only the bytes.
A file that is truncated or damaged is read up to the first incomplete or damaged packet.
"""

import json
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO

from ...errors import CaptureError

MAGIC = b"KNUCKLE RAW TAKE 2\n"
MAGIC_1 = b"KNUCKLE RAW TAKE 1\n"
SUFFIX = ".rawtake"
RECORD = struct.Struct("<IdI")
MAX_HEADER_SIZE = 65_536
"""Maximum bytes of the header."""
MAX_NAME_LENGTH = 1000
"""Maximum length of a take's name in its header, in characters."""
_HEAD = struct.Struct("<Id")
"""Length and time, the part of a record's head that its CRC-32 covers."""
MAX_PACKET_SIZE = 1 << 24
"""Maximum bytes of a packet; a longer one is damaged."""
MAX_TAKE_S = 1e6
"""s, maximum time of a packet since the start of the take, eleven days; a later one is damaged."""


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
    """Encode the magic line and the header. A long name is truncated."""
    header = replace(header, name=header.name[:MAX_NAME_LENGTH])
    return MAGIC + json.dumps(asdict(header)).encode() + b"\n"


def packet_bytes(packet: Packet) -> bytes:
    """Encode a packet."""
    size = len(packet.content)
    checksum = zlib.crc32(packet.content, zlib.crc32(_HEAD.pack(size, packet.time)))
    return RECORD.pack(size, packet.time, checksum) + packet.content


def read_header(file: BinaryIO, source: str) -> tuple[RawTakeHeader, int]:
    """Read a file's header and the byte offset of its first packet. Raises CaptureError if it is not a raw take."""
    file.seek(0)
    head = file.read(len(MAGIC) + MAX_HEADER_SIZE)
    end = head.find(b"\n", len(MAGIC))
    if not is_raw_take(head) or end < 0:
        raise CaptureError(f"{source}: not a raw take, expected '{MAGIC.decode().strip()}' and a header")
    try:
        fields: Any = json.loads(head[len(MAGIC) : end])
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or not isinstance(fields.get("device"), str):
        raise CaptureError(f"{source}: its header cannot be read, expected JSON that names the device")
    texts = {key: value for key, value in fields.items() if key in RawTakeHeader.__slots__ and isinstance(value, str)}
    return RawTakeHeader(**texts), end + 1


def is_raw_take(head: bytes) -> bool:
    """Return whether a file that starts with these bytes is a raw take, of either format."""
    return head.startswith((MAGIC, MAGIC_1))


def read_packets(file: BinaryIO, start: int) -> Iterator[Packet]:
    """Yield the packets from byte offset `start` to the end, or to the first damaged one. No packet is empty.

    Packets are read one by one: a file of any size takes little memory. Times have no checksum in format 1; an
    impossible time is replaced by that of the previous packet.
    """
    file.seek(0)
    time_is_checked, last_time = file.read(len(MAGIC)) == MAGIC, 0.0
    file.seek(start)
    while len(record := file.read(RECORD.size)) == RECORD.size:
        length, time, checksum = RECORD.unpack(record)
        if not 0 < length <= MAX_PACKET_SIZE:
            return
        content = file.read(length)
        expected = zlib.crc32(content, zlib.crc32(_HEAD.pack(length, time)) if time_is_checked else 0)
        if len(content) < length or expected != checksum:
            return
        start += RECORD.size + length
        last_time = time if math.isfinite(time) and 0.0 <= time <= MAX_TAKE_S else last_time
        yield Packet(last_time, content, start)
