"""The output folder of a run: it holds no other files, and only one run at a time writes to it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..files import FileError, delete_temporary, make_folder

LOCK = "farm.lock"
"""Marks the folder of a run; it is locked while the run lasts."""

LOCKED_BYTE = 2**20
"""The byte to lock on Windows, where locked bytes cannot be read: it is beyond the content."""


@contextmanager
def locked_folder(out: Path, run: str) -> Iterator[None]:
    """Make the folder, and lock it for a run of this process; files that a killed run left half written are deleted.

    On a cluster, workers that still work for an earlier run learn from `is_of_run` that it has ended.

    Raises FileError if it cannot be written, holds other files than a run's, or another run goes on in it.
    """
    if out.is_dir() and not (out / LOCK).exists() and any(out.iterdir()):
        raise FileError(
            f"{out}: holds other files than a run's, expected a new or an empty folder, or one of an earlier run"
        )
    make_folder(out)
    try:
        descriptor = os.open(out / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise FileError(f"{out}: cannot be written ({error.strerror})") from error
    try:
        if not _lock(descriptor):
            raise FileError(f"{out}: another run writes there, choose another folder or wait until it ends")
        delete_temporary(out)
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, run.encode())
        except OSError as error:
            raise FileError(f"{out}: cannot be written ({error.strerror})") from error
        yield
    finally:
        os.close(descriptor)


def is_of_run(out: Path, run: str) -> bool:
    """Return whether a folder is still held by, or was last held by, this run."""
    try:
        return (out / LOCK).read_text(encoding="utf-8", errors="replace") == run
    except OSError:
        return False


def _lock(descriptor: int) -> bool:
    """Lock an open file until this process ends, however it ends; False if another holds it."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError:
        return False
    return True
