"""A surface whose near side the hand decides: what is far in a table is out of it above, not below."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contact_surface import ContactSurface

Floats = NDArray[np.float64]

BEHIND = -0.5
"""Greatest cosine between the way out and up at which that is the far side; that of an edge is not."""
LIFTS = np.arange(0.005, 0.1025, 0.005)
"""m by which points are lifted until the side that faces up is the nearest."""


@dataclass(frozen=True, slots=True, eq=False)
class FacedSurface:
    """A surface that a hand comes to from one side."""

    surface: ContactSurface
    up: Floats
    """(3,) unit, from the surface to the hand."""

    def nearest(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the same as ContactSurface.nearest; points in it, nearer to its far side, get the near one."""
        feet, outwards, far = self.surface.nearest(points)
        wrong = np.flatnonzero((far < 0.0) & (outwards @ self.up < BEHIND))
        for lift in LIFTS:
            if not len(wrong):
                break
            foot, out, _ = self.surface.nearest(points[wrong] + lift * self.up)
            right = out @ self.up > 0.0
            rows = wrong[right]
            feet[rows], outwards[rows] = foot[right], out[right]
            far[rows] = np.einsum("ni,ni->n", points[rows] - foot[right], out[right])
            wrong = wrong[~right]
        return feet, outwards, far
