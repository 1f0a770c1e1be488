"""Open Sound Control 1.0: decoding and encoding of datagrams (opensoundcontrol.stanford.edu/spec-1_0.html).

    message   address, type tags (",sf"), arguments; strings end with a zero byte; all padded to 4 bytes, big-endian
    bundle    "#bundle", a time of 8 bytes, then elements: u32 size, a message or another bundle

No library is used because the data are untrusted: here every byte is read at most once, whatever the stated sizes, and
messages to other addresses are not decoded.
"""

import re
import struct
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache

from ...errors import PacketError

Argument = float | str

BUNDLE = b"#bundle\0"
IMMEDIATELY = b"\0\0\0\0\0\0\0\1"
"""The time of a bundle that takes effect immediately."""
MAX_DEPTH = 8
"""Maximum number of levels of nested bundles; known senders use two."""
MAX_TAGS = 64
"""Maximum bytes of a message's type tags that are read."""

_SIZE = struct.Struct(">I")
_NUMBERS = {"i": "i", "f": "f", "h": "q", "d": "d"}
_TAG_RUN = re.compile(rf"s|[{''.join(_NUMBERS)}]+")


@dataclass(frozen=True, slots=True)
class OscMessage:
    """A decoded message."""

    address: bytes
    arguments: tuple[Argument, ...]
    """Numbers and strings, up to the first argument of another type."""


def decode(packet: bytes, addresses: Container[bytes]) -> list[OscMessage]:
    """Return the messages in a datagram that are sent to `addresses`, in order. Raises PacketError if it is not OSC."""
    messages: list[OscMessage] = []
    pending = [(0, len(packet), 0)]
    while pending:
        start, end, depth = pending.pop()
        if packet.startswith(BUNDLE, start, end):
            pending += reversed(_elements(packet, start, end, depth + 1))
            continue
        address, arguments_start = _read_string(packet, start, end)
        if not address.startswith(b"/"):
            raise PacketError(f"byte {start} begins {address[:12]!r}, expected an OSC message or bundle")
        if address in addresses:
            messages.append(OscMessage(address, _decode_arguments(packet, arguments_start, end)))
    return messages


def encode_message(address: bytes, *arguments: Argument) -> bytes:
    """Encode a message, integers with 32 bits and other numbers as 32-bit floats."""
    tags, data = b",", b""
    for argument in arguments:
        if isinstance(argument, str):
            tags, data = tags + b"s", data + _pad(argument.encode())
        elif isinstance(argument, int):
            tags, data = tags + b"i", data + struct.pack(">i", argument)
        else:
            tags, data = tags + b"f", data + struct.pack(">f", argument)
    return _pad(address) + _pad(tags) + data


def encode_bundle(*elements: bytes) -> bytes:
    """Encode a bundle of encoded messages."""
    return BUNDLE + IMMEDIATELY + b"".join(_SIZE.pack(len(element)) + element for element in elements)


def _pad(text: bytes) -> bytes:
    return text + bytes(4 - len(text) % 4)


def _elements(packet: bytes, start: int, end: int, depth: int) -> list[tuple[int, int, int]]:
    """Return the start, end and depth of each element of a bundle."""
    if depth > MAX_DEPTH:
        raise PacketError(f"bundles are {depth} deep at byte {start}, expected {MAX_DEPTH} at most")
    elements = []
    position = start + len(BUNDLE) + len(IMMEDIATELY)
    if position > end:
        raise PacketError(f"the bundle at byte {start} ends before its time")
    while position < end:
        size = _SIZE.unpack_from(packet, position)[0] if position + _SIZE.size <= end else 0
        position += _SIZE.size
        if not 0 < size <= end - position or size % 4:
            raise PacketError(f"an element of {size} bytes at byte {position}, where {max(end - position, 0)} are left")
        elements.append((position, position + size, depth))
        position += size
    return elements


def _read_string(packet: bytes, start: int, end: int) -> tuple[bytes, int]:
    """Return a string and the index after its padding. Elements, and so strings, start at multiples of 4."""
    stop = packet.find(b"\0", start, end)
    if stop < 0:
        raise PacketError(f"a string at byte {start} has no end")
    return packet[start:stop], (stop + 4) & ~3


def _decode_arguments(packet: bytes, start: int, end: int) -> tuple[Argument, ...]:
    if start >= end:
        return ()
    tags, position = _read_string(packet, start, end)
    if not tags.startswith(b","):
        raise PacketError(f"type tags begin {tags[:12]!r} at byte {start}, expected ','")
    values: list[Argument] = []
    for numbers in _argument_formats(tags[:MAX_TAGS]):
        if numbers is None:
            text, position = _read_string(packet, position, end)
            values.append(text.decode("utf-8", "replace"))
        elif position + numbers.size > end:
            raise PacketError(f"arguments {tags[:20]!r} need {position + numbers.size - end} more bytes")
        else:
            values += numbers.unpack_from(packet, position)
            position += numbers.size
    return tuple(values)


@lru_cache(maxsize=64)
def _argument_formats(tags: bytes) -> tuple[struct.Struct | None, ...]:
    """Return the formats of the arguments, up to an unknown tag: None for a string, a Struct for a run of numbers."""
    text, formats, position = tags.decode("latin-1"), list[struct.Struct | None](), 1
    while run := _TAG_RUN.match(text, position):
        formats.append(None if run[0] == "s" else struct.Struct(">" + "".join(_NUMBERS[tag] for tag in run[0])))
        position = run.end()
    return tuple(formats)
