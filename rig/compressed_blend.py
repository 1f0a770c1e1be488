"""Check that a compressed .blend file is whole, without decompressing it.

Blender compresses in the seekable format of Zstandard (zstd, contrib/seekable_format): independent frames, then a table
of their sizes in a skippable frame, which ends in a footer.
"""

import struct
from pathlib import Path
from typing import BinaryIO

FRAME_MAGIC, TABLE_MAGIC, FOOTER_MAGIC = 0xFD2FB528, 0x184D2A5E, 0x8F92EAB1
HEADER = struct.Struct("<II")
"""Header of the table: magic number, and size of the rest."""
FOOTER = struct.Struct("<IBI")
"""Number of frames, descriptor, magic number."""
CHECKSUMS = 0x80
"""Bit of the descriptor that is set if entries have a checksum."""


def is_whole(path: Path) -> bool:
    """Return whether the file has all the frames that its table lists, each where it must begin, and nothing else."""
    with path.open("rb") as file:
        try:
            sizes = _frame_sizes(file, path.stat().st_size)
        except (OSError, struct.error):
            return False
        start = 0
        for size in sizes:
            file.seek(start)
            if file.read(4) != FRAME_MAGIC.to_bytes(4, "little"):
                return False
            start += size
    return bool(sizes)


def _frame_sizes(file: BinaryIO, size: int) -> list[int]:
    """Return the compressed sizes of all frames, in bytes; none if they and the table are not all of the file."""
    file.seek(-FOOTER.size, 2)
    count, descriptor, magic = FOOTER.unpack(file.read(FOOTER.size))
    entry = struct.Struct("<III" if descriptor & CHECKSUMS else "<II")
    content = count * entry.size + FOOTER.size
    if magic != FOOTER_MAGIC or HEADER.size + content > size:
        return []
    file.seek(-HEADER.size - content, 2)
    if HEADER.unpack(file.read(HEADER.size)) != (TABLE_MAGIC, content):
        return []
    sizes = [fields[0] for fields in entry.iter_unpack(file.read(count * entry.size))]
    return sizes if sum(sizes) + HEADER.size + content == size else []
