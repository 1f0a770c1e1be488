"""Picking the bone under the mouse."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEAREST = 1e-6
"""Points nearer to the eye than this share of the farthest depth count as behind it."""
SAME = 1.5
"""pixels; of bones whose distances from the mouse differ by less than this, the one in front is picked."""
TOGETHER = 0.15
"""Bones coincide if they are nearer to the front bone than this share of its length."""


def bone_at(bones: Floats, view: Floats, size: tuple[int, int], mouse: Floats, within: float) -> int:
    """Return the index of the bone drawn within `within` pixels of the mouse (2,); −1 if there is none.

    bones: (2, B, 3) heads and tails. view: (4, 4) from the bones' space to the clip space of a region of `size` pixels.
    """
    ends = bones @ view[:, :3].T + view[:, 3]
    depth = ends[..., 3]
    least = NEAREST * max(float(depth.max(initial=0.0)), 1e-12)
    ends, seen = _in_front(ends, least)
    pixels = (ends[..., :2] / ends[..., 3:] + 1) / 2 * np.array(size)
    apart, part = _from_lines(pixels[0], pixels[1], mouse)
    apart[~seen] = np.inf
    if not len(apart) or not apart.min() <= within:
        return -1
    near = np.flatnonzero(apart <= apart.min() + SAME)
    ends, part = ends[:, near], part[near]
    # Perspective-correct interpolation: 1/w is linear on the screen.
    weights = np.stack([1 - part, part]) / ends[..., 3]
    spots = (weights / weights.sum(axis=0))[..., None] * ends
    there = spots.sum(axis=0)
    lengths = np.linalg.norm(ends[1] - ends[0], axis=1)
    front = int(np.argmin(there[:, 2] / there[:, 3]))
    # A control of a whole finger lies on the finger's bones: of coincident bones the shortest is the most specific.
    together = np.linalg.norm(there - there[front], axis=1) <= TOGETHER * lengths[front]
    return int(near[np.argmin(np.where(together, lengths, np.inf))])


def _in_front(ends: Floats, least: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return both ends (2, B, 4), clipped to the front of the eye, and (B,) which bones are in front at all."""
    w = ends[..., 3]
    behind = w < least
    seen = ~np.all(behind, axis=0)
    span = w[1] - w[0]
    share = np.clip((least - w[0]) / np.where(span == 0, 1.0, span), 0.0, 1.0)
    cut = ends[0] + share[:, None] * (ends[1] - ends[0])
    cut[:, 3] = least
    kept = np.where(behind[..., None], cut, ends)
    kept[:, ~seen] = (0.0, 0.0, 0.0, 1.0)
    return kept, seen


def _from_lines(starts: Floats, ends: Floats, point: Floats) -> tuple[Floats, Floats]:
    """Return distances (B,) of a point (2,) from segments given by their ends (B, 2), and parameters of the feet."""
    along = ends - starts
    length = (along**2).sum(axis=1)
    part = ((point - starts) * along).sum(axis=1) / np.where(length == 0, 1.0, length)
    part = np.clip(part, 0.0, 1.0)
    apart: Floats = np.linalg.norm(starts + part[:, None] * along - point, axis=1)
    return apart, part
