"""Interpolation of poses between the frames of a take."""

import numpy as np
from numpy.typing import NDArray

from . import rotations as rot
from .kinematics import Pose

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def interpolate_pose(pose: Pose, times: Floats, new_times: Floats) -> Pose:
    """Resample poses at new times.

    Angles and the wrist's position are interpolated linearly, its rotation along the shorter arc. Times before the
    first frame or after the last have that frame's pose.

    Args:
        pose: F poses.
        times: (F,) s or frames, increasing.
        new_times: (N,) of the same unit.
    """
    before, after, fraction = neighbours(times, new_times)
    fraction = fraction[:, None]
    first, second = (rot.from_matrix(pose.root[rows, :3, :3]) for rows in (before, after))
    root = np.tile(np.eye(4), (len(new_times), 1, 1))
    root[:, :3, :3] = rot.to_matrix(rot.slerp(first, second, fraction))
    root[:, :3, 3] = (1 - fraction) * pose.root[before, :3, 3] + fraction * pose.root[after, :3, 3]
    return Pose(pose.hand, root, (1 - fraction) * pose.angles[before] + fraction * pose.angles[after])


def neighbours(times: Floats, new_times: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the frames (N,) before and after each of the new times, and the fraction (N,) 0..1 between them.

    Times are as in `interpolate_pose`.
    """
    after = np.clip(np.searchsorted(times, new_times), min(1, len(times) - 1), len(times) - 1)
    before = np.maximum(after - 1, 0)
    span = np.maximum(times[after] - times[before], 1e-12)
    return before, after, np.clip((new_times - times[before]) / span, 0.0, 1.0)
