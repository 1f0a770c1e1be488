"""Write files completely or not at all."""

import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import KnuckleError


class FileError(KnuckleError):
    """A file that cannot be written."""


TEMPORARY_PREFIX, FOLDER_SUFFIX = ".knuckle-", ".parts"
_TEMPORARY = re.compile(rf"{re.escape(TEMPORARY_PREFIX)}\d+-[0-9a-f]{{8}}(\.[^.]*)?")
STALE_SECONDS = 3600.0
"""Age, s, beyond which a temporary file is taken to be left by a killed process."""


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` at the end, delete it if anything fails.

    The file is on the disk before it is renamed. Temporary files of the same folder that are older than an hour are
    deleted: they remain where a process was killed.

    Raises:
        FileError: If the file cannot be written.
    """
    name = f"{TEMPORARY_PREFIX}{os.getpid()}-{zlib.crc32(os.fsencode(path.stem)):08x}{path.suffix}"
    temporary = path.with_name(name).resolve()
    try:
        delete_temporary(temporary.parent, STALE_SECONDS)
        yield temporary
        _flush_to_disk(temporary, os.O_RDWR)
        temporary.replace(path)
        if os.name == "posix":
            _flush_to_disk(temporary.parent, os.O_RDONLY)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def delete_temporary(folder: Path, age: float = 0.0) -> None:
    """Delete temporary files and folders in a folder that are at least `age` s old.

    By default all are deleted, of running writers, too.
    """
    for path in folder.glob(f"{TEMPORARY_PREFIX}*"):
        with suppress(OSError):
            # Names of this module alone: a person's files may begin with the prefix, too.
            if _TEMPORARY.fullmatch(path.name) and (age == 0.0 or time.time() - _last_written(path) > age):
                if path.name.endswith(FOLDER_SUFFIX):
                    shutil.rmtree(path)
                else:
                    path.unlink()


def _last_written(path: Path) -> float:
    """Return when a file, or any in a folder, was written last, s."""
    inside = path.iterdir() if path.is_dir() else ()
    return max([path.stat().st_mtime, *(member.stat().st_mtime for member in inside)])


@contextmanager
def temporary_folder(beside: Path) -> Iterator[Path]:
    """Yield an empty folder beside a file that is to be written, on the same disk; it is deleted at the end.

    Raises FileError if it cannot be made.
    """
    folder = beside.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(4).hex()}{FOLDER_SUFFIX}").resolve()
    try:
        delete_temporary(folder.parent, STALE_SECONDS)
        folder.mkdir()
    except OSError as error:
        raise FileError(f"{beside}: no folder can be made beside it ({error.strerror})") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _flush_to_disk(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def json_bytes(data: Any) -> bytes:
    """Encode data as indented JSON, as every file of Knuckle is."""
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode("utf-8", errors="backslashreplace")


def write_json(path: Path, data: Any) -> None:
    """Write data as indented JSON. Raises FileError if the file cannot be written."""
    with written_whole(path) as temporary:
        temporary.write_bytes(json_bytes(data))


def make_folder(path: Path) -> None:
    """Create a folder and its parents where they do not exist. Raises FileError if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: no folder can be made there ({error.strerror})") from error


def expect_writable(path: Path, suffix: str = "", unlike: Iterable[Path] = ()) -> Path:
    """Return the path if its folder exists, its suffix is the expected one and it is none of the files `unlike`.

    Call it before the work rather than after. Raises FileError otherwise.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror})") from error
    if any(path.exists() and other.exists() and path.samefile(other) for other in unlike):
        raise FileError(f"{path}: is an input, expected another file to write to")
    if suffix and path.suffix.lower() != suffix:
        raise FileError(f"{path}: expected a name that ends in {suffix}")
    if not path.resolve().parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise FileError(f"{path}: is a folder, expected a file")
    return path


def exists(path: Path) -> bool:
    """Return whether there is a file or folder; False, too, for what cannot be a path, such as a name that is too
    long."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True
