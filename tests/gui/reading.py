"""Finds words on the screen by how Blender's own font writes them, so that a test presses what a person reads."""

from typing import Any, NamedTuple

import blf
import imbuf
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Picture = NDArray[np.uint8]

ALIKE = 0.93
"""Correlation from which a place of the screen reads as the words: other words of their length stay below 0.85."""
POINTS = 11.0
"""The size of the interface's text at a scale of 1."""
MARGIN = 2
"""pixels around the words."""


class Words(NamedTuple):
    """Where words stand on the screen: pixels from its top left, in the order of Box."""

    left: int
    top: int
    width: int
    height: int

    @property
    def middle(self) -> tuple[int, int]:
        """Where a person points at."""
        return self.left + self.width // 2, self.top + self.height // 2


Box = tuple[int, int, int, int]
"""Left, top, width, height in pixels from the top left of the screen."""


def find(picture: Picture, text: str, scale: float, *, within: Box | None = None, upright: bool = False) -> list[Words]:
    """The places of a picture (H, W, 3) at which a text stands, from the top down; upright: as on tabs."""
    left, top, width, height = within or (0, 0, picture.shape[1], picture.shape[0])
    grey = picture[top : top + height, left : left + width].mean(axis=2) / 255
    seen = written(text, round(2 * POINTS * scale) / 2)  # Blender draws half points
    seen = np.rot90(seen, -1) if upright else seen
    if min(np.subtract(grey.shape, seen.shape)) < 0:
        return []
    alike, found = correlation(grey, seen), []
    high, wide = seen.shape
    while alike.max() > ALIKE:
        y, x = np.unravel_index(alike.argmax(), alike.shape)
        found.append(Words(left + int(x), top + int(y), wide, high))
        alike[max(0, y - high // 2) : y + high // 2 + 1, max(0, x - wide // 2) : x + wide // 2 + 1] = 0.0
    return sorted(found, key=lambda words: (words.top, words.left))


def written(text: str, size: float) -> Floats:
    """(H, W) how a text of a size in pixels covers what is around it, 0 to 1, in Blender's font of the interface."""
    blf.size(0, size)
    width = int(np.ceil(blf.dimensions(0, text)[0])) + 2 * MARGIN
    height, low = round(1.55 * size), round(0.45 * size)
    paper: Any = imbuf.new((width, height))
    with blf.bind_imbuf(0, paper):
        blf.color(0, 1.0, 1.0, 1.0, 1.0)
        blf.position(0, MARGIN, low, 0)
        blf.draw_buffer(0, text)
    with paper.with_buffer() as pixels:
        covered: Floats = np.array(pixels, float).reshape(height, width, 4)[::-1, :, 3] / 255
    return covered


def correlation(picture: Floats, part: Floats) -> Floats:
    """(H - h + 1, W - w + 1) how a part (h, w) is correlated with each place of a picture (H, W)."""
    part = part - part.mean()
    part /= max(float(np.linalg.norm(part)), 1e-9)
    shape = [int(np.ceil((large + small) / 64)) * 64 for large, small in zip(picture.shape, part.shape, strict=True)]
    high, wide = (large - small + 1 for large, small in zip(picture.shape, part.shape, strict=True))
    spectrum = np.fft.rfft2(picture, shape) * np.conj(np.fft.rfft2(part, shape))
    product = np.fft.irfft2(spectrum, shape)[:high, :wide]
    spread = _sums(picture**2, part.shape) - _sums(picture, part.shape) ** 2 / part.size
    alike: Floats = product / np.sqrt(np.maximum(spread, 0.05))  # where nothing is written, nothing is alike
    return alike


def _sums(picture: Floats, shape: tuple[int, ...]) -> Floats:
    """The sum over each part of a picture of this shape."""
    high, wide = shape
    total = np.pad(picture, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    sums: Floats = total[high:, wide:] - total[:-high, wide:] - total[high:, :-wide] + total[:-high, :-wide]
    return sums
