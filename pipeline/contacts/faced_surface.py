"""A surface whose near side the hand determines: points deep in a table leave it above, not below."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contact_surface import ContactSurface

Floats = NDArray[np.float64]

FAR_SIDE_COSINE = -0.5
"""Maximum cosine between the outward direction of a far side and `up`; edges have larger ones."""
LIFT_DISTANCES = np.arange(0.005, 0.1025, 0.005)
"""m, lifts of a point that are tried until the nearest side faces up."""


@dataclass(frozen=True, slots=True, eq=False)
class FacedSurface:
    """A surface that a hand approaches from one side."""

    surface: ContactSurface
    up: Floats
    """(3,) unit, from the surface to the hand."""

    def nearest(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the same as ContactSurface.nearest, but with the near side also for points inside that are closer to
        the far side.
        """
        nearest_points, outwards, distances = self.surface.nearest(points)
        wrong_rows = np.flatnonzero((distances < 0.0) & (outwards @ self.up < FAR_SIDE_COSINE))
        for lift in LIFT_DISTANCES:
            if not len(wrong_rows):
                break
            new_points, out, _ = self.surface.nearest(points[wrong_rows] + lift * self.up)
            is_found = out @ self.up > 0.0
            rows = wrong_rows[is_found]
            nearest_points[rows], outwards[rows] = new_points[is_found], out[is_found]
            distances[rows] = np.einsum("ni,ni->n", points[rows] - new_points[is_found], out[is_found])
            wrong_rows = wrong_rows[~is_found]
        return nearest_points, outwards, distances
