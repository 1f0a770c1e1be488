"""LZ4 decompression: frame format 1.6 and block format, as specified in github.com/lz4/lz4/tree/dev/doc.

    frame   magic, flags, block size, [u64 length], [u32 dictionary], u8 checksum, blocks, u32 0, [u32 checksum]
    block   u32 size (highest bit: not compressed), data, [u32 checksum]; little-endian
    data    sequences: a token of two 4-bit lengths, literals, u16 match offset, and a match of the second length

LZ4 libraries are compiled, but the extension must run on every platform without compiled code. Checksums are ignored:
UDP has its own, and the data are parsed strictly.
"""

import struct

from ...errors import PacketError

MAGIC = b"\x04\x22\x4d\x18"

_VERSION, _BLOCK_INDEPENDENT, _BLOCK_CHECKSUM, _LENGTH, _CHECKSUM, _DICTIONARY = 0xC0, 0x20, 0x10, 0x08, 0x04, 0x01
_SHORTEST_MATCH = 4
"""Bytes of the shortest match, which its stored length omits."""
_CONTINUED = 15
"""Value of a 4-bit length that continues in further bytes, up to one below 255."""


def decompress(frame: bytes, max_size: int) -> bytes:
    """Decompress a frame. Raises PacketError if it is damaged or expands to more than `max_size` bytes."""
    try:
        return _decompress(frame, max_size)
    except (IndexError, struct.error):
        raise PacketError(f"an LZ4 frame is truncated at {len(frame)} bytes") from None


def _decompress(frame: bytes, max_size: int) -> bytes:
    if not frame.startswith(MAGIC):
        raise PacketError(f"begins {frame[:4]!r}, expected an LZ4 frame")
    flags = frame[4]
    if flags & _VERSION != 0x40 or flags & _DICTIONARY:
        raise PacketError(f"an LZ4 frame with the flags {flags:#x}, expected version 1 without a dictionary")
    output = bytearray()
    index = 7 + (8 if flags & _LENGTH else 0)
    while size := struct.unpack_from("<I", frame, index)[0]:
        index, end = index + 4, index + 4 + (size & 0x7FFFFFFF)
        if end > len(frame):
            raise IndexError
        if size >> 31:
            if len(output) + end - index > max_size:
                raise _too_large(max_size)
            output += frame[index:end]
        else:
            _decompress_block(frame[index:end], output, max_size, len(output) if flags & _BLOCK_INDEPENDENT else 0)
        index = end + (4 if flags & _BLOCK_CHECKSUM else 0)
    return bytes(output)


def _decompress_block(data: bytes, output: bytearray, max_size: int, start: int) -> None:
    """Decompress a block to the end of `output`; its matches may refer to bytes of `output` from index `start` on."""
    index = 0
    while True:
        token = data[index]
        index += 1
        length = token >> 4
        if length == _CONTINUED:
            length, index = _continued_length(data, index)
        if index + length > len(data):
            raise IndexError
        output += data[index : index + length]
        index += length
        if index == len(data):
            break
        offset = data[index] | data[index + 1] << 8
        index += 2
        length = token & 15
        if length == _CONTINUED:
            length, index = _continued_length(data, index)
        length += _SHORTEST_MATCH
        match = len(output) - offset
        if not offset or match < start:
            raise PacketError(f"an LZ4 match is {offset} bytes back, but there are only {len(output) - start}")
        if len(output) + length > max_size:
            raise _too_large(max_size)
        if length <= offset:
            output += output[match : match + length]
        else:
            # A match may overlap its own output.
            output += (output[match:] * (length // offset + 1))[:length]
    if len(output) > max_size:
        raise _too_large(max_size)


def _continued_length(data: bytes, index: int) -> tuple[int, int]:
    """Read a length that continues at `index`; return it and the index after it."""
    length = _CONTINUED
    while data[index] == 255:
        length += 255
        index += 1
    return length + data[index], index + 1


def _too_large(max_size: int) -> PacketError:
    """Return the error for a frame that expands to more than `max_size` bytes."""
    return PacketError(f"an LZ4 frame expands to more than {max_size} bytes")
