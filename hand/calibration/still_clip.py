"""Bone lengths from a still hand, as in the thesis: the mean over 30 frames (sections 4.2.1 and 5.1)."""

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot
from ..measurements import Measurement, mean_and_spread

Floats = NDArray[np.float64]

STILL_FRAMES = 30
"""Half a second at 60 Hz, thesis 5.1."""
MAX_MOVEMENT = 0.005
"""m by which the markers of a still hand may move about their median."""


def stillest_window(positions: Floats, frames: int = STILL_FRAMES) -> int:
    """First frame of the window in which the hand moves least.

    Among the windows in which most markers are seen, it is the one whose most mobile marker has the least standard
    deviation.

    Args:
        positions: (F, M, 3) m, NaN where not seen.
        frames: length of the window.
    """
    frames = min(frames, len(positions))
    seen = np.all(np.isfinite(positions), axis=-1)
    median = np.median(positions[seen], axis=0) if seen.any() else np.zeros(3)
    centred = np.where(seen[..., None], positions - median, 0.0)
    count = _window_sums(seen.astype(float), frames)
    mean = _window_sums(centred, frames) / np.maximum(count, 1)[..., None]
    mean_square = _window_sums((centred**2).sum(-1), frames) / np.maximum(count, 1)
    spread = np.sqrt(np.maximum(mean_square - (mean**2).sum(-1), 0.0))
    mostly_seen = count >= frames / 2
    largest_spread = np.where(mostly_seen, spread, 0.0).max(axis=1)
    marker_count = mostly_seen.sum(axis=1)
    return int(np.where(marker_count == marker_count.max(), largest_spread, np.inf).argmin())


def _window_sums(values: Floats, frames: int) -> Floats:
    """Return sums (F − frames + 1, ...) of values (F, ...) over each window."""
    total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    sums: Floats = total[frames:] - total[:-frames]
    return sums


def movement(positions: Floats) -> float:
    """Return the movement in m of the most mobile marker of positions (F, M, 3): the 0.9 quantile of the distance to
    its median.

    0 where no marker is seen twice.
    """
    movements = [0.0]
    for positions_of_marker in np.moveaxis(positions, 1, 0):
        seen = positions_of_marker[np.all(np.isfinite(positions_of_marker), axis=-1)]
        if len(seen) > 1:
            movements.append(float(np.quantile(np.linalg.norm(seen - np.median(seen, axis=0), axis=-1), 0.9)))
    return max(movements)


def bone_lengths(spots: tuple[Spot, ...], positions: Floats, where: str) -> tuple[Floats, list[Measurement]]:
    """Return the mean lengths (5, 3) m of the digits' bones in a still clip, and their measurements.

    Args:
        spots: where the M markers sit.
        positions: (F, M, 3) m, NaN where not seen.
        where: the clip's name in `how`.

    Returns:
        Lengths, NaN where a bone has not a marker at both ends; measurements with standard deviations over the frames.
    """
    result = np.full((len(DIGITS), 3), np.nan)
    measurements = []
    marker_at = {spot.joint: i for i, spot in enumerate(spots) if not any(spot.offset)}
    for row, digit in enumerate(DIGITS):
        joints = CHAIN_JOINTS[digit]
        for bone in range(3):
            if joints[bone] not in marker_at or joints[bone + 1] not in marker_at:
                continue
            bone_start, bone_end = positions[:, marker_at[joints[bone]]], positions[:, marker_at[joints[bone + 1]]]
            mean, spread, count = mean_and_spread(1000 * np.linalg.norm(bone_end - bone_start, axis=-1))
            if count:
                result[row, bone] = mean / 1000
                measurements.append(Measurement("bone", joints[bone], f"mean over {where}", mean, spread, frames=count))
    return result, measurements
