"""Bone lengths from a still hand, as in the thesis: the mean over 30 frames (sections 4.2.1 and 5.1)."""

import numpy as np
from numpy.typing import NDArray

from ..joints import CHAIN_JOINTS, DIGITS
from ..marker_sets import Spot
from ..measurements import Measurement, mean_and_spread

Floats = NDArray[np.float64]

STILL_FRAMES = 30
"""Frames of a still window, half a second at 60 Hz, thesis 5.1."""
MAX_MOVEMENT = 0.005
"""m, maximum movement of a still hand's markers, as `movement` measures it."""


def stillest_window(positions: Floats, frames: int = STILL_FRAMES) -> int:
    """Return the first frame of the window in which the hand moves least.

    Of the windows that show the most markers, it is the one whose most mobile marker has the least standard deviation.

    Args:
        positions: (F, M, 3) m, NaN where not seen.
        frames: length of the window.
    """
    frames = min(frames, len(positions))
    visible = np.all(np.isfinite(positions), axis=-1)
    median = np.median(positions[visible], axis=0) if visible.any() else np.zeros(3)
    centred = np.where(visible[..., None], positions - median, 0.0)
    count = _window_sums(visible.astype(float), frames)
    mean = _window_sums(centred, frames) / np.maximum(count, 1)[..., None]
    mean_square = _window_sums((centred**2).sum(-1), frames) / np.maximum(count, 1)
    spread = np.sqrt(np.maximum(mean_square - (mean**2).sum(-1), 0.0))
    mostly_visible = count >= frames / 2
    largest_spread = np.where(mostly_visible, spread, 0.0).max(axis=1)
    marker_count = mostly_visible.sum(axis=1)
    return int(np.where(marker_count == marker_count.max(), largest_spread, np.inf).argmin())


def _window_sums(values: Floats, frames: int) -> Floats:
    """Return sums (F − frames + 1, ...) of values (F, ...) over each window."""
    total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    sums: Floats = total[frames:] - total[:-frames]
    return sums


def movement(positions: Floats) -> float:
    """Return the movement in m of the most mobile marker: the 0.9 quantile of its distances from its median position.

    0 if no marker is seen twice. positions: (F, M, 3) m, NaN where not seen.
    """
    movements = [0.0]
    for marker in np.moveaxis(positions, 1, 0):
        path = marker[np.all(np.isfinite(marker), axis=-1)]
        if len(path) > 1:
            movements.append(float(np.quantile(np.linalg.norm(path - np.median(path, axis=0), axis=-1), 0.9)))
    return max(movements)


def bone_lengths(spots: tuple[Spot, ...], positions: Floats, clip_name: str) -> tuple[Floats, list[Measurement]]:
    """Return the mean lengths (5, 3) m of the digits' bones in a still clip, and their measurements.

    Args:
        spots: where the M markers sit.
        positions: (F, M, 3) m, NaN where not seen.
        clip_name: the clip's name for the measurements' `how`.

    Returns:
        Lengths, NaN for a bone without markers at both ends; measurements with standard deviations over the frames.
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
                measurements.append(
                    Measurement("bone", joints[bone], f"mean over {clip_name}", mean, spread, frames=count)
                )
    return result, measurements
