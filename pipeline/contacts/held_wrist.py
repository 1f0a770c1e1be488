"""Motion of a wrist whose palm approaches a surface, rests on it, and leaves it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.smoothstep import smoothstep
from .held_motion import MAX_ROTATION, MAX_SLOPE
from .hold_in_range import HeldRows, lacks_frames, shorten_hold

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_SHIFT = 0.01
"""m per frame, maximum additional motion of a wrist that approaches or leaves its target pose."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldWrist:
    """Motion of a wrist to its target pose in a range of frames, and away from it."""

    to_surface: Floats
    """(F, 4, 4) T_surface_wrist."""
    rows: HeldRows
    """The rows in which the wrist has its target pose."""


def held_wrist(to_surface: Floats, target: Floats, *, full: Bools, continues: tuple[bool, bool]) -> HeldWrist:
    """Return the motion of a wrist to its target pose relative to a surface, and away from it.

    Blends that would move too fast are extended into the range.

    Args:
        to_surface: (F, 4, 4) T_surface_wrist in the frames of the range.
        target: (4, 4) T_surface_wrist where the wrist is held.
        full: (F,) whether a frame is between the blends.
        continues: whether the take has frames before and after the range.
    """
    rows, count = np.flatnonzero(full), len(to_surface)
    first, last = (int(rows[0]), int(rows[-1])) if len(rows) else (count // 2, count // 2)
    frames_in, frames_out = (
        _blend_frames(to_surface[row], target) if is_continued else 0
        for row, is_continued in zip((first, last), continues, strict=True)
    )
    required_frames = frames_in, frames_out
    first, last = shorten_hold(first, last, required_frames, count, continues) or (first, last)
    row = np.arange(count)
    weights_in, weights_out = (
        smoothstep(1.0 - (first - row) / (first + 1)),
        smoothstep(1.0 - (row - last) / (count - last)),
    )
    held_rows = HeldRows(first, last, required_frames, lacks_frames(first, last, required_frames, count))
    return HeldWrist(_blend(to_surface, target, np.minimum(weights_in, weights_out)), held_rows)


def _blend(frames: Floats, target: Floats, weights: Floats) -> Floats:
    """Return frames (F, 4, 4) blended to a target frame (4, 4) by weights (F,)."""
    mixed = frames.copy()
    rotations = rot.from_matrix(frames[:, :3, :3])
    target_rotations = np.broadcast_to(rot.from_matrix(target[:3, :3]), rotations.shape)
    mixed[:, :3, :3] = rot.to_matrix(rot.slerp(rotations, target_rotations, weights[:, None]))
    mixed[:, :3, 3] += weights[:, None] * (target[:3, 3] - frames[:, :3, 3])
    mixed[weights == 1.0] = target
    return mixed


def _blend_frames(frame: Floats, target: Floats) -> int:
    """Return the number of frames in which a wrist can move from one frame (4, 4) to another."""
    angle, shift = angle_and_distance(frame, target)
    return int(np.ceil(MAX_SLOPE * max(angle / MAX_ROTATION, shift / MAX_SHIFT)))


def angle_and_distance(frame: Floats, target: Floats) -> tuple[float, float]:
    """Return the angle, rad, and the distance, m, from a frame (4, 4) to another."""
    angle = rot.angles_between(rot.from_matrix(frame[:3, :3]), rot.from_matrix(target[:3, :3]))
    return float(angle), float(np.linalg.norm(target[:3, 3] - frame[:3, 3]))
