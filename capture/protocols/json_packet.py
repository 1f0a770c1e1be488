"""Packets that are JSON: decoded safely."""

from ...errors import CaptureError, PacketError
from ..files.hand_json import Json, load

LONGEST = 65_536
"""Bytes"""


def document_of(packet: bytes, what: str) -> Json:
    """The document of a packet, integers as floats. Raises PacketError for what is too long, too deep or no JSON."""
    if len(packet) > LONGEST:
        raise PacketError(f"{len(packet)} bytes, {what} have {LONGEST} at most")
    try:
        return load(packet, "the packet")
    except (CaptureError, ValueError, RecursionError) as error:
        raise PacketError(str(error)) from None
