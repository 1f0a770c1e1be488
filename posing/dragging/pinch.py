"""Where the skin of a dragged fingertip touches that of another digit, on the ray under the mouse."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEIGHBOURS = 8
"""Number of neighbouring points that determine the skin's orientation at a point."""
START_DISTANCE = 0.5
"""Hand lengths before the other skin at which the search starts."""
MAX_ROUNDS = 24
"""Maximum number of steps by the distance of the skins."""
CONTACT_TOLERANCE = 1e-4
"""Hand lengths, maximum distance between skins that touch: 0.02 mm on an adult's hand."""


def outward_normals(points: Floats) -> Floats:
    """Return unit normals (N, 3) of a skin around its middle, by the points (N, 3) beside each point."""
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    beside = points[np.argsort(distances, axis=1)[:, : NEIGHBOURS + 1]]
    offsets = beside - beside.mean(axis=1, keepdims=True)
    normals = np.linalg.svd(offsets)[2][:, -1]
    outwards = np.einsum("ni,ni->n", normals, points - points.mean(axis=0)) >= 0.0
    return np.where(outwards[:, None], normals, -normals)


def gap(skin: Floats, other: Floats, normals: Floats) -> float:
    """Return the distance in m from skin (N, 3) to another one (M, 3) with its normals; below 0 where it is inside."""
    nearest = np.linalg.norm(skin[:, None] - other[None], axis=-1).argmin(axis=1)
    heights = np.einsum("ni,ni->n", skin - other[nearest], normals[nearest])
    return float(heights.min())


def distance_to_contact(skin: Floats, other: Floats, normals: Floats, direction: Floats, size: float) -> float | None:
    """Return how far in m skin moves along a unit direction until it touches another one.

    The search begins far before the contact, so the distance may be negative. None if the skin passes beside the other
    one.
    """
    moved = float((other @ direction).min() - (skin @ direction).max()) - START_DISTANCE * size
    end = float((other @ direction).max() - (skin @ direction).min())
    for _ in range(MAX_ROUNDS):
        distance = gap(skin + moved * direction, other, normals)
        moved += distance
        if distance < CONTACT_TOLERANCE * size:
            return moved
        if moved > end:
            return None
    return None
