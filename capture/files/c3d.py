"""C3D, the binary format of optical motion capture: Intel, DEC and MIPS byte orders, integers and floats.

Specification: https://www.c3d.org/docs/C3D_User_Guide.pdf. c3d_parameters.py says why no package is used.
"""

import io
import struct
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...errors import CaptureError
from ..conventions import UPS
from ..marker_labels import duplicate_warning, unique
from ..markers import Floats
from ..recording import Recording
from ..row_reader import OpenFile, RowReader
from .c3d_parameters import BLOCK, MIPS, C3dParameters, float_values, read_parameters

MAX_HEADER_FRAME = 65535
"""Maximum frame number in the header's 16 bits, at which they saturate."""
MAX_HEAD = 65535 * BLOCK
"""Maximum bytes before the points: the header has 16 bits for their first block."""


@dataclass(frozen=True, slots=True)
class _Header:
    """The words of the header block that describe the points."""

    points: int
    analog: int
    """Number of analog values in a frame: channels times samples."""
    first: int
    """Number of the first frame."""
    last: int
    """Number of the last frame."""
    scale: float
    """Units per count if the points are integers; negative if they are floats."""
    data_block: int
    """Block at which the points start, counted from 1."""
    rate: float
    """Hz."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Location and format of the points in the file."""

    count: int
    """Points in a frame, of four words each."""
    words: int
    """Words in a frame, including the analog ones."""
    size: int
    """Bytes in a word: 2 for integers, 4 for floats."""
    scale: float
    """Units per count; 1 for floats."""
    start: int
    """Byte offset of the first frame."""


def sniff(head: bytes) -> bool:
    """Return whether the second byte is C3D's 0x50 and the first a block number near the start (in a PNG it is 137)."""
    return len(head) > 1 and head[1] == 0x50 and 0 < head[0] < 128 and not head[:4].isalpha()


def read(data: bytes, source: str) -> Recording:
    """Read the points of a C3D file. Raises CaptureError if its sections do not fit into the file."""
    return open_rows(partial(io.BytesIO, data), source).whole()


def open_rows(open_file: OpenFile, source: str) -> "C3dRows":
    """Read the sections before the points. Raises CaptureError if they do not fit into the file."""
    with open_file() as file:
        head = file.read(MAX_HEAD)
        size = file.seek(0, io.SEEK_END)
    if size < BLOCK:
        raise CaptureError(f"{source}: {size} bytes, a C3D file has at least a header of {BLOCK}")
    parameters, processor = read_parameters(head, head[0], source)
    header = _header(head, processor)
    layout = _layout(size, header, parameters, source)
    frames, notes = _frames(size, header, parameters, layout, source)
    labels, label_notes = _labels(parameters, layout.count)
    rate, rate_notes = _rate(header, parameters)
    screen = parameters.string("POINT", "Y_SCREEN").lower().replace("+", "")
    names = unique(labels)
    recording = Recording(
        format="C3D",
        names=names,
        positions=np.empty((0, len(names), 3)),
        rate=rate,
        unit_text=parameters.string("POINT", "UNITS"),
        up=screen if screen in UPS else None,
        # Only Z is trusted: many programs write X_SCREEN +X and Y_SCREEN +Y whatever the axes are.
        up_is_defined=screen == "z",
        warnings=notes + label_notes + duplicate_warning(labels) + rate_notes,
    )
    return C3dRows(source, recording, frames, open_file, layout, processor)


@dataclass(frozen=True, eq=False)
class C3dRows(RowReader):
    """The points of a C3D file."""

    open_file: OpenFile
    layout: _Layout
    processor: int

    def read(self, start: int, stop: int) -> Recording:
        """See RowReader."""
        stride = self.layout.words * self.layout.size
        with self.open_file() as file:
            file.seek(self.layout.start + start * stride)
            raw = file.read((stop - start) * stride)
        if len(raw) < (stop - start) * stride:
            raise CaptureError(
                f"{self.source}: the file has become shorter: frame {start + len(raw) // stride + 1} is gone"
            )
        return replace(self.head, positions=_positions(raw, self.layout, self.processor))


def _header(data: bytes, processor: int) -> _Header:
    words = struct.unpack_from((">" if processor == MIPS else "<") + "10H", data, 0)
    scale, rate = (float(float_values(data[offset : offset + 4], processor)[0]) for offset in (12, 20))
    return _Header(words[1], words[2], words[3], words[4], scale, words[8], rate)


def _layout(size: int, header: _Header, parameters: C3dParameters, source: str) -> _Layout:
    """Return the layout by the header, which matches the data best; parameters replace its missing values."""
    count = header.points or parameters.integer("POINT", "USED") or 0
    if not count:
        raise CaptureError(f"{source}: the header names no points, expected at least one")
    scale = parameters.number("POINT", "SCALE") or header.scale
    if not np.isfinite(scale) or not scale:
        raise CaptureError(f"{source}: the scale of the points is {scale:g}, expected a number that is not 0")
    block = header.data_block or parameters.integer("POINT", "DATA_START") or 0
    start = (block - 1) * BLOCK
    if start < BLOCK or start >= size:
        raise CaptureError(
            f"{source}: the header puts the points at block {block}, expected 2 to {size // BLOCK}, the last"
        )
    words = 4 * count + header.analog
    return _Layout(count, words, 4, 1.0, start) if scale < 0 else _Layout(count, words, 2, scale, start)


def _frames(
    size: int, header: _Header, parameters: C3dParameters, layout: _Layout, source: str
) -> tuple[int, tuple[str, ...]]:
    """Return the number of frames, the largest stated one that fits into the file, and a warning if the numbers differ.

    The header's 16 bits and POINT:FRAMES saturate or wrap in long takes, so no single number is reliable.
    """
    stated_counts = [
        header.last - header.first + 1,
        parameters.integer("POINT", "FRAMES"),
        parameters.integer("POINT", "LONG_FRAMES"),
    ]
    first, last = parameters.integer("TRIAL", "ACTUAL_START_FIELD"), parameters.integer("TRIAL", "ACTUAL_END_FIELD")
    if first is not None and last is not None:
        stated_counts.append(last - first + 1)
    counts = [number for number in stated_counts if number is not None and number > 0]
    if not counts:
        raise CaptureError(
            f"{source}: the header counts from frame {header.first} to {header.last}, expected at least one frame"
        )
    stride = layout.words * layout.size
    frames_in_file = (size - layout.start) // stride
    fitting = [number for number in counts if number <= frames_in_file]
    if not fitting:
        raise CaptureError(
            f"{source}: {min(counts)} frames of {layout.count} points need {min(counts) * stride} bytes, "
            f"the file has {size - layout.start} after its header"
        )
    frames = max(fitting)
    if len(set(counts)) > 1 and max(counts) < MAX_HEADER_FRAME:
        counts_text = ", ".join(str(number) for number in dict.fromkeys(counts))
        return frames, (f"the file names different numbers of frames ({counts_text}): {frames} were read",)
    return frames, ()


def _positions(raw: bytes, layout: _Layout, processor: int) -> Floats:
    """Return (F, M, 3) in the file's unit, NaN where the residual is negative or the point exactly at the origin."""
    if layout.size == 4:
        values = float_values(raw, processor)
    else:
        values = np.frombuffer(raw, ">i2" if processor == MIPS else "<i2").astype(np.float64)
    points = values.reshape(-1, layout.words)[:, : 4 * layout.count].reshape(-1, layout.count, 4)
    # Some programs write a lost point as 0 0 0 without a negative residual; no measured point is exactly at the origin.
    x, y, z, residual = np.moveaxis(points, -1, 0)
    is_seen = (residual >= 0) & ((x != 0) | (y != 0) | (z != 0))
    scaled: Floats = np.where(is_seen[..., None], points[..., :3], np.nan) * layout.scale
    return scaled


def _labels(parameters: C3dParameters, count: int) -> tuple[list[str], tuple[str, ...]]:
    """Return a label for each point, point_1 and so on by its index if it has none, and warnings."""
    stored = parameters.all_strings("POINT", "LABELS")[:count]
    stored += [""] * (count - len(stored))
    blank = sum(not label for label in stored)
    labels = [label or f"point_{index + 1}" for index, label in enumerate(stored)]
    return labels, (f"{blank} of {count} points have no label and were numbered",) if blank else ()


def _rate(header: _Header, parameters: C3dParameters) -> tuple[float | None, tuple[str, ...]]:
    rate = parameters.number("POINT", "RATE")
    if rate and rate > 0:
        return rate, ()
    if np.isfinite(header.rate) and header.rate > 0:
        return header.rate, (f"POINT:RATE is missing, the {header.rate:g} Hz of the header are used",)
    return None, ()
