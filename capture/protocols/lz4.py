"""LZ4 decompression: frame format 1.6 and block format, by github.com/lz4/lz4/tree/dev/doc.

    frame   magic, flags, block size, [u64 length], [u32 dictionary], u8 checksum, blocks, u32 0, [u32 checksum]
    block   u32 size (highest bit: not compressed), data, [u32 checksum]; little-endian
    data    sequences: a token of two 4-bit lengths, literals, u16 match offset, and a match of the second length

No library is used because they are compiled, and the extension has to run in every Blender. Checksums are ignored: UDP
has its own, and the data are parsed strictly.
"""

import struct

from ...errors import PacketError

MAGIC = b"\x04\x22\x4d\x18"

_VERSION, _EACH_BLOCK_ALONE, _BLOCK_CHECKSUM, _LENGTH, _CHECKSUM, _DICTIONARY = 0xC0, 0x20, 0x10, 0x08, 0x04, 0x01
_SHORTEST_MATCH = 4
_MORE = 15
"""A 4-bit length that continues in further bytes, the last of which is below 255."""


def unpack(frame: bytes, most: int) -> bytes:
    """Decompress a frame. Raises PacketError if it is damaged or expands to more than `most` bytes."""
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
    """Decompress a block to the end of `out`; its matches may refer to bytes of `out` from index `farthest` on."""
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
            # A match may overlap its own output.
            out += (out[begin:] * (length // back + 1))[:length]
    if len(out) > most:
        raise too_much(most)


def _longer(data: bytes, place: int) -> tuple[int, int]:
    """A length that continues at `place`, and the index after it."""
    length = _MORE
    while data[place] == 255:
        length += 255
        place += 1
    return length + data[place], place + 1


def too_much(most: int) -> PacketError:
    """The error for a frame that expands to more than `most` bytes."""
    return PacketError(f"an LZ4 frame holds more than {most} bytes")
