"""Lengths of bones from a still hand, as the thesis takes them: the mean over 30 frames (sections 4.2.1 and 5.1)."""

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot
from ..measurements import Measure, mean_and_spread

Floats = NDArray[np.float64]

FRAMES = 30
"""Half a second at 60 Hz, thesis 5.1."""
MOST_MOVEMENT = 0.005
"""m by which the markers of a still hand may stray: beyond it the hand moves, or nothing can be told of it."""


def calmest(positions: Floats, frames: int = FRAMES) -> int:
    """The first frame of the stretch of so many in which the hand's markers (F, M, 3) move least.

    Of the stretches in which most markers are seen, the one whose liveliest marker moves least about its mean place.
    """
    frames = min(frames, len(positions))
    seen = np.all(np.isfinite(positions), axis=-1)
    middle = np.median(positions[seen], axis=0) if seen.any() else np.zeros(3)
    places = np.where(seen[..., None], positions - middle, 0.0)
    count = _windows(seen.astype(float), frames)
    mean = _windows(places, frames) / np.maximum(count, 1)[..., None]
    square = _windows((places**2).sum(-1), frames) / np.maximum(count, 1)
    spread = np.sqrt(np.maximum(square - (mean**2).sum(-1), 0.0))
    shown = count >= frames / 2
    liveliest = np.where(shown, spread, 0.0).max(axis=1)
    fullest = shown.sum(axis=1)
    return int(np.where(fullest == fullest.max(), liveliest, np.inf).argmin())


def _windows(values: Floats, frames: int) -> Floats:
    """(F − frames + 1, ...) the sums over each stretch of so many frames of values (F, ...)."""
    total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    sums: Floats = total[frames:] - total[:-frames]
    return sums


def movement(positions: Floats) -> float:
    """m, how far the liveliest marker of positions (F, M, 3) strays: nine of ten frames are nearer to its usual place.

    0 where no marker is seen twice.
    """
    strays = [0.0]
    for path in np.moveaxis(positions, 1, 0):
        known = path[np.all(np.isfinite(path), axis=-1)]
        if len(known) > 1:
            strays.append(float(np.quantile(np.linalg.norm(known - np.median(known, axis=0), axis=-1), 0.9)))
    return max(strays)


def lengths(spots: tuple[Spot, ...], positions: Floats, where: str) -> tuple[Floats, list[Measure]]:
    """(5, 3) m, the mean lengths of the digits' bones in a still clip (F, M, 3), NaN where a bone shows but one end.

    The measures tell the spread from frame to frame; `where` says in words which frames these are.
    """
    result = np.full((len(DIGITS), 3), np.nan)
    measures = []
    on = {spot.joint: i for i, spot in enumerate(spots) if not any(spot.offset)}
    for row, digit in enumerate(DIGITS):
        joints = CHAIN_JOINTS[digit]
        for bone in range(3):
            if joints[bone] not in on or joints[bone + 1] not in on:
                continue
            near, far = positions[:, on[joints[bone]]], positions[:, on[joints[bone + 1]]]
            mean, spread, used = mean_and_spread(1000 * np.linalg.norm(far - near, axis=-1))
            if used:
                result[row, bone] = mean / 1000
                measures.append(Measure("bone", joints[bone], f"mean over {where}", mean, spread, frames=used))
    return result, measures
