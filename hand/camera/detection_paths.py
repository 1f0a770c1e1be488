"""Follow hands through a detector's frames by where their landmarks are, whatever side the detector claims.

A hand's path, for as long as it is not lost, is the one through the frames with the most detections and the least
movement between them (Viterbi). Detections on top of a path are the same hand found twice, and are dropped before the
next path is sought.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FRAMES_BACK = 3
"""Frames with detections among which the one before on a path is sought."""
MOVEMENT_COST = 1.5
"""What a movement of a hand's size from one detection to the next costs, in detections."""
LONGEST_STEP = 1.5
"""Farthest movement between two detections of a hand, as a multiple of its size."""
SAME_HAND = 0.5
"""Mean distance of landmarks, as a share of the hand's size, below which two detections are of one hand."""
LONGEST_GAP = 15
"""Frames after which a hand that was lost may be another: its side has to tell (hand_stretches.py)."""
FEWEST_FRAMES = 3
"""A stretch of fewer detections is none, unless there are no more frames."""


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """A hand that was found in a frame."""

    frame: int
    pixels: Floats
    """(21, 2)"""
    index: int
    """In its frame's list."""

    @property
    def size(self) -> float:
        """The larger side of the landmarks' bounding box, pixels."""
        return max(float(np.ptp(self.pixels, axis=0).max()), 1e-6)

    def distance(self, other: "Detection") -> float:
        """Mean distance of the landmarks, as a share of the hand's size."""
        apart = float(np.linalg.norm(self.pixels - other.pixels, axis=1).mean())
        return apart / max(self.size, other.size)


def follow_hands(frames: list[list[Floats]], most: int) -> list[Ints]:
    """Follow hands through frames of detections, (21, 2) pixels each.

    Returns for each stretch in which a hand is not lost, the longest first, which detection of each frame it is (F,),
    -1 for none.
    """
    left = [[Detection(frame, pixels, i) for i, pixels in enumerate(found)] for frame, found in enumerate(frames)]
    paths: list[Ints] = []
    # Every path is sought among the same steps.
    step_cost = cache(_step_cost)
    while len(paths) < most:
        path = _best_path(left, step_cost)
        if len(path) < max(min(FEWEST_FRAMES, len(frames)), 1):
            break
        column = np.full(len(frames), -1)
        for step in path:
            column[step.frame] = step.index
            left[step.frame] = [other for other in left[step.frame] if other.distance(step) > SAME_HAND]
        paths.append(column)
    return paths


def _best_path(frames: list[list[Detection]], step_cost: Callable[[Detection, Detection], float]) -> list[Detection]:
    """The path with the most detections and the least movement."""
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
    key: tuple[int, int] | None = max(best, key=lambda one: best[one][0])
    path = []
    while key is not None:
        _, detection, key = best[key]
        path.append(detection)
    return path[::-1]


def _step_cost(before: Detection, after: Detection) -> float:
    """What a step on a path costs, in detections; inf if it is too long."""
    if after.frame - before.frame > LONGEST_GAP:
        return np.inf
    distance = before.distance(after)
    return MOVEMENT_COST * distance if distance <= LONGEST_STEP * (after.frame - before.frame) ** 0.5 else np.inf
