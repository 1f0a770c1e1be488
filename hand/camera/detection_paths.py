"""Follow hands through a detector's frames by the positions of their landmarks, not by the side it claims.

A hand's path, for as long as it is not lost, is the one through the frames with the most detections and the least
movement between them (Viterbi). Detections on top of a path are the same hand found twice, and are dropped before the
next path is sought.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FRAMES_BACK = 3
"""Frames with detections among which the one before on a path is sought."""
MOVEMENT_COST = 1.5
"""Cost of a movement by a hand's size from one detection to the next, in detections."""
LONGEST_STEP = 1.5
"""Farthest movement between two detections of a hand, as a multiple of its size."""
SAME_HAND = 0.5
"""Mean distance of landmarks, as a fraction of the hand's size, below which two detections are of one hand."""
LONGEST_GAP = 15
"""Frames after which a lost hand may be another: its side then decides (hand_stretches.py)."""
MIN_FRAMES = 3
"""A stretch of fewer detections is none, unless there are no more frames."""


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """A hand that was found in a frame."""

    frame: int
    pixels: Floats
    """(21, 2)"""
    index: int
    """Index in its frame's list."""

    @property
    def size(self) -> float:
        """The larger side of the landmarks' bounding box, pixels."""
        return max(float(np.ptp(self.pixels, axis=0).max()), 1e-6)

    def distance(self, other: "Detection") -> float:
        """Mean distance of the landmarks, as a fraction of the hand's size."""
        distance = float(np.linalg.norm(self.pixels - other.pixels, axis=1).mean())
        return distance / max(self.size, other.size)


def follow_hands(frames: list[list[Floats]], most: int) -> list[list[Detection]]:
    """Follow hands through frames of detections, (21, 2) pixels each.

    Returns the detections of each stretch in which a hand is not lost, the longest first.
    """
    found = [[Detection(frame, pixels, i) for i, pixels in enumerate(hands)] for frame, hands in enumerate(frames)]
    fewest = max(min(MIN_FRAMES, len(frames)), 1)
    parts = _parts([detections for detections in found if detections])
    paths = [path for part in parts for path in _follow(part, fewest, most)]
    return sorted(paths, key=len, reverse=True)[:most]


def _parts(found: list[list[Detection]]) -> list[list[list[Detection]]]:
    """Split frames with detections where nothing was found for so long that no hand is followed across."""
    numbers = [detections[0].frame for detections in found]
    part_starts = [index for index in range(1, len(found)) if numbers[index] - numbers[index - 1] > LONGEST_GAP]
    return [found[start:end] for start, end in pairwise([0, *part_starts, len(found)])]


def _follow(left: list[list[Detection]], fewest: int, most: int) -> list[list[Detection]]:
    """Up to `most` paths through frames with detections, the best first, of `fewest` detections or more."""
    paths: list[list[Detection]] = []
    # Every path is sought among the same steps.
    step_cost = cache(_step_cost)
    while len(paths) < most:
        path = _best_path(left, step_cost)
        if len(path) < fewest:
            break
        at = {step.frame: step for step in path}
        left = [
            [other for other in detections if other.frame not in at or other.distance(at[other.frame]) > SAME_HAND]
            for detections in left
        ]
        paths.append(path)
    return paths


def _best_path(frames: list[list[Detection]], step_cost: Callable[[Detection, Detection], float]) -> list[Detection]:
    """Return the path with the most detections and the least movement."""
    best: dict[tuple[int, int], tuple[float, Detection, tuple[int, int] | None]] = {}
    recent: list[list[Detection]] = []
    for found in frames:
        if not found:
            continue
        for detection in found:
            reached = max(
                ((best[before.frame, before.index][0] - cost, (before.frame, before.index))
                 for earlier in recent for before in earlier
                 if (cost := step_cost(before, detection)) < np.inf),
                default=(0.0, None),
            )  # fmt: skip
            value, before_key = reached if reached[0] > 0 else (0.0, None)
            best[detection.frame, detection.index] = (value + 1.0, detection, before_key)
        recent = [*recent, found][-FRAMES_BACK:]
    if not best:
        return []
    key: tuple[int, int] | None = max(best, key=lambda end: best[end][0])
    path = []
    while key is not None:
        _, detection, key = best[key]
        path.append(detection)
    return path[::-1]


def _step_cost(before: Detection, after: Detection) -> float:
    """Return the cost of a step on a path, in detections; inf if it is too long."""
    if after.frame - before.frame > LONGEST_GAP:
        return np.inf
    distance = before.distance(after)
    return MOVEMENT_COST * distance if distance <= LONGEST_STEP * (after.frame - before.frame) ** 0.5 else np.inf
