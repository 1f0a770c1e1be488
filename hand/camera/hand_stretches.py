"""Join the stretches in which a hand was not lost: a hand that leaves the picture and comes back is the same hand.

Its side identifies it, and its position does not: stretches of one side that do not overlap are of one hand. A stretch
of uncertain side joins a hand of the other side before it becomes a hand of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..generators import Progress, Steps
from ..joints import SIDES, Side
from .camera_fit import CameraSettings, evenly, fit_shape
from .picture_landmarks import PictureLandmarks, PictureStretch
from .side_costs import SideCosts

Floats = NDArray[np.float64]

SIDE_FRAMES = 60
"""Maximum frames of a stretch from which its side is determined."""
MIN_SEEN = 0.05
"""A hand that is found in less than this fraction of the frames is none."""
MAX_BOTH = 2
"""Frames in which both of two stretches of one hand may be found: a detector may find a hand twice."""


@dataclass(frozen=True, slots=True, eq=False)
class JoinedHand:
    """A hand's landmarks over F frames."""

    landmarks: PictureLandmarks
    side: Side | None
    """None if only the landmarks show it."""


def side_costs(stretch: PictureStretch, times: Floats, settings: CameraSettings) -> SideCosts:
    """Try both sides on a stretch of frames at times (F,) s."""
    rows = evenly(np.arange(len(stretch.frames)), SIDE_FRAMES)
    some, at = stretch.landmarks.select(rows), times[stretch.frames[rows]]
    return SideCosts({side: fit_shape(some, at, side, settings)[1] for side in SIDES}, stretch.landmarks.claim)


def join_stretches(
    stretches: Sequence[PictureStretch], times: Floats, settings: CameraSettings
) -> Steps[list[JoinedHand]]:
    """Join stretches over F frames at times (F,) s, the longest first, to hands."""
    alone = all(_overlap(stretches[i], stretches[j]) for j in range(len(stretches)) for i in range(j))
    hands: list[tuple[PictureStretch, Side | None]] = []
    for number, stretch in enumerate(stretches):
        yield Progress(number / len(stretches), "Telling the hands apart")
        if alone:
            hands.append((stretch, None))
            continue
        costs = side_costs(stretch, times, settings)
        same_hand = next(
            (
                row
                for side in costs.sides
                for row, (hand, own) in enumerate(hands)
                if own == side and not _overlap(hand, stretch)
            ),
            None,
        )
        if same_hand is None:
            hands.append((stretch, costs.side))
        else:
            hand, side = hands[same_hand]
            hands[same_hand] = hand.with_frames_of(stretch), side
    most = max((len(hand.frames) for hand, _ in hands), default=0)
    fewest = min(MIN_SEEN * len(times), most)
    return [JoinedHand(hand.widened(), side) for hand, side in hands if len(hand.frames) >= fewest]


def _overlap(first: PictureStretch, second: PictureStretch) -> bool:
    return len(np.intersect1d(first.frames, second.frames, assume_unique=True)) > MAX_BOTH
