"""The signed distance from a surface, and a cache of it on a grid."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Distance = Callable[[Floats], Floats]
"""(N, 3) m in the world -> (N,) m signed distance from the surface, negative inside."""


class CachedDistance:
    """A signed distance cached on a grid, computed on first use and interpolated between grid points.

    The error is about an eighth of the spacing squared over the surface's radius of curvature: good enough to try many
    hands. The final contact is computed without it.
    """

    def __init__(self, distance: Distance, low: Floats, high: Floats, spacing: float) -> None:
        """low, high: (3,) m, corners of a box around the surface; outside it, the distance from the box is returned."""
        self._distance, self._spacing = distance, spacing
        self._low = np.asarray(low, float)
        self._counts = np.ceil((np.asarray(high) - self._low) / spacing).astype(int) + 2
        self._values = np.full(int(np.prod(self._counts)), np.nan)
        self._steps = np.array([self._counts[1] * self._counts[2], self._counts[2], 1])
        corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        self._offsets, self._corners = corners @ self._steps, corners

    def __call__(self, points: Floats) -> Floats:
        """Return distances (...) m at points (..., 3)."""
        flat = points.reshape(-1, 3)
        at = (flat - self._low) / self._spacing
        inside = np.clip(at, 0.0, self._counts - 1.001)
        cell = inside.astype(int)
        part = inside - cell
        nodes = (cell @ self._steps)[:, None] + self._offsets
        self._fill(nodes)
        fractions = np.prod(np.where(self._corners == 1, part[:, None, :], 1.0 - part[:, None, :]), axis=-1)
        near = (fractions * self._values[nodes]).sum(axis=1)
        beyond = np.linalg.norm(at - inside, axis=1) * self._spacing
        result: Floats = np.where(beyond > 0, np.maximum(near - beyond, beyond), near).reshape(points.shape[:-1])
        return result

    def gradient(self, points: Floats) -> Floats:
        """Return unit gradients (..., 3) of the distance at points (..., 3)."""
        steps = 0.5 * self._spacing * np.eye(3)
        slopes = np.stack([self(points + step) - self(points - step) for step in steps], axis=-1)
        unit: Floats = slopes / np.maximum(np.linalg.norm(slopes, axis=-1, keepdims=True), 1e-12)
        return unit

    def _fill(self, nodes: NDArray[np.int64]) -> None:
        unknown = np.unique(nodes[np.isnan(self._values[nodes])])
        if len(unknown):
            positions = self._low + self._spacing * np.stack(np.unravel_index(unknown, self._counts), -1)
            self._values[unknown] = self._distance(positions)
