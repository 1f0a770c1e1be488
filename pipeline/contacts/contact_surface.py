"""A surface that a hand comes to, as contacts need it."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class ContactSurface(Protocol):
    """The surface of a thing, in coordinates that move with it."""

    def nearest(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Return its points nearest to points (N, 3) m, directions (N, 3) out of it, and distances (N,), negative in
        it."""
