"""Arrays that are written a few rows at a time are read as they are by NumPy and by zipfile."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from knuckle.files import FileError
from knuckle.pipeline.pieces.joints_file import joints_file
from knuckle.pipeline.pieces.npz_file import ArrayShape, NpzFile
from knuckle.pipeline.pieces.parts import Parts

ARRAYS = {
    "left_positions": np.random.default_rng(3).normal(size=(57, 25, 3)),
    "predicted": np.arange(57 * 4).reshape(57, 4) % 3 == 0,
    "evidence": np.arange(57, dtype=np.float32),
    "names": np.array(["thumb", "index-finger"]),
    "none": np.empty((0, 3)),
}
SHAPES = {name: ArrayShape(array.shape, array.dtype) for name, array in ARRAYS.items()}


def test_rows_that_come_in_turns_are_read_as_whole_arrays(tmp_path: Path) -> None:
    with (tmp_path / "arrays.npz").open("wb") as file:
        npz = NpzFile(file, SHAPES)
        for start in range(0, 57, 10):
            for name, array in ARRAYS.items():
                npz.append(name, array[start : start + 10])
        npz.finish()
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as found:
        assert found.files == list(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array, strict=True)
    with zipfile.ZipFile(tmp_path / "arrays.npz") as archive:
        assert archive.testzip() is None


def test_missing_rows_are_named(tmp_path: Path) -> None:
    with (tmp_path / "arrays.npz").open("wb") as file:
        npz = NpzFile(file, SHAPES)
        npz.append("left_positions", ARRAYS["left_positions"][:-1])
        with pytest.raises(ValueError, match=r"left_positions\.npy: \d+ bytes of \d+"):
            npz.finish()


def test_joints_that_cannot_be_written_are_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    with pytest.raises(FileError, match="cannot be written there"), joints_file(folder / "j.npz", Parts(folder, 1), 1):
        pass
