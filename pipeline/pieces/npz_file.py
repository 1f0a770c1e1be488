"""An .npz file to whose arrays rows are appended in any order, directly at their final position.

zipfile and NumPy write one array after the other, so rows that arrive for all arrays at once would have to be written
twice. Here the shapes are given in advance. Nothing is compressed. The records are those of a stored ZIP64
archive: PKWARE, .ZIP File Format Specification 6.3.10, 4.3 and 4.5.3.
"""

import io
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

LOCAL_HEADER, LOCAL_SIZES = struct.Struct("<4s5H3L2H"), struct.Struct("<2H2Q")
"""The header before an array, and its ZIP64 field after the name: the size, twice."""
DIRECTORY_HEADER, DIRECTORY_FIELD = struct.Struct("<4s6H3L5H2L"), struct.Struct("<2H3Q")
"""The header of an array in the directory, and its ZIP64 field: the size, twice, and the array's offset in the file."""
END_OF_DIRECTORY = struct.Struct("<4sQ2H2L4Q" + "4sLQL" + "4s4H2LH")
"""End of the directory: the ZIP64 record, its locator, and the short record that refers to them."""
ZIP64_VERSION, JANUARY_1980, ELSEWHERE_LONG, ELSEWHERE_SHORT = 45, 0x21, 0xFFFFFFFF, 0xFFFF
"""Version that reads ZIP64; a date; placeholders for sizes and counts that are in ZIP64 fields."""


@dataclass(frozen=True, slots=True)
class RowsShape:
    """The shape and type of an array whose rows are appended."""

    shape: tuple[int, ...]
    """Shape of the complete array."""
    dtype: np.dtype[Any]


@dataclass(slots=True)
class _Member:
    name: bytes
    rows: RowsShape
    start: int
    """Offset in the file of the record before the array, bytes."""
    head: bytes
    """The header of the array in NumPy's format."""
    written: int = 0
    """Bytes written so far, with the header."""
    crc: int = 0

    @property
    def size(self) -> int:
        return len(self.head) + self.rows.dtype.itemsize * int(np.prod(self.rows.shape, dtype=np.int64))

    @property
    def content(self) -> int:
        """Offset in the file of the array's NumPy header, bytes."""
        return self.start + LOCAL_HEADER.size + len(self.name) + LOCAL_SIZES.size

    @property
    def local_header(self) -> bytes:
        fixed = (b"PK\3\4", ZIP64_VERSION, 0, 0, 0, JANUARY_1980, self.crc, ELSEWHERE_LONG, ELSEWHERE_LONG)
        record = LOCAL_HEADER.pack(*fixed, len(self.name), LOCAL_SIZES.size)
        return record + self.name + LOCAL_SIZES.pack(1, LOCAL_SIZES.size - 4, self.size, self.size)

    @property
    def directory_header(self) -> bytes:
        fixed = (
            b"PK\1\2",
            ZIP64_VERSION,
            ZIP64_VERSION,
            0,
            0,
            0,
            JANUARY_1980,
            self.crc,
            ELSEWHERE_LONG,
            ELSEWHERE_LONG,
        )
        record = DIRECTORY_HEADER.pack(*fixed, len(self.name), DIRECTORY_FIELD.size, 0, 0, 0, 0, ELSEWHERE_LONG)
        field = DIRECTORY_FIELD.pack(1, DIRECTORY_FIELD.size - 4, self.size, self.size, self.start)
        return record + self.name + field


class NpzFile:
    """Writes arrays to a file that is open for writing; the file is complete after `finish`.

    appended: name -> the array of which `append` writes rows. whole: name -> an array that is written at once.
    """

    def __init__(
        self, file: BinaryIO, appended: Mapping[str, RowsShape], whole: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        whole = whole or {}
        self._file, self._members, start = file, dict[str, _Member](), 0
        for name, rows in [*appended.items(), *((name, RowsShape(a.shape, a.dtype)) for name, a in whole.items())]:
            head = io.BytesIO()
            described = {"descr": npy.dtype_to_descr(rows.dtype), "fortran_order": False, "shape": rows.shape}
            npy.write_array_header_1_0(head, described)
            member = _Member(f"{name}.npy".encode(), rows, start, head.getvalue())
            self._members[name] = member
            self._write(member, member.head)
            start = member.content + member.size
        self._end = start
        for name, array in whole.items():
            self.append(name, array)

    def append(self, name: str, rows: NDArray[Any]) -> None:
        """Write the next rows of an array. Raises ValueError for those of another shape or type."""
        member = self._members[name]
        expected = member.rows
        if rows.dtype != expected.dtype or rows.shape[1:] != expected.shape[1:] or rows.dtype.hasobject:
            raise ValueError(
                f"{name}: rows of {rows.shape[1:]} {rows.dtype}, expected {expected.shape[1:]} {expected.dtype}"
            )
        self._write(member, np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)

    def finish(self) -> None:
        """Write checksums and directory. Raises ValueError if rows are missing."""
        for member in self._members.values():
            if member.written != member.size:
                raise ValueError(f"{member.name.decode()}: {member.written} bytes of {member.size} were written")
            self._file.seek(member.start)
            self._file.write(member.local_header)
        self._file.seek(self._end)
        directory = b"".join(member.directory_header for member in self._members.values())
        count, size, end = len(self._members), len(directory), self._end + len(directory)
        self._file.write(
            directory
            + END_OF_DIRECTORY.pack(
                *(b"PK\6\6", 44, ZIP64_VERSION, ZIP64_VERSION, 0, 0, count, count, size, self._end),
                *(b"PK\6\7", 0, end, 1),
                *(b"PK\5\6", 0, 0, ELSEWHERE_SHORT, ELSEWHERE_SHORT, ELSEWHERE_LONG, ELSEWHERE_LONG, 0),
            )
        )

    def _write(self, member: _Member, content: bytes | memoryview) -> None:
        self._file.seek(member.content + member.written)
        self._file.write(content)
        member.written += len(content)
        member.crc = zlib.crc32(content, member.crc)
