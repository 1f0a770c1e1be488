"""The table of capture formats, and `read`, which recognises a file's format and reads it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from ..errors import CaptureError
from .conventions import METRES, UPS
from .devices import raw_take, raw_take_reader
from .files import (
    bvh,
    c3d,
    hand_json,
    leap_json,
    mediapipe_json,
    motive_csv,
    plain_table,
    qualisys_tsv,
    trc,
    webxr_json,
)
from .lfs_pointers import refuse_pointer
from .long_capture import LongCapture, long_capture
from .marker_labels import quoted
from .markers import Markers
from .recording import Recording, to_markers
from .row_reader import OpenFile, RowReader
from .scene_files import SCENE_FORMATS

HEAD_SIZE = 65536
"""Number of bytes at the start of a file from which its format is recognised."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format: how it is recognised, and the function that reads it."""

    name: str
    suffixes: tuple[str, ...]
    sniff: Callable[[bytes], bool]
    """Whether a file that starts with these bytes is of this format."""
    read: Callable[[BinaryIO, str], Recording]
    starts_with: str = ""
    """Typical start of a text file of this format, for error messages."""
    max_size: int = 256 * 2**20
    """Maximum bytes of a file that is read into memory. An hour of 20 markers at 120 Hz has 250 MB as text."""
    open_rows: Callable[[OpenFile, str], RowReader | None] = lambda _open_file, _source: None
    """Opens a file to read its frames a few at a time; returns None if the file must be read as a whole."""


def _looks_like_json(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n\xff\xfe\0")[:1] in {b"{", b"["}


_JSON_FORMATS: tuple[tuple[Callable[[hand_json.Json], bool], Callable[[hand_json.Json, str], Recording]], ...] = (
    (leap_json.matches, leap_json.read),
    (webxr_json.matches, webxr_json.read),
    (mediapipe_json.matches, mediapipe_json.read),
)


def _read_json(data: bytes, source: str) -> Recording:
    """Read JSON of any recorder, which is recognised by the structure of the document."""
    document = hand_json.load(data, source)
    for matches, read_document in _JSON_FORMATS:
        if matches(document):
            return read_document(document, source)
    raise CaptureError(
        f"{source}: JSON without hands, expected Leap frames, 25 or 26 WebXR joints or 21 MediaPipe world landmarks"
    )


def _reading_bytes(read_bytes: Callable[[bytes, str], Recording]) -> Callable[[BinaryIO, str], Recording]:
    """Adapt a function that reads a file's bytes to one that reads an open file."""
    return lambda file, source: read_bytes(file.read(), source)


FORMATS: tuple[FileFormat, ...] = (
    FileFormat("C3D", (".c3d",), c3d.sniff, _reading_bytes(c3d.read), max_size=512 * 2**20, open_rows=c3d.open_rows),
    FileFormat("WebXR handpose", (".handpose",), webxr_json.sniff_pose, _reading_bytes(webxr_json.read_pose)),
    FileFormat("TRC", (".trc",), trc.sniff, _reading_bytes(trc.read), "PathFileType", open_rows=trc.open_rows),
    FileFormat("Qualisys TSV", (".tsv",), qualisys_tsv.sniff, _reading_bytes(qualisys_tsv.read), "NO_OF_FRAMES"),
    FileFormat("Motive CSV", (".csv",), motive_csv.sniff, _reading_bytes(motive_csv.read), "Format Version"),
    FileFormat("BVH", (".bvh",), bvh.sniff, _reading_bytes(bvh.read), "HIERARCHY"),
    FileFormat("JSON", (".json",), _looks_like_json, _reading_bytes(_read_json)),
    FileFormat("raw take", (".rawtake",), raw_take.is_raw_take, raw_take_reader.read, max_size=4 * 2**30),
    FileFormat(
        "table",
        (".csv", ".tsv", ".txt"),
        plain_table.sniff,
        _reading_bytes(plain_table.read),
        "time,wrist.x,wrist.y,wrist.z",
    ),
)
"""The formats in the order in which they are tried: those that are recognised most reliably come first."""

SUFFIXES: tuple[str, ...] = tuple(sorted({suffix for file_format in FORMATS for suffix in file_format.suffixes}))


def read(path: str | Path, unit: str = "auto", up: str = "auto", rate: float | None = None) -> Markers:
    """Read a capture of any format: markers in metres and seconds, Z up.

    Args:
        path: the file.
        unit: auto, m, dm, cm, mm or inch. Unless it is auto, it overrides the file's unit.
        up: auto, x, y, z, -x, -y or -z. Unless it is auto, it overrides the file's up axis.
        rate: Hz, overrides the file's times and rate.

    Raises:
        CaptureError: the file cannot be read.
    """
    path, source = _check_arguments(path, unit, up)
    with _open(path, source) as file:
        try:
            file_format = _format(file.read(HEAD_SIZE), path, source)
            size = os.fstat(file.fileno()).st_size
            if size > file_format.max_size:
                limit = f"{file_format.max_size >> 20} MiB, the most for {file_format.name}"
                raise CaptureError(f"{source}: larger than {limit}: split the take")
            file.seek(0)
            recording = file_format.read(file, source)
        except OSError as error:
            raise _unreadable(source, error) from None
    return to_markers(recording, source, unit, up, rate)


def _open_binary(path: Path) -> BinaryIO:
    """Open a file. A lambda could not be pickled for a worker process."""
    return path.open("rb")


def open_long(
    path: str | Path, unit: str = "auto", up: str = "auto", rate: float | None = None, *, min_frames: int = 0
) -> LongCapture | None:
    """Open a capture of any size to read some of its frames at a time.

    Returns None if its format can only be read as a whole, or if it has fewer than `min_frames` frames. The other
    arguments, and errors, are those of `read`.
    """
    path, source = _check_arguments(path, unit, up)
    with _open(path, source) as file:
        try:
            reader = _format(file.read(HEAD_SIZE), path, source).open_rows(partial(_open_binary, path), source)
            if reader is None or reader.frames < min_frames:
                return None
            return long_capture(reader, unit, up, rate)
        except OSError as error:
            raise _unreadable(source, error) from None


def _check_arguments(path: str | Path, unit: str, up: str) -> tuple[Path, str]:
    """Return a capture's path and name. Raises CaptureError for an invalid path, unit or axis."""
    path = Path(path)
    source = path.name or str(path)
    # A path on Linux may be any bytes; Python represents those that are not UTF-8 as surrogates.
    if str(path).encode("utf-8", "replace").decode() != str(path):
        raise CaptureError(f"{source}: the path is not UTF-8 and cannot be kept in a .blend file, rename it")
    if unit != "auto" and unit not in METRES:
        raise CaptureError(f"{source}: the unit {quoted(unit)} is not known, expected auto, {', '.join(METRES)}")
    if up != "auto" and up not in UPS:
        raise CaptureError(f"{source}: the up axis {quoted(up)} is not known, expected auto, {', '.join(UPS)}")
    return path, source


def _open(path: Path, source: str) -> BinaryIO:
    try:
        if path.exists() and not path.is_file():
            raise CaptureError(f"{source}: a folder or a device, expected a capture file")
        return path.open("rb")
    except FileNotFoundError:
        raise CaptureError(f"{source}: no such file at {path}") from None
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from None


def _unreadable(source: str, error: Exception) -> CaptureError:
    reason = getattr(error, "strerror", None) or str(error)
    return CaptureError(f"{source}: cannot be opened, {reason.lower()}")


def _format(head: bytes, path: Path, source: str) -> FileFormat:
    """Recognise the format by content. Raises CaptureError if none matches; the message lists those of the suffix."""
    if not head.strip(b"\0 \t\r\n"):
        size = f"its first {HEAD_SIZE} bytes are blank" if len(head) == HEAD_SIZE else f"{len(head)} bytes"
        raise CaptureError(f"{source}: the file is empty ({size}), expected a capture")
    refuse_pointer(head, source)
    for file_format in FORMATS:
        if file_format.sniff(head):
            return file_format
    suffix = path.suffix.lower()
    with_suffix = [file_format for file_format in FORMATS if suffix in file_format.suffixes]
    if with_suffix:
        expected = " or ".join(
            f"{file_format.name} ({file_format.starts_with} …)" if file_format.starts_with else file_format.name
            for file_format in with_suffix
        )
        raise CaptureError(f"{source}: the suffix is {suffix}, but the content does not start as {expected} does")
    names = [*(file_format.name for file_format in FORMATS), *(file_format.name for file_format in SCENE_FORMATS)]
    known_formats = ", ".join(dict.fromkeys(names))
    raise CaptureError(f"{source}: the format is not known, expected {known_formats}")
