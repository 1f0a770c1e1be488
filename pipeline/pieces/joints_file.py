"""The joints of a long take as .npz, to which each piece's rows are added once it is solved."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import Side
from ..joint_arrays import JOINT_ARRAYS, angle_names, rotations_name
from .npz_file import ArrayShape, NpzFile
from .parts import Parts, disk_errors
from .solve_piece import PieceResult

Floats = NDArray[np.float64]

ONLY_WRITTEN = ("positions", "rotations")
"""Arrays of a hand that the report and the report page do not need."""


class JointsFile:
    """Writes the arrays that `knuckle.joints` describes, a piece after the other; see `joints_file`."""

    def __init__(self, file: BinaryIO, disk: ThreadPoolExecutor, parts: Parts, frames: int) -> None:
        self._file, self._disk, self._parts, self._frames = file, disk, parts, frames
        self._npz: NpzFile | None = None
        self._signs: dict[Side, Floats] = {}
        """(J, 1) of each hand: the factor by which its rotations do not flip where the piece begins."""
        self._last_rotations: dict[Side, Floats] = {}
        """(J, 4) of each hand in the last frame that was written."""
        self._flushing: Future[None] | None = None

    def add(self, result: PieceResult) -> None:
        """Write the rows of the next piece, and delete from the parts those that nothing else reads."""
        if self._npz is None:
            self._npz = self._begin(result)
        for hand in result.hands:
            first, last = hand.rotations
            before = self._last_rotations.get(hand.side, first)
            sign = np.where((before * first).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
            self._signs[hand.side], self._last_rotations[hand.side] = sign, sign * last
        signs = {rotations_name(side): sign for side, sign in self._signs.items()}
        piece = result.piece.number
        self._npz.append("times", self._parts.read(piece, "times"))
        for name in _names(result):
            rows = self._parts.read(piece, name)
            self._npz.append(name, rows * signs[name] if name in signs else rows)
        for hand in result.hands:
            for name in ONLY_WRITTEN:
                self._parts.delete(piece, f"{hand.side}_{name}")
        # The disk writes while the next pieces are solved; otherwise gigabytes would wait for the end.
        self._file.flush()
        if self._flushing is None or self._flushing.done():
            self._flushing = self._disk.submit(os.fsync, self._file.fileno())

    def _begin(self, result: PieceResult) -> NpzFile:
        """Write the heads of all arrays, and those that have no rows for frames."""
        arrays: dict[str, ArrayShape] = {}
        for name in ("times", *_names(result)):
            rows = self._parts.read(0, name)
            arrays[name] = ArrayShape((self._frames, *rows.shape[1:]), rows.dtype)
        whole: Mapping[str, NDArray[Any]] = {
            name: array for hand in result.hands for name, array in angle_names(hand.hand).items()
        }
        arrays |= {name: ArrayShape(array.shape, array.dtype) for name, array in whole.items()}
        npz = NpzFile(self._file, arrays)
        for name, array in whole.items():
            npz.append(name, array)
        return npz

    def finish(self) -> None:
        """Complete the file after all pieces."""
        assert self._npz is not None
        self._npz.finish()


def _names(result: PieceResult) -> list[str]:
    """Return the names of the arrays of a piece's hands."""
    return [f"{hand.side}_{name}" for hand in result.hands for name in JOINT_ARRAYS]


@contextmanager
def joints_file(path: Path, parts: Parts, frames: int) -> Iterator[JointsFile]:
    """Yield the joints of a take of so many solved frames, whose pieces are to be added in order.

    Raises FileError if there is no room for them.
    """
    with disk_errors(path.parent), path.open("wb") as file, ThreadPoolExecutor(1) as disk:
        joints = JointsFile(file, disk, parts, frames)
        yield joints
        joints.finish()
