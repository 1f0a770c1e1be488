"""A forearm over time, a performer's or a character's."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_LENGTH = 1e-4
"""m between an elbow and a wrist that are no longer one point."""


@dataclass(frozen=True, slots=True, eq=False)
class Forearm:
    """A forearm in the world on F frames."""

    elbow: Floats
    """(F, 3) m."""
    wrist: Floats
    """(F, 3) m."""
    back: Floats | None = None
    """(F, 3) where the back of a hand at rest on it points; None if that is unknown."""
    trunk: Floats | None = None
    """(F, 3) m, the shoulder, or another point of the trunk on this side of it; None if that is unknown."""

    @property
    def is_seen(self) -> bool:
        """Whether it has a direction in every frame."""
        return bool((np.linalg.norm(self.wrist - self.elbow, axis=-1) > LEAST_LENGTH).all())

    def select(self, rows: slice) -> "Forearm":
        """Return some of its frames."""
        back, trunk = (None if points is None else points[rows] for points in (self.back, self.trunk))
        return Forearm(self.elbow[rows], self.wrist[rows], back, trunk)
