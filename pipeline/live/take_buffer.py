"""Buffer of the displayed poses of hands while a take is recorded."""

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.forearm import WristForearm
from ...hand.kinematics import Pose
from ...hand.marker_sets import subject_of
from ...hand.model import HandModel

Floats = NDArray[np.float64]

MAX_FRAMES = 216_000
"""Maximum number of frames of a take: half an hour at 120 Hz, whose keys for two hands need some GB in Blender."""


@dataclass(slots=True, eq=False)
class _Track:
    """The frame numbers in which a hand was displayed, with 12 + D values and a flag for each."""

    hand: HandModel
    numbers: "array[int]" = field(default_factory=lambda: array("q"))
    # 32 bits, as keys have. Rows 0 to 2 of the root matrix, then the angles.
    rows: "array[float]" = field(default_factory=lambda: array("f"))
    predicted: "array[int]" = field(default_factory=lambda: array("b"))
    """Whether the pose was not measured."""

    def last(self, count: int) -> "NDArray[np.intp]":
        """Return the row (F,) to use in each of F frames: the frame's own, else the previous one, else the first."""
        return np.maximum(_row_before(self.numbers, count), 0)


@dataclass(slots=True, eq=False)
class _ForearmTrack:
    """The frame numbers in which a forearm was displayed, with its rotation, length and weight."""

    numbers: "array[int]" = field(default_factory=lambda: array("q"))
    rows: "array[float]" = field(default_factory=lambda: array("f"))

    def add(self, number: int, forearm: WristForearm) -> None:
        """Store the forearm of a frame."""
        values = np.concatenate([forearm.rotation[0], forearm.length, forearm.weight])
        self.numbers.append(number)
        self.rows.frombytes(values.astype(np.float32).tobytes())

    def forearm(self, count: int) -> WristForearm:
        """Return the forearm in all frames; gaps repeat the previous one. It has zero weight before the first."""
        rows = np.array(self.rows, float).reshape(len(self.numbers), -1)
        last_rows = _row_before(self.numbers, count)
        filled = rows[np.maximum(last_rows, 0)]
        return WristForearm(rot.unit_vectors(filled[:, :4]), filled[:, 4], np.where(last_rows < 0, 0.0, filled[:, 5]))


class TakeBuffer:
    """The poses of a take in the scene's world, by the names of hands."""

    def __init__(self, transforms: Mapping[str, Floats]) -> None:
        """transforms: performer -> (4, 4) T_scene_device. Read in each frame, since recentring changes it."""
        self._transforms = transforms
        self._times = array("d")
        self._forearms: dict[str, _ForearmTrack] = {}
        self._tracks: dict[str, _Track] = {}

    def __len__(self) -> int:
        return len(self._times)

    def __contains__(self, hand: str) -> bool:
        return hand in self._tracks

    @property
    def full(self) -> bool:
        """Whether no more frames are stored."""
        return len(self) >= MAX_FRAMES

    @property
    def seconds(self) -> float:
        """Duration from the first frame to the last, s."""
        return self._times[-1] - self._times[0] if self._times else 0.0

    def seconds_until(self, further_times: Sequence[float]) -> float:
        """Return the duration in s with frames that follow at later times (s)."""
        times = [*self._times[:1], *further_times, *self._times[-1:]]
        return max(times) - times[0] if times else 0.0

    @property
    def times(self) -> Floats:
        """Times of the frames (F,) in s."""
        return np.array(self._times)

    def add(
        self,
        time: float,
        poses: Mapping[str, Pose],
        predicted: Collection[str] = (),
        forearms: Mapping[str, WristForearm] = MappingProxyType({}),
    ) -> None:
        """Store a frame, unless the buffer is full.

        poses: hand -> pose (1 frame) in the device's world. predicted: hands whose pose was not measured. forearms:
        hand -> its forearm (1 frame), for hands whose forearm is displayed.
        """
        if self.full:
            return
        for name, pose in poses.items():
            track = self._tracks.setdefault(name, _Track(pose.hand))
            # A hand that is measured again during a take gets other bone lengths; its angles stay comparable.
            track.hand = pose.hand
            transform = self._transforms.get(subject_of(name))
            root = pose.root[0] if transform is None else transform @ pose.root[0]
            track.numbers.append(len(self))
            track.predicted.append(name in predicted)
            track.rows.frombytes(np.concatenate([root[:3].ravel(), pose.angles[0]]).astype(np.float32).tobytes())
        for name, forearm in forearms.items():
            self._forearms.setdefault(name, _ForearmTrack()).add(len(self), forearm)
        self._times.append(time)

    def poses(self) -> dict[str, Pose]:
        """Return hand -> pose of all F frames. Gaps repeat the pose before them, or after them at the start."""
        poses = {}
        for name, track in self._tracks.items():
            rows = np.array(track.rows, float).reshape(len(track.numbers), -1)
            filled = rows[track.last(len(self))]
            roots = np.tile(np.eye(4), (len(self), 1, 1))
            roots[:, :3] = filled[:, :12].reshape(-1, 3, 4)
            poses[name] = Pose(track.hand, roots, filled[:, 12:])
        return poses

    def forearms(self) -> dict[str, WristForearm]:
        """Return hand -> its forearm in all F frames, for hands whose forearm was displayed."""
        return {name: track.forearm(len(self)) for name, track in self._forearms.items()}

    def predicted(self) -> "dict[str, NDArray[np.bool_]]":
        """Return hand -> whether its pose in each frame (F,) was not measured, or is that of another frame."""
        marks = {}
        for name, track in self._tracks.items():
            marks[name] = np.array(track.predicted, bool)[track.last(len(self))]
            marks[name][np.setdiff1d(np.arange(len(self)), np.array(track.numbers))] = True
        return marks


def _row_before(numbers: "array[int]", count: int) -> "NDArray[np.intp]":
    """Return the last row (F,) stored up to each frame, -1 before the first."""
    return np.searchsorted(np.array(numbers), np.arange(count), side="right") - 1
