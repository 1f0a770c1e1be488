"""The output folder of a run: no other's files in it, and one run at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..files import FileError, delete_temporary, make_folder

LOCK = "farm.lock"
"""Tells a run's folder from others; it is locked as long as a run goes on."""


@contextmanager
def locked_folder(out: Path) -> Iterator[None]:
    """Make the folder, and hold it for this process; what a killed run has left half written is deleted.

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
            raise FileError(f"{out}: another run writes there, expected another folder, or to wait for its end")
        delete_temporary(out)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock an open file until this process ends, however it ends; False if another holds it."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
