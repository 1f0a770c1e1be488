"""Bones that lie side by side, sorted by place: which lie where another does, without comparing each with each."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class AxisOrder:
    """Some bones, by their places along the axis on which their heads or tails are furthest spread."""

    def __init__(self, numbers: NDArray[np.int_], heads: Floats, tails: Floats) -> None:
        """Of heads and tails (B, 3) those in the rows `numbers` (N,)."""
        places: Floats = np.concatenate([heads[numbers], tails[numbers]], axis=1)
        self._axis = int(np.argmax(np.ptp(places, axis=0)))
        order = np.argsort(places[:, self._axis])
        self._numbers, self._places = numbers[order], places[order]

    def where(self, head: Floats, tail: Floats, near: float) -> list[int]:
        """The bones with head and tail nearer than `near` to those given (3,), along each axis."""
        place: Floats = np.concatenate([head, tail])
        along = self._places[:, self._axis]
        # A little further: a sum that is rounded must not leave out what a difference would find.
        middle, reach = place[self._axis], near + 2 * np.spacing(np.abs(place[self._axis]) + near)
        window = slice(*np.searchsorted(along, [middle - reach, middle + reach]))
        apart = np.abs(self._places[window] - place).max(axis=1)
        found: list[int] = self._numbers[window][apart < near].tolist()
        return found
