"""Bone lengths from a still hand, as in the thesis: the mean over 30 frames (sections 4.2.1 and 5.1)."""

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot
from ..measurements import Measure, mean_and_spread

Floats = NDArray[np.float64]

FRAMES = 30
"""Half a second at 60 Hz, thesis 5.1."""
MOST_MOVEMENT = 0.005
"""m by which the markers of a still hand may move about their median."""


def calmest(positions: Floats, frames: int = FRAMES) -> int:
    """First frame of the window in which the hand moves least.

    Among the windows in which most markers are seen, it is the one whose most mobile marker has the least standard
    deviation.

    Args:
        positions: (F, M, 3) m, NaN where not seen.
        frames: length of the window.
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
    """Sums (F − frames + 1, ...) of values (F, ...) over each window."""
    total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    sums: Floats = total[frames:] - total[:-frames]
    return sums


def movement(positions: Floats) -> float:
    """Movement in m of the most mobile marker of positions (F, M, 3): the 0.9 quantile of the distance to its median.

    0 where no marker is seen twice.
    """
    strays = [0.0]
    for path in np.moveaxis(positions, 1, 0):
        known = path[np.all(np.isfinite(path), axis=-1)]
        if len(known) > 1:
            strays.append(float(np.quantile(np.linalg.norm(known - np.median(known, axis=0), axis=-1), 0.9)))
    return max(strays)


def lengths(spots: tuple[Spot, ...], positions: Floats, where: str) -> tuple[Floats, list[Measure]]:
    """Mean lengths (5, 3) m of the digits' bones in a still clip, and their measurements.

    Args:
        spots: where the M markers sit.
        positions: (F, M, 3) m, NaN where not seen.
        where: the clip's name in `how`.

    Returns:
        Lengths, NaN where a bone has not a marker at both ends; measurements with standard deviations over the frames.
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
