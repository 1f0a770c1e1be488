"""What is shown of hands during a take, kept until it is keyed."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...hand.marker_sets import person_of
from ...hand.model import HandModel

Floats = NDArray[np.float64]

MOST = 216_000
"""Frames that are kept: half an hour at 120 a second. For the keys of two hands Blender takes some GB."""


@dataclass(slots=True, eq=False)
class _Track:
    """One hand: the frames on which it was shown, and (12 + D,) of each."""

    hand: HandModel
    numbers: "array[int]" = field(default_factory=lambda: array("q"))
    # Keys are in 32 bits as well.
    rows: "array[float]" = field(default_factory=lambda: array("f"))


class TakeBuffer:
    """Frames of a take, hands by name, as they stand in the scene's world."""

    def __init__(self, places: Mapping[str, Floats]) -> None:
        """places: performer -> (4, 4) T_scene_device; looked into for each frame, since it may change between them."""
        self._places = places
        self._times = array("d")
        self._tracks: dict[str, _Track] = {}

    def __len__(self) -> int:
        return len(self._times)

    def __contains__(self, hand: str) -> bool:
        return hand in self._tracks

    @property
    def full(self) -> bool:
        """Whether no more is kept."""
        return len(self) >= MOST

    @property
    def seconds(self) -> float:
        """From the first frame to the last."""
        return self._times[-1] - self._times[0] if self._times else 0.0

    @property
    def times(self) -> Floats:
        """(F,) s"""
        return np.array(self._times)

    def add(self, time: float, shown: Mapping[str, Pose]) -> None:
        """Keeps what is shown, hand -> its pose of one frame in the device's world, while there is room."""
        if self.full:
            return
        for name, pose in shown.items():
            track = self._tracks.setdefault(name, _Track(pose.hand))
            # Measured again in the midst of a take, a hand has other lengths and the same angles.
            track.hand = pose.hand
            place = self._places.get(person_of(name))
            root = pose.root[0] if place is None else place @ pose.root[0]
            track.numbers.append(len(self))
            track.rows.frombytes(np.concatenate([root[:3].ravel(), pose.angles[0]]).astype(np.float32).tobytes())
        self._times.append(time)

    def poses(self) -> dict[str, Pose]:
        """Hand -> its pose of all F frames; where it was not shown it stands as before, and before as it came."""
        return {name: self._pose(track) for name, track in self._tracks.items()}

    def _pose(self, track: _Track) -> Pose:
        rows = np.array(track.rows, float).reshape(len(track.numbers), -1)
        last = np.searchsorted(np.array(track.numbers), np.arange(len(self)), side="right") - 1
        filled = rows[np.maximum(last, 0)]
        roots = np.tile(np.eye(4), (len(self), 1, 1))
        roots[:, :3] = filled[:, :12].reshape(-1, 3, 4)
        return Pose(track.hand, roots, filled[:, 12:])
