"""LZ4 frames, unpacked: the frame format 1.6 and the block format of github.com/lz4/lz4/tree/dev/doc.

    frame   magic, flags, block size, [u64 length], [u32 dictionary], u8 checksum, blocks, u32 0, [u32 checksum]
    block   u32 size (its highest bit: as it is), bytes, [u32 checksum]; little-endian
    bytes   sequences: a token with two lengths of 4 bits, literals, u16 how far back, and so many bytes from there

Here and not by a library because the libraries are compiled, which one extension for all Blenders cannot be. Checksums
are passed over: what comes by UDP has one, and what is unpacked is parsed.
"""

import struct

from ...errors import PacketError

MAGIC = b"\x04\x22\x4d\x18"

_VERSION, _EACH_BLOCK_ALONE, _BLOCK_CHECKSUM, _LENGTH, _CHECKSUM, _DICTIONARY = 0xC0, 0x20, 0x10, 0x08, 0x04, 0x01
_SHORTEST_MATCH = 4
_MORE = 15
"""A length of 4 bits that goes on in further bytes, the last of them below 255."""


def unpack(frame: bytes, most: int) -> bytes:
    """What a frame holds. Raises PacketError for one that is damaged, or holds more than `most` bytes."""
    try:
        return _unpacked(frame, most)
    except (IndexError, struct.error):
        raise PacketError(f"an LZ4 frame of {len(frame)} bytes ends before its end") from None


def _unpacked(frame: bytes, most: int) -> bytes:
    if not frame.startswith(MAGIC):
        raise PacketError(f"begins {frame[:4]!r}, expected an LZ4 frame")
    flags = frame[4]
    if flags & _VERSION != 0x40 or flags & _DICTIONARY:
        raise PacketError(f"an LZ4 frame with the flags {flags:#x}, expected version 1 without a dictionary")
    out = bytearray()
    place = 7 + (8 if flags & _LENGTH else 0)
    while size := struct.unpack_from("<I", frame, place)[0]:
        place, end = place + 4, place + 4 + (size & 0x7FFFFFFF)
        if end > len(frame):
            raise IndexError
        if size >> 31:
            if len(out) + end - place > most:
                raise too_much(most)
            out += frame[place:end]
        else:
            _block(frame[place:end], out, most, len(out) if flags & _EACH_BLOCK_ALONE else 0)
        place = end + (4 if flags & _BLOCK_CHECKSUM else 0)
    return bytes(out)


def _block(data: bytes, out: bytearray, most: int, farthest: int) -> None:
    """Unpacks a block to the end of `out`, of which it may repeat what comes from `farthest` on."""
    place = 0
    while True:
        token = data[place]
        place += 1
        length = token >> 4
        if length == _MORE:
            length, place = _longer(data, place)
        if place + length > len(data):
            raise IndexError
        out += data[place : place + length]
        place += length
        if place == len(data):
            break
        back = data[place] | data[place + 1] << 8
        place += 2
        length = token & 15
        if length == _MORE:
            length, place = _longer(data, place)
        length += _SHORTEST_MATCH
        begin = len(out) - back
        if not back or begin < farthest:
            raise PacketError(f"an LZ4 block repeats what is {back} bytes back, after {len(out) - farthest}")
        if len(out) + length > most:
            raise too_much(most)
        if length <= back:
            out += out[begin : begin + length]
        else:
            # What it repeats it also writes.
            out += (out[begin:] * (length // back + 1))[:length]
    if len(out) > most:
        raise too_much(most)


def _longer(data: bytes, place: int) -> tuple[int, int]:
    """A length that goes on, and where what follows it begins."""
    length = _MORE
    while data[place] == 255:
        length += 255
        place += 1
    return length + data[place], place + 1


def too_much(most: int) -> PacketError:
    """For what would be longer than it may."""
    return PacketError(f"an LZ4 frame holds more than {most} bytes")
