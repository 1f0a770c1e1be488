"""Find frames in which a detector took something else for the hand: a few fingers, or its back for its palm.

The landmarks of such frames may form a hand as well as others do, but its distance or its rotation leaps, and leaps
back. The frames to keep are those of least cost, found by dynamic programming: each frame that is left out costs 1, and
each leap from one that is kept to the next costs LEAP_COST.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DISTANCE_NOISE, DISTANCE_SPEED = 0.2, 2.0
"""Change of the distance's logarithm that noise explains, and what a hand can add to it in a second."""
ROTATION_NOISE, ROTATION_SPEED = np.deg2rad(40.0), np.deg2rad(1000.0)
"""rad and rad/s, the same of the wrist's rotation."""
LEAP_COST = 30.0
"""Frames: what lasts longer between two leaps is a hand."""
MAX_SKIPPED = 60
"""Maximum frames that are left out one after the other."""


def without_leaps(times: Floats, distances: Floats, rotations: Floats) -> Bools:
    """Return which frames (F,) to keep, of a hand at times (F,) s, distances (F,) m and rotations (F, 3, 3).

    From one kept frame to the next a hand has the usual interval to move, and the time in which it was not seen; frames
    that are left out between them give it no more.
    """
    count, logarithms, steps = len(times), np.log(distances), np.diff(times)
    usual = float(np.median(steps)) if len(steps) else 0.0
    unseen = np.append(0.0, np.cumsum(np.maximum(steps - usual, 0.0)))
    costs, before = np.arange(float(count)), np.full(count, -1)
    for frame in range(1, count):
        others = np.arange(max(0, frame - 1 - MAX_SKIPPED), frame)
        seconds = usual + unseen[frame] - unseen[others]
        leaps = np.abs(logarithms[frame] - logarithms[others]) > DISTANCE_NOISE + DISTANCE_SPEED * seconds
        cosines = (np.einsum("fij,ij->f", rotations[others], rotations[frame]) - 1) / 2
        leaps |= np.arccos(np.clip(cosines, -1, 1)) > ROTATION_NOISE + ROTATION_SPEED * seconds
        through = costs[others] + (frame - 1 - others) + LEAP_COST * leaps
        best = int(through.argmin())
        if through[best] < costs[frame]:
            costs[frame], before[frame] = through[best], others[best]
    kept = np.zeros(count, np.bool_)
    frame = int((costs + np.arange(count)[::-1]).argmin()) if count else -1
    while frame >= 0:
        kept[frame], frame = True, int(before[frame])
    return kept
