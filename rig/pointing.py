"""Which bone a person points at."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEAREST = 1e-6
"""What is nearer to the eye, as a share of the farthest, is behind it or in it."""
SAME = 1.5
"""pixels: bones that are as near as this to the mouse are the same to the hand, and the one in front is meant."""
TOGETHER = 0.15
"""Bones nearer to each other than this share of the one in front are in one place."""


def bone_at(bones: Floats, view: Floats, size: tuple[int, int], mouse: Floats, within: float) -> int:
    """The bone of heads and tails (2, B, 3) that is drawn within so many pixels of the mouse (2,); −1 if none is.

    view: (4, 4) from the bones' space to the clip space of a region of `size` pixels.
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
    # What is linear on the screen is 1/w: the share of the bone at that share of its picture.
    weights = np.stack([1 - part, part]) / ends[..., 3]
    spots = (weights / weights.sum(axis=0))[..., None] * ends
    there = spots.sum(axis=0)
    lengths = np.linalg.norm(ends[1] - ends[0], axis=1)
    front = int(np.argmin(there[:, 2] / there[:, 3]))
    # Controls of a whole finger lie on its bones: of bones in one place the shortest says most.
    together = np.linalg.norm(there - there[front], axis=1) <= TOGETHER * lengths[front]
    return int(near[np.argmin(np.where(together, lengths, np.inf))])


def _in_front(ends: Floats, least: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Both ends (2, B, 4), each cut off where its bone goes behind the eye; and the bones that are before it at all."""
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
    """(B,) how far a point (2,) is from lines (B, 2), (B, 2), and at which share of each it is nearest."""
    along = ends - starts
    length = (along**2).sum(axis=1)
    part = ((point - starts) * along).sum(axis=1) / np.where(length == 0, 1.0, length)
    part = np.clip(part, 0.0, 1.0)
    apart: Floats = np.linalg.norm(starts + part[:, None] * along - point, axis=1)
    return apart, part
