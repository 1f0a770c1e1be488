"""Arrays that are written a few rows at a time are read as they are by NumPy and by zipfile."""

import errno
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from knuckle.files import FileError
from knuckle.hand.proportions import adult, build
from knuckle.pipeline.pieces.joints_file import joints_file
from knuckle.pipeline.pieces.npz_file import NpzFile, RowsShape
from knuckle.pipeline.pieces.parts import Parts

ARRAYS = {
    "left_positions": np.random.default_rng(3).normal(size=(57, 25, 3)),
    "predicted": np.arange(57 * 4).reshape(57, 4) % 3 == 0,
    "evidence": np.arange(57, dtype=np.float32),
    "names": np.array(["thumb", "index-finger"]),
    "none": np.empty((0, 3)),
}
SHAPES = {name: RowsShape(array.shape, array.dtype) for name, array in ARRAYS.items()}


def test_rows_that_come_in_turns_are_read_as_whole_arrays(tmp_path: Path) -> None:
    names = np.array(["mcp", "pip"])
    with (tmp_path / "arrays.npz").open("wb") as file:
        npz = NpzFile(file, SHAPES, {"more": names})
        for start in range(0, 57, 10):
            for name, array in ARRAYS.items():
                npz.append(name, array[start : start + 10])
        npz.finish()
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as found:
        assert found.files == [*ARRAYS, "more"]
        for name, array in (ARRAYS | {"more": names}).items():
            np.testing.assert_array_equal(found[name], array, strict=True)
    with zipfile.ZipFile(tmp_path / "arrays.npz") as archive:
        assert archive.testzip() is None


def test_arrays_beyond_four_gigabytes_are_found(tmp_path: Path) -> None:
    """A sparse file: the long array is as good as written, and no checksum is asked for."""
    rows, path = (5 << 30) // 8, tmp_path / "arrays.npz"
    with path.open("wb") as file:
        npz = NpzFile(file, {"long": RowsShape((rows,), np.dtype(float)), "after": RowsShape((3,), np.dtype(float))})
        npz._members["long"].written += 8 * rows
        npz.append("after", np.arange(3.0))
        npz.finish()
    with zipfile.ZipFile(path) as archive:
        long, after = archive.infolist()
        assert long.file_size > 5 << 30 and after.header_offset > 5 << 30
    with np.load(path, allow_pickle=False) as found:
        np.testing.assert_array_equal(found["after"], [0.0, 1.0, 2.0])


@pytest.mark.parametrize("rows", [np.zeros((5, 25, 2)), np.zeros((5, 25, 3), np.float32), np.zeros((5, 25, 3), object)])
def test_rows_of_another_shape_or_type_are_refused(rows: Any, tmp_path: Path) -> None:
    with (tmp_path / "arrays.npz").open("wb") as file, pytest.raises(ValueError, match="expected"):
        NpzFile(file, SHAPES).append("left_positions", rows)


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


def pieces_of(folder: Path, rotations: Any) -> tuple[Parts, list[Any]]:
    """Parts of a hand with rotations (P, F, J, 4) in P pieces and zeros in other arrays, and the pieces' results."""
    hand, parts = build(adult("left")), Parts(folder, len(rotations))
    results = []
    for number, own in enumerate(rotations):
        frames = len(own)
        parts.write(
            number,
            {
                "times": np.zeros(frames),
                "left_positions": np.zeros((frames, 25, 3)),
                "left_rotations": own,
                "left_predicted": np.zeros((frames, 25), bool),
                "left_angles": np.zeros((frames, 26)),
            },
        )
        of_piece = SimpleNamespace(side="left", hand=hand, rotations=(own[0], own[-1]))
        results.append(SimpleNamespace(piece=SimpleNamespace(number=number), hands=(of_piece,)))
    return parts, results


def test_rotations_do_not_flip_where_pieces_meet(tmp_path: Path) -> None:
    """A joint that turns on by half a degree in each frame, in pieces whose signs were chosen without the others."""
    half = np.radians(np.arange(30) / 4)
    path = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=-1)[:, None].repeat(25, axis=1)
    signs = np.array([1.0, -1.0, -1.0])[:, None, None, None]
    parts, results = pieces_of(tmp_path, signs * path.reshape(3, 10, 25, 4))
    with joints_file(tmp_path / "j.npz", parts, 30) as joints:
        for result in results:
            joints.add(result)
        joints.finish()
    with np.load(tmp_path / "j.npz") as found:
        np.testing.assert_array_equal(found["left_rotations"], path)
    assert not [*tmp_path.glob("*_positions.npy"), *tmp_path.glob("*_rotations.npy")]


def test_an_error_that_the_disk_reports_once_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = iter([OSError(errno.ENOSPC, "No space left on device")])

    def fsync(_file: int) -> None:
        for error in reports:
            raise error

    monkeypatch.setattr("os.fsync", fsync)
    parts, results = pieces_of(tmp_path, np.ones((3, 2, 25, 4)))
    with pytest.raises(FileError, match="No space left"), joints_file(tmp_path / "j.npz", parts, 6) as joints:
        for result in results:
            joints.add(result)
        joints.finish()
