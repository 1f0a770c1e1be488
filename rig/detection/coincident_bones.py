"""Find coincident bones by sorting, without comparing all pairs."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class AxisOrder:
    """Bones sorted along the axis on which their heads or tails have the largest spread."""

    def __init__(self, indices: NDArray[np.int_], heads: Floats, tails: Floats) -> None:
        """Sort the bones in rows `indices` (N,) of heads and tails (B, 3)."""
        positions: Floats = np.concatenate([heads[indices], tails[indices]], axis=1)
        self._axis = int(np.argmax(np.ptp(positions, axis=0)))
        order = np.argsort(positions[:, self._axis])
        self._indices, self._positions = indices[order], positions[order]

    def find_near(self, head: Floats, tail: Floats, tolerance: float) -> list[int]:
        """Return the bones whose head and tail are within `tolerance` of `head` and `tail` (3,), along each axis."""
        position: Floats = np.concatenate([head, tail])
        coordinates = self._positions[:, self._axis]
        # The window is slightly wider, so that rounding excludes no bone that is within the tolerance.
        centre = position[self._axis]
        half_width = tolerance + 2 * np.spacing(np.abs(centre) + tolerance)
        window = slice(*np.searchsorted(coordinates, [centre - half_width, centre + half_width]))
        distances = np.abs(self._positions[window] - position).max(axis=1)
        rows: list[int] = self._indices[window][distances < tolerance].tolist()
        return rows
