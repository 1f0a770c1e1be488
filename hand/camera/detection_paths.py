"""Follow hands through a detector's frames by where their landmarks are, whatever side the detector claims.

A hand's path is the one through the frames with the most detections and the least movement between them (Viterbi).
Detections on top of a path are the same hand found twice, and are dropped before the next path is sought.
"""

from dataclasses import dataclass

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
MIN_SEEN = 0.05
"""A hand that is found in less than this share of the frames is none."""


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

    Returns for each hand, the one seen longest first, which detection of each frame it is (F,), -1 for none.
    """
    left = [[Detection(frame, pixels, i) for i, pixels in enumerate(found)] for frame, found in enumerate(frames)]
    paths: list[Ints] = []
    while len(paths) < most:
        path = _best_path(left)
        if len(path) < max(MIN_SEEN * len(frames), 1):
            break
        column = np.full(len(frames), -1)
        for step in path:
            column[step.frame] = step.index
            left[step.frame] = [other for other in left[step.frame] if other.distance(step) > SAME_HAND]
        paths.append(column)
    return paths


def _best_path(frames: list[list[Detection]]) -> list[Detection]:
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
                 if (cost := _step_cost(before, detection)) < np.inf),
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
    distance = before.distance(after)
    return MOVEMENT_COST * distance if distance <= LONGEST_STEP * (after.frame - before.frame) ** 0.5 else np.inf
