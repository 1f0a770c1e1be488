"""Points of triangles that are closest to other points."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SLIVER = 1e-12
"""Area of a triangle over the square of its longest edge, squared, below which only its edges count."""


def barycentric(points: Floats, triangles: Floats) -> Floats:
    """Return the barycentric coordinates (N, 3), each row with sum 1, of points (N, 3) on triangles (N, 3, 3)."""
    edges = triangles[:, 1:] - triangles[:, :1]
    products = edges @ edges.swapaxes(1, 2)
    sides = (edges @ (points - triangles[:, 0])[..., None])[..., 0]
    others = (np.linalg.pinv(products) @ sides[..., None])[..., 0]
    return np.concatenate([1.0 - others.sum(axis=1, keepdims=True), others], axis=1)


def closest_points(points: Floats, triangles: Floats) -> Floats:
    """Return the point (N, 3) of each triangle (N, 3, 3) that is closest to a point (N, 3).

    It is the foot on the triangle's plane if that is in the triangle, else the closest of those on its edges.
    """
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    ab, ac, ap = b - a, c - a, points - a
    d00, d01, d11 = _dots(ab, ab), _dots(ab, ac), _dots(ac, ac)
    d20, d21 = _dots(ap, ab), _dots(ap, ac)
    size = d00 * d11 - d01 * d01
    flat = size <= SLIVER * np.maximum(d00, d11) ** 2
    safe = np.where(flat, 1.0, size)
    second, third = (d11 * d20 - d01 * d21) / safe, (d00 * d21 - d01 * d20) / safe
    found = a + second[:, None] * ab + third[:, None] * ac
    rows = np.flatnonzero(flat | (second < 0.0) | (third < 0.0) | (second + third > 1.0))
    if len(rows):
        found[rows] = _on_edges(points[rows], triangles[rows])
    return np.asarray(found)


def _on_edges(points: Floats, triangles: Floats) -> Floats:
    """Return the point (N, 3) of each triangle's edges that is closest to a point (N, 3)."""
    edges = np.roll(triangles, -1, axis=1) - triangles
    offsets = points[:, None] - triangles
    parts = np.clip((offsets * edges).sum(axis=-1) / np.maximum((edges * edges).sum(axis=-1), 1e-300), 0.0, 1.0)
    projections = triangles + parts[..., None] * edges
    nearest = ((points[:, None] - projections) ** 2).sum(axis=-1).argmin(axis=1)
    return np.asarray(projections[np.arange(len(points)), nearest])


def _dots(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ni,ni->n", a, b))
