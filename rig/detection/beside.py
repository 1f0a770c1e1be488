"""A search for coincident bones by sorting, without comparing all pairs."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class AxisOrder:
    """Bones sorted along the axis on which their heads or tails are spread most."""

    def __init__(self, numbers: NDArray[np.int_], heads: Floats, tails: Floats) -> None:
        """Sort the bones in rows `numbers` (N,) of heads and tails (B, 3)."""
        places: Floats = np.concatenate([heads[numbers], tails[numbers]], axis=1)
        self._axis = int(np.argmax(np.ptp(places, axis=0)))
        order = np.argsort(places[:, self._axis])
        self._numbers, self._places = numbers[order], places[order]

    def where(self, head: Floats, tail: Floats, near: float) -> list[int]:
        """Return the bones whose head and tail are nearer than `near` to those given (3,), along each axis."""
        place: Floats = np.concatenate([head, tail])
        along = self._places[:, self._axis]
        # The window is a little wider, so that rounding of the sums loses no bone that the exact differences find.
        middle, reach = place[self._axis], near + 2 * np.spacing(np.abs(place[self._axis]) + near)
        window = slice(*np.searchsorted(along, [middle - reach, middle + reach]))
        apart = np.abs(self._places[window] - place).max(axis=1)
        found: list[int] = self._numbers[window][apart < near].tolist()
        return found
