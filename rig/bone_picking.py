"""Picking the bone under the mouse."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_DEPTH = 1e-6
"""Points nearer to the eye than this fraction of the farthest depth count as behind it."""
PIXEL_TOLERANCE = 1.5
"""pixels; of bones whose distances from the mouse differ by less than this, the one in front is picked."""
COINCIDENCE_TOLERANCE = 0.15
"""Bones coincide if they are nearer to the front bone than this fraction of its length."""


def bone_at(bones: Floats, view: Floats, size: tuple[int, int], mouse: Floats, within: float) -> int:
    """Return the index of the bone drawn within `within` pixels of the mouse (2,); −1 if there is none.

    bones: (2, B, 3) heads and tails. view: (4, 4) from the bones' space to the clip space of a region of `size` pixels.
    """
    bone_ends = bones @ view[:, :3].T + view[:, 3]
    depth = bone_ends[..., 3]
    minimum = MIN_DEPTH * max(float(depth.max(initial=0.0)), 1e-12)
    bone_ends, in_front = _clipped_to_front(bone_ends, minimum)
    pixels = (bone_ends[..., :2] / bone_ends[..., 3:] + 1) / 2 * np.array(size)
    distances, fractions = _distances_to_segments(pixels[0], pixels[1], mouse)
    distances[~in_front] = np.inf
    if not len(distances) or not distances.min() <= within:
        return -1
    nearest = np.flatnonzero(distances <= distances.min() + PIXEL_TOLERANCE)
    bone_ends, fractions = bone_ends[:, nearest], fractions[nearest]
    # Perspective-correct interpolation: 1/w is linear on the screen.
    weights = np.stack([1 - fractions, fractions]) / bone_ends[..., 3]
    end_parts = (weights / weights.sum(axis=0))[..., None] * bone_ends
    points = end_parts.sum(axis=0)
    lengths = np.linalg.norm(bone_ends[1] - bone_ends[0], axis=1)
    front = int(np.argmin(points[:, 2] / points[:, 3]))
    # A control of a whole finger lies on the finger's bones: of coincident bones the shortest is the most specific.
    coincident = np.linalg.norm(points - points[front], axis=1) <= COINCIDENCE_TOLERANCE * lengths[front]
    return int(nearest[np.argmin(np.where(coincident, lengths, np.inf))])


def _clipped_to_front(bone_ends: Floats, minimum: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return both ends (2, B, 4), clipped to the front of the eye, and (B,) which bones are in front at all."""
    w = bone_ends[..., 3]
    behind = w < minimum
    in_front = ~np.all(behind, axis=0)
    span = w[1] - w[0]
    fraction = np.clip((minimum - w[0]) / np.where(span == 0, 1.0, span), 0.0, 1.0)
    cut = bone_ends[0] + fraction[:, None] * (bone_ends[1] - bone_ends[0])
    cut[:, 3] = minimum
    clipped = np.where(behind[..., None], cut, bone_ends)
    clipped[:, ~in_front] = (0.0, 0.0, 0.0, 1.0)
    return clipped, in_front


def _distances_to_segments(starts: Floats, ends: Floats, point: Floats) -> tuple[Floats, Floats]:
    """Return distances (B,) of a point (2,) from segments given by their ends (B, 2), and parameters of the feet."""
    directions = ends - starts
    length = (directions**2).sum(axis=1)
    fractions = ((point - starts) * directions).sum(axis=1) / np.where(length == 0, 1.0, length)
    fractions = np.clip(fractions, 0.0, 1.0)
    distances: Floats = np.linalg.norm(starts + fractions[:, None] * directions - point, axis=1)
    return distances, fractions
