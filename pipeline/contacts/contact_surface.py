"""The interface of surfaces that a hand touches."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class ContactSurface(Protocol):
    """The surface of an object, in coordinates that move with the object."""

    def nearest(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the surface points nearest to points (N, 3) m, outward directions (N, 3), and distances (N,) m.

        Distances are negative inside.
        """
