"""Safe decoding of JSON packets."""

from ...errors import CaptureError, PacketError
from ..files.hand_json import Json, load

MAX_PACKET_SIZE = 65_536
"""Maximum size of a packet in bytes."""


def decode_json(packet: bytes, content: str) -> Json:
    """Decode a packet, integers as floats. Raises PacketError if it is too long, too deeply nested or not JSON.

    content: what such a packet contains, for the message.
    """
    if len(packet) > MAX_PACKET_SIZE:
        raise PacketError(f"{len(packet)} bytes, {content} have {MAX_PACKET_SIZE} at most")
    try:
        return load(packet, "the packet")
    except (CaptureError, ValueError, RecursionError) as error:
        raise PacketError(str(error)) from None
