"""Write files completely or not at all."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import KnuckleError


class FileError(KnuckleError):
    """A file that cannot be written."""


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` at the end, delete it if anything fails.

    Raises:
        FileError: If the file cannot be written.
    """
    half = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}").resolve()
    try:
        yield half
        half.replace(path)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):
            half.unlink()


def write_json(path: Path, data: Any) -> None:
    """Write data as indented JSON. Raises FileError if the file cannot be written."""
    with written_whole(path) as half:
        half.write_text(
            json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", errors="backslashreplace"
        )


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
    if any(path.exists() and other.exists() and path.samefile(other) for other in unlike):
        raise FileError(f"{path}: is read from, expected another file to write to")
    if suffix and path.suffix.lower() != suffix:
        raise FileError(f"{path}: expected a name that ends in {suffix}")
    if not path.resolve().parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise FileError(f"{path}: is a folder, expected a file")
    return path
