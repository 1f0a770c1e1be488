"""The parameter section of a C3D file: groups of named values, in one of three byte orders.

The package py-c3d 0.6.0 is not used: of its 2500 lines, only the loop over the records, about forty, would be needed.
Its first_frame raises TypeError on an ACTUAL_START_FIELD of shape (2, 1), it does not know LABELS2, reads points frame
by frame, prints warnings, and raises ten kinds of exception on damaged files.
"""

import math
import struct
from dataclasses import dataclass, field

import numpy as np

from ...errors import CaptureError
from ..markers import Floats
from .binary_floats import float32_values

BLOCK = 512
INTEL, DEC, MIPS = 84, 85, 86


def float_values(raw: bytes, processor: int) -> Floats:
    """Return the 32-bit floats (N,) in `raw`, in the processor's format. In damaged files they may be inf or NaN."""
    if processor != DEC:
        return float32_values(raw, ">" if processor == MIPS else "<")
    # A VAX F float is an IEEE float with its 16-bit halves swapped and an exponent greater by two.
    halves = np.frombuffer(raw, "<u2").reshape(-1, 2)[:, ::-1]
    return float32_values(halves.tobytes()) / 4.0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter's value, still as bytes."""

    kind: int
    """Type: -1 characters, 1 bytes, 2 16-bit integers, 4 floats."""
    dimensions: tuple[int, ...]
    raw: bytes
    processor: int

    def numbers(self) -> list[float]:
        """Return the values, first dimension fastest; empty if they are characters."""
        if self.kind == 4:
            return [float(value) for value in float_values(self.raw[: len(self.raw) // 4 * 4], self.processor)]
        if self.kind == 2:
            order = ">u2" if self.processor == MIPS else "<u2"
            return [float(value) for value in np.frombuffer(self.raw[: len(self.raw) // 2 * 2], order)]
        return [float(value) for value in self.raw] if self.kind == 1 else []

    def strings(self) -> list[str]:
        """Return the strings without their padding; empty if they are numbers."""
        if self.kind != -1 or not self.raw:
            return []
        length = (self.dimensions or (len(self.raw),))[0]
        if not length:
            return []
        cells = [self.raw[start : start + length] for start in range(0, len(self.raw), length)]
        return [_decode(cell).strip(" \0\t\r\n") for cell in cells]


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


@dataclass(frozen=True, slots=True)
class C3dParameters:
    """All parameters of a file by (GROUP, NAME), in upper case."""

    values: dict[tuple[str, str], Parameter]

    def number(self, group: str, name: str) -> float | None:
        """Return the first value, None if there is none or it is not finite."""
        numbers = self.values[group, name].numbers() if (group, name) in self.values else []
        return numbers[0] if numbers and np.isfinite(numbers[0]) else None

    def integer(self, group: str, name: str) -> int | None:
        """Return a count; None if there is none.

        It is stored as a float, a 16-bit integer, or two of these, the low and high word of a 32-bit integer.
        """
        numbers = self.values[group, name].numbers() if (group, name) in self.values else []
        if not numbers or not np.isfinite(numbers[:2]).all() or abs(numbers[0]) > 2**53:
            return None
        is_split = self.values[group, name].kind == 2 and len(numbers) == 2
        return int(numbers[0]) + (int(numbers[1]) << 16 if is_split else 0)

    def string(self, group: str, name: str) -> str:
        """Return the first string, empty if there is none."""
        words = self.values[group, name].strings() if (group, name) in self.values else []
        return words[0] if words else ""

    def all_strings(self, group: str, name: str) -> list[str]:
        """Return the strings of NAME, NAME2, NAME3 and so on: a parameter holds 255 at most."""
        words: list[str] = []
        for number in range(1, 1000):
            key = (group, name if number == 1 else f"{name}{number}")
            if key not in self.values:
                break
            words += self.values[key].strings()
        return words


def read_parameters(data: bytes, block: int, source: str) -> tuple[C3dParameters, int]:
    """Return the parameters, and the processor. Raises CaptureError if they are damaged.

    block: the block at which they start, counted from 1.
    """
    start = (block - 1) * BLOCK
    if block < 1 or start + 4 > len(data):
        raise CaptureError(
            f"{source}: the header puts the parameters at block {block}, the file has {len(data) // BLOCK} blocks"
        )
    processor = data[start + 3]
    if processor not in {INTEL, DEC, MIPS}:
        raise CaptureError(
            f"{source}: processor type {processor} in the parameter section, expected 84 (Intel), 85 (DEC) or 86 (MIPS)"
        )
    reader = _RecordReader(data[: _section_end(data, start, processor)], processor, source)
    position: int | None = start + 4
    while position is not None:
        position = reader.read_record(position)
    values: dict[tuple[str, str], Parameter] = {}
    for number, name, parameter in reader.parameters:
        values.setdefault((reader.groups.get(number, ""), name), parameter)
    return C3dParameters(values), processor


def _section_end(data: bytes, start: int, processor: int) -> int:
    """Return the byte offset of the section's end: after its stated blocks, but not beyond the first point."""
    ends = [len(data)]
    if data[start + 2]:
        ends.append(start + data[start + 2] * BLOCK)
    (points,) = struct.unpack_from(">H" if processor == MIPS else "<H", data, 16)
    if (points - 1) * BLOCK > start:
        ends.append((points - 1) * BLOCK)
    return min(ends)


@dataclass(frozen=True, slots=True)
class _RecordReader:
    """Walks over the records of a section and collects their groups and parameters."""

    section: bytes
    processor: int
    source: str
    groups: dict[int, str] = field(default_factory=dict)
    parameters: list[tuple[int, str, Parameter]] = field(default_factory=list)
    """(group number, name, value)"""

    def read_record(self, position: int) -> int | None:
        """Read the group or parameter at byte offset `position`; return the offset of the next one, None at the end."""
        section = self.section
        length, number = struct.unpack_from("bb", section, position) if position + 2 <= len(section) else (0, 0)
        if length == 0 or number == 0:
            return None
        name_end = position + 2 + abs(length)
        offset = _next_record_offset(section, name_end, self.processor)
        if offset is None:
            raise CaptureError(
                f"{self.source}: the parameter section is damaged at byte {position}, "
                f"the record there runs past the section's end at byte {len(section)}"
            )
        name = _decode(section[position + 2 : name_end]).strip(" \0").upper()
        if number < 0:
            self.groups.setdefault(-number, name)
        else:
            end = name_end + offset if offset else len(section)
            parameter = _parameter(section[name_end + 2 : end], self.processor)
            if parameter:
                self.parameters.append((number, name, parameter))
        return name_end + offset if offset else None


def _next_record_offset(section: bytes, position: int, processor: int) -> int | None:
    """Return the bytes from `position` to the next record, 0 after the last; None if that is outside the section.

    AMASS wrote the offset of its last record in Intel order in files of any order (sample_02, sgi), so the other order
    is tried, too.
    """
    if position + 2 > len(section):
        return None
    for order in (">h", "<h") if processor == MIPS else ("<h", ">h"):
        (offset,) = struct.unpack_from(order, section, position)
        if offset == 0 or (offset >= 2 and position + offset <= len(section)):
            return int(offset)
    return None


def _parameter(record: bytes, processor: int) -> Parameter | None:
    """Return the value in a record that starts at its type; None if its dimensions do not fit into the record."""
    if len(record) < 2:
        return None
    kind, count = struct.unpack_from("bB", record)
    dimensions = tuple(record[2 : 2 + count])
    size = math.prod(dimensions) * abs(kind)
    if kind not in {-1, 1, 2, 4} or len(dimensions) != count or 2 + count + size > len(record):
        return None
    return Parameter(kind, dimensions, record[2 + count : 2 + count + size], processor)
