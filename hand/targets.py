"""Targets: where a hand's sites should be, frame by frame."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """What a solver is asked for, over F frames and T sites of one hand."""

    times: Floats
    """(F,) s."""
    sites: Ints
    """(T,) indices into HandModel.sites."""
    positions: Floats
    """(F, T, 3) m in the world; finite where the weight is above zero."""
    weights: Floats
    """(F, T) >= 0, 0 = missing."""

    def __len__(self) -> int:
        return len(self.times)

    def select(self, frames: slice) -> "Targets":
        """The targets of some of the frames."""
        return Targets(self.times[frames], self.sites, self.positions[frames], self.weights[frames])
