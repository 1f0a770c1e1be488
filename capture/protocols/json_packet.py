"""Safe decoding of JSON packets."""

from ...errors import CaptureError, PacketError
from ..files.hand_json import Json, load

MAX_PACKET_SIZE = 65_536
"""Most bytes of a packet."""


def decode_json(packet: bytes, what: str) -> Json:
    """Decode a packet, integers as floats. Raises PacketError if it is too long, nested too deeply or not JSON."""
    if len(packet) > MAX_PACKET_SIZE:
        raise PacketError(f"{len(packet)} bytes, {what} have {MAX_PACKET_SIZE} at most")
    try:
        return load(packet, "the packet")
    except (CaptureError, ValueError, RecursionError) as error:
        raise PacketError(str(error)) from None
