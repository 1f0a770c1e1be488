"""What labelling and cleaning have changed in each marker and frame."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...capture.markers import Markers

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class MarkerHistory:
    """F frames of M markers."""

    names: tuple[str, ...]
    times: Floats
    """(F,) s"""
    corrected: Bools
    """(F, M) where cleaning removed a position, or a swap of labels was undone."""
    doubt: Floats
    """(F, M) 0..1, probability that the label is wrong."""

    @classmethod
    def of(cls, raw: Markers, cleaned: Markers, swapped: Bools | None, doubt: Floats | None) -> "MarkerHistory":
        """Compare the labelled markers before and after cleaning, which changes neither frames nor labels."""
        removed = raw.seen & ~raw.predicted & (cleaned.predicted | ~cleaned.seen)
        corrected = removed if swapped is None else removed | swapped
        return cls(cleaned.names, cleaned.times, corrected, np.zeros(corrected.shape) if doubt is None else doubt)

    def at(self, times: Floats, labels: Sequence[str]) -> tuple[Bools, Floats]:
        """Return corrected (N, T) and doubt (N, T) of some labels in the frames nearest to times (N,)."""
        next_row = np.clip(np.searchsorted(self.times, times), 1, max(len(self.times) - 1, 1))
        next_row = np.minimum(next_row, len(self.times) - 1)
        previous_row = np.maximum(next_row - 1, 0)
        nearest = np.where(times - self.times[previous_row] < self.times[next_row] - times, previous_row, next_row)
        columns = np.array([self.names.index(label) for label in labels], int)
        return self.corrected[np.ix_(nearest, columns)], self.doubt[np.ix_(nearest, columns)]
