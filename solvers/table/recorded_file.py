"""Recorded tables in a file: one for each digit that was recorded, kept with the performer."""

import zipfile
from pathlib import Path

import numpy as np

from ...errors import RecipeError
from ...files import written_whole
from ...hand.joints import DIGITS
from .recorded import NODES, RecordedTable

FORMAT = "knuckle recorded tables 1"
SHAPES = {"corner": (3,), "frames": (*NODES, 3, 4), "apart": NODES}
LARGEST = 2_000_000
"""Bytes of one array: more than the largest has in double precision."""


def save(path: Path, tables: dict[str, RecordedTable]) -> None:
    """Writes the tables by digit as an .npz of plain arrays. Raises FileError if it cannot be written."""
    arrays = {
        f"{digit}.{name}": getattr(table, name).astype("<f4") for digit, table in tables.items() for name in SHAPES
    }
    with written_whole(path) as half, half.open("wb") as file:
        np.savez_compressed(file, format=np.array(FORMAT), **arrays)


def load(path: Path) -> dict[str, RecordedTable]:
    """The tables of a file by digit. Raises RecipeError naming the file and what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            large = [entry for entry in archive.infolist() if entry.file_size > LARGEST]
        if large:
            raise RecipeError(
                f"{path}: '{large[0].filename}' has {large[0].file_size} bytes, expected {LARGEST} at most"
            )
        with np.load(path, allow_pickle=False) as arrays:
            if "format" not in arrays or str(arrays["format"]) != FORMAT:
                raise RecipeError(f"{path}: not a file of recorded tables, expected '{FORMAT}'")
            return {digit: _table(path, digit, arrays) for digit in DIGITS if f"{digit}.corner" in arrays}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise RecipeError(f"{path}: cannot be read as recorded tables ({error})") from error


def _table(path: Path, digit: str, arrays: "np.lib.npyio.NpzFile") -> RecordedTable:
    found = {}
    for name, shape in SHAPES.items():
        key = f"{digit}.{name}"
        if key not in arrays:
            raise RecipeError(f"{path}: the {digit} has no '{name}'")
        array = arrays[key]
        if array.shape != shape or array.dtype.kind != "f" or not np.isfinite(array).all():
            raise RecipeError(f"{path}: '{key}' has the shape {array.shape}, expected {shape} finite numbers")
        found[name] = array.astype(float)
    return RecordedTable(**found)
