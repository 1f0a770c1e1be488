"""The joints of a long take as .npz, written piece by piece."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...hand.joints import Side
from ..joint_arrays import FRAME_ARRAYS, angle_names, rotations_name
from .npz_file import NpzFile, RowsShape
from .parts import Parts, disk_errors
from .solve_piece import HandOfPiece, PieceResult

Floats = NDArray[np.float64]

ONLY_WRITTEN = ("positions", "rotations")
"""Arrays of a hand that the report and the report page do not need."""


class JointsFile:
    """Writes the arrays that `knuckle.joints` describes, piece after piece; see `joints_file`."""

    def __init__(self, file: BinaryIO, disk: ThreadPoolExecutor, parts: Parts, frames: int) -> None:
        self._file, self._disk, self._parts, self._frames = file, disk, parts, frames
        self._npz: NpzFile | None = None
        self._last_rotations: dict[Side, Floats] = {}
        """(J, 4) of each hand in the last frame that was written."""
        self._flushing: Future[None] | None = None

    def add(self, result: PieceResult) -> None:
        """Write the rows of the next piece, and delete those that nothing else reads from the parts.

        Raises FileError if the disk is full.
        """
        with disk_errors(self._parts.folder):
            if self._npz is None:
                self._npz = self._begin(result)
            signs = {rotations_name(hand.side): self._continuity_sign(hand) for hand in result.hands}
            piece = result.piece.number
            for name in _names(result):
                rows = self._parts.read(piece, name)
                self._npz.append(name, rows * signs[name] if name in signs else rows)
            for hand in result.hands:
                for name in ONLY_WRITTEN:
                    self._parts.delete(piece, f"{hand.side}_{name}")
            self._flush()

    def finish(self) -> None:
        """Complete the file after all pieces. Raises FileError if it could not be written to the disk."""
        assert self._npz is not None
        with disk_errors(self._parts.folder):
            self._npz.finish()
            self._file.flush()
            if self._flushing is not None:
                self._flushing.result()

    def _begin(self, result: PieceResult) -> NpzFile:
        """Write the headers of all arrays, and the names of the angles."""
        shapes: dict[str, RowsShape] = {}
        for name in _names(result):
            rows = self._parts.read(result.piece.number, name)
            shapes[name] = RowsShape((self._frames, *rows.shape[1:]), rows.dtype)
        names = {name: array for hand in result.hands for name, array in angle_names(hand.hand).items()}
        return NpzFile(self._file, shapes, names)

    def _continuity_sign(self, hand: HandOfPiece) -> Floats:
        """Return the factor (J, 1), 1 or -1, that keeps a hand's rotations from flipping where the piece begins."""
        first, last = hand.rotations
        last_rotations = self._last_rotations.get(hand.side, first)
        sign = np.where((last_rotations * first).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
        self._last_rotations[hand.side] = sign * last
        return sign

    def _flush(self) -> None:
        """Flush to the disk while the next pieces are solved, so that gigabytes are not left to the end."""
        self._file.flush()
        if self._flushing is not None and self._flushing.done():
            # The system reports a disk error only once.
            self._flushing.result()
            self._flushing = None
        if self._flushing is None:
            self._flushing = self._disk.submit(os.fsync, self._file.fileno())


def _names(result: PieceResult) -> list[str]:
    """Return the names of the arrays with a row for each frame: the times, and those of a piece's hands."""
    return ["times", *(f"{hand.side}_{name}" for hand in result.hands for name in FRAME_ARRAYS)]


@contextmanager
def joints_file(path: Path, parts: Parts, frames: int) -> Iterator[JointsFile]:
    """Yield the file of joints of a take with `frames` solved frames; add its pieces in order, then call `finish`.

    Raises FileError if the file cannot be created.
    """
    with ExitStack() as stack:
        with disk_errors(parts.folder):
            file = stack.enter_context(path.open("wb"))
        yield JointsFile(file, stack.enter_context(ThreadPoolExecutor(1)), parts, frames)
