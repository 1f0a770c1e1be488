"""Fill gaps in which too few markers locate the wrist, continuing its motion from both ends."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..hand import rotations as rot
from ..hand.smoothstep import smoothstep

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

VELOCITY_WINDOW = 0.03
"""s, window beside a gap in which the wrist's velocity is measured."""
VELOCITY_DECAY = 0.05
"""s, time constant of the decay of the velocity within the gap."""


def fill_wrist_gaps(orientations: Floats, positions: Floats, times: Floats, located: Bools) -> tuple[Floats, Floats]:
    """Fill the gaps of a wrist; before the first and after the last located frame it stays.

    At each end of a gap the wrist continues at the velocity that it had there, which decays; in between, the motions
    blend smoothly.

    Args:
        orientations: (F, 3, 3) R_world_wrist.
        positions: (F, 3) m.
        times: (F,) s.
        located: (F,) the frames whose orientation and position are known.

    Returns:
        Orientations and positions, changed only where not located, and nowhere if no frame is located.
    """
    located_frames = np.flatnonzero(located)
    if not len(located_frames) or len(located_frames) == len(located):
        return orientations, positions
    nearest = np.clip(np.arange(len(located)), located_frames[0], located_frames[-1])
    orientations, positions = orientations[nearest], positions[nearest]
    wrist = _Wrist(rot.from_matrix(orientations), positions.copy(), times, located)
    for start, end in pairwise(located_frames.tolist()):
        gap = slice(start + 1, end)
        fraction = smoothstep(times[gap], times[start], times[end])[:, None]
        rotation, position = wrist.extrapolate(start, -1, gap)
        rotation_back, position_back = wrist.extrapolate(end, 1, gap)
        orientations[gap] = rot.to_matrix(rot.slerp(rotation, rotation_back, fraction))
        positions[gap] = (1 - fraction) * position + fraction * position_back
    return orientations, positions


@dataclass(frozen=True, slots=True, eq=False)
class _Wrist:
    quaternions: Floats
    """(F, 4)"""
    positions: Floats
    """(F, 3) m"""
    times: Floats
    """(F,) s"""
    located: Bools
    """(F,)"""

    def extrapolate(self, edge_frame: int, side: int, gap: slice) -> tuple[Floats, Floats]:
        """Extrapolate the motion at `edge_frame` into a gap: return quaternions (N, 4) and positions (N, 3).

        side: -1 if the known frames are before `edge_frame`, 1 if they are after it.
        """
        earlier = edge_frame
        while self._is_near(earlier + side, edge_frame):
            earlier += side
        since = np.abs(self.times[gap] - self.times[edge_frame])[:, None]
        reach = VELOCITY_DECAY * (1 - np.exp(-since / VELOCITY_DECAY))
        reach = (
            reach / abs(self.times[edge_frame] - self.times[earlier]) if earlier != edge_frame else np.zeros_like(reach)
        )
        previous, last = (np.broadcast_to(self.quaternions[frame], (len(since), 4)) for frame in (earlier, edge_frame))
        position = self.positions[edge_frame] + reach * (self.positions[edge_frame] - self.positions[earlier])
        return rot.slerp(previous, last, 1 + reach), position

    def _is_near(self, frame: int, edge_frame: int) -> bool:
        inside = 0 <= frame < len(self.times)
        return (
            inside and bool(self.located[frame]) and abs(self.times[frame] - self.times[edge_frame]) <= VELOCITY_WINDOW
        )
