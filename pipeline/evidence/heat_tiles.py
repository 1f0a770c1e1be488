"""Heat strips over the frames of a scene as rectangles, in tiles for each zoom level, so that long takes draw fast."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...capture.cleaning import runs
from ...hand.joints import SIDES, digit_title
from .columns import column_starts
from .evidence import PARTS, Evidence, HandEvidence
from .heat import LEVEL_HEIGHTS, NEAR_LEVEL, heat

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TILE_COLUMNS = 2048
"""Columns of a tile: of about a pixel each, so that a window has one or two tiles."""
LANE = 0.15
"""Fraction of a row, at its bottom, that marks predicted frames."""
PREDICTED = len(LEVEL_HEIGHTS)
"""The kind of a rectangle that marks predicted frames; other kinds are levels."""


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """N rectangles: x in frames of the scene, y in rows from the first one, downwards."""

    corners: Floats
    """(N, 4) left, top, right, bottom."""
    kinds: Ints
    """(N,) level, or PREDICTED."""


@dataclass(frozen=True, eq=False)
class HeatRows:
    """R strips of a take of F frames, a row for each part of each hand."""

    evidence: Evidence
    frames: tuple[float, float]
    """The scene frames of the first and the last frame."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(R,) names of the rows, with the hand where there are two."""
        sides = [f"{side[0].upper()} " if len(self.evidence.hands) > 1 else "" for side in self._sides]
        return tuple(side + digit_title(part) for side in sides for part in PARTS)

    @cached_property
    def levels(self) -> NDArray[np.uint8]:
        """(F, R)"""
        return np.concatenate([heat(self._hands[side]) for side in self._sides], axis=1)

    @cached_property
    def predicted(self) -> Bools:
        """(F, R) where a joint was not determined by a marker."""
        is_predicted: Bools = np.concatenate([self._hands[side].of("predicted") > 0 for side in self._sides], axis=1)
        return is_predicted

    @cached_property
    def edges(self) -> Floats:
        """(F + 1,) scene frames of the start of each frame, half a frame before its key, and of the end of the last."""
        times = self.evidence.times
        first, last = self.frames
        duration = float(times[-1] - times[0])
        keys = first + (times - times[0]) * ((last - first) / duration if duration > 0 else 0.0)
        between = (keys[:-1] + keys[1:]) / 2
        step = float(np.median(np.diff(keys))) if len(keys) > 1 else 1.0
        return np.concatenate([[keys[0] - step / 2], between, [keys[-1] + step / 2]])

    def zoom(self, pixels_per_frame: float) -> int:
        """Return the smallest zoom at which a column, of 2 ** zoom frames of the take, is at least a pixel wide."""
        first, last = self.edges[0], self.edges[-1]
        pixels = max(float(last - first) * pixels_per_frame, 1e-9)
        maximum = max(len(self.levels), 1)
        return min(max(math.ceil(math.log2(maximum / pixels)), 0), math.ceil(math.log2(maximum)))

    def tiles(self, zoom: int, first: float, last: float) -> range:
        """Return the numbers of the tiles that contain the scene frames from first to last."""
        rows = np.searchsorted(self.edges, [first, last], side="right") - 1
        low, high = np.clip(rows, 0, len(self.levels) - 1) // (TILE_COLUMNS << zoom)
        return range(int(low), int(high) + 1)

    def tile(self, zoom: int, number: int, together: bool = False) -> Bars:
        """Return the rectangles of a tile: each column has the worst level of its frames, and equal neighbours are
        merged.

        together: merge all rows into one with their worst level.
        """
        size = TILE_COLUMNS << zoom
        part = slice(number * size, min((number + 1) * size, len(self.levels)))
        starts = column_starts(part.stop - part.start, -(-(part.stop - part.start) // (1 << zoom)))
        edges = self.edges[np.append(part.start + starts, part.stop)]
        levels = np.maximum.reduceat(self.levels[part], starts, axis=0)
        guessed = np.logical_or.reduceat(self.predicted[part], starts, axis=0)
        if together:
            levels = np.maximum.reduce(levels, axis=1, keepdims=True)
            guessed = np.logical_or.reduce(guessed, axis=1, keepdims=True)
        corners, kinds = [np.empty((0, 4))], [np.empty(0, int)]
        for level in range(NEAR_LEVEL, len(LEVEL_HEIGHTS)):
            rectangles = _corners(levels == level, edges, 1.0 - LANE - (1.0 - LANE) * LEVEL_HEIGHTS[level], 1.0 - LANE)
            corners.append(rectangles)
            kinds.append(np.full(len(rectangles), level))
        rectangles = _corners(guessed, edges, 1.0 - LANE, 1.0)
        return Bars(
            np.concatenate([*corners, rectangles]), np.concatenate([*kinds, np.full(len(rectangles), PREDICTED)])
        )

    @property
    def _hands(self) -> dict[str, HandEvidence]:
        return {hand.side: hand for hand in self.evidence.hands}

    @property
    def _sides(self) -> list[str]:
        return [side for side in SIDES if side in self._hands]


def _corners(mask: Bools, edges: Floats, top: float, bottom: float) -> Floats:
    """Return the rectangles (N, 4) of the runs of a mask (C, R) over columns with edges (C + 1,)."""
    row, start, stop = runs(mask)
    return np.stack([edges[start], row + top, edges[stop], row + bottom], axis=1)
