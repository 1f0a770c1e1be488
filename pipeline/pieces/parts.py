"""Arrays of a long take on the disk, one file for each piece and array."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files import FileError

Array = NDArray[Any]


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Convert OSError to FileError, as when a temporary folder cannot be written to."""
    try:
        yield
    except OSError as error:
        why = error.strerror or "the disk may be full"
        raise FileError(f"{folder.parent}: parts of a long take cannot be written there ({why})") from error


@dataclass(frozen=True, slots=True)
class Parts:
    """The rows of N pieces in a folder."""

    folder: Path
    count: int

    def write(self, piece: int, arrays: Mapping[str, Array]) -> None:
        """Write the rows of a piece. Raises FileError if the disk is full."""
        with disk_errors(self.folder):
            for name, rows in arrays.items():
                np.save(self._path(piece, name), rows, allow_pickle=False)

    def read(self, piece: int, name: str) -> Array:
        """Read a piece's rows of an array."""
        rows: Array = np.load(self._path(piece, name), allow_pickle=False)
        return rows

    def delete(self, piece: int, name: str) -> None:
        """Delete a piece's rows of an array."""
        self._path(piece, name).unlink()

    def joined(self, name: str) -> Array:
        """Read all rows of an array."""
        array = np.empty(self.shape(name), self.dtype(name))
        row = 0
        for rows in self.rows(name):
            array[row : row + len(rows)] = rows
            row += len(rows)
        return array

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array of all rows."""
        shapes = [self._mapped(piece, name).shape for piece in range(self.count)]
        return (sum(shape[0] for shape in shapes), *shapes[0][1:])

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the type of an array's elements."""
        return self._mapped(0, name).dtype

    def rows(self, name: str) -> Iterator[Array]:
        """Yield the rows of an array, a piece's at a time."""
        return (self.read(piece, name) for piece in range(self.count))

    def _mapped(self, piece: int, name: str) -> Array:
        """Return a piece's rows of an array on the disk; only its header is read."""
        rows: Array = np.load(self._path(piece, name), mmap_mode="r", allow_pickle=False)
        return rows

    def _path(self, piece: int, name: str) -> Path:
        return self.folder / f"{piece:06}-{name}.npy"
